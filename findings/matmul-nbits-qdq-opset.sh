#!/usr/bin/env bash
# ONNX Runtime's quantiser of weights raises the opset to 21 and leaves ReduceMean as it was.
#
# Tool:      onnxruntime.quantization of ONNX Runtime 1.32.0, MatMulNBitsQuantizer with
#            QuantFormat.QDQ.
# Behaviour: a model of opset 17 comes out as opset 21, which DequantizeLinear of int4 in blocks
#            needs. Its other nodes keep the form of opset 17: ReduceMean its attribute axes,
#            which is an input from opset 18 on. onnx's checker and ONNX Runtime refuse the file;
#            with QuantFormat.QOperator, which keeps the opset, it runs.
# Expected:  a valid model: onnx.version_converter rewrites such a ReduceMean.
# For users: convert the model to opset 21 before it is quantised in this format. edgeconv refuses
#            the file with the attribute's name, as the others do.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> QOperator opset 17 runs
#> QDQ opset 21 Unrecognized attribute: axes for operator ReduceMean
#> QDQ opset 21 runs where it was opset 21 before
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 onnx==1.23.2 onnx-ir==1.1.0 onnxruntime==1.32.0

sed -n 's/^#> //p' "$0" >"$work/seen"
cd "$work"
"$work/venv/bin/python" - <<'PY' | tee "$work/found"
import logging
import re

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, parser, version_converter
from onnxruntime.quantization import QuantFormat
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

logging.disable()
model = parser.parse_model("""<ir_version: 10, opset_import: ["" : 17]>
pooled (float[1, 4, 32] x) => (float[1, 8] y) {
  product = MatMul(x, w)
  y = ReduceMean <axes = [1], keepdims = 0> (product)
}""")
weights = np.random.default_rng(0).normal(size=(32, 8)).astype(np.float32)
model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
onnx.checker.check_model(model, full_check=True)
newer = version_converter.convert_version(model, 21)


def outcome(source, form):
    onnx.save(source, "model.onnx")
    quantiser = MatMulNBitsQuantizer("model.onnx", block_size=16, quant_format=form)
    quantiser.process()
    quantiser.model.save_model_to_file("quantised.onnx", False)
    written = onnx.load("quantised.onnx")
    opset = next(each.version for each in written.opset_import if not each.domain)
    try:
        onnx.checker.check_model(written)
        session = onnxruntime.InferenceSession(
            "quantised.onnx", providers=["CPUExecutionProvider"]
        )
        session.run(None, {"x": np.ones((1, 4, 32), np.float32)})
        return f"{form} opset {opset} runs"
    except Exception as error:
        found = re.search("Unrecognized attribute: axes for operator ReduceMean", str(error))
        return f"{form} opset {opset} {found.group() if found else error}"


print(outcome(model, QuantFormat.QOperator))
print(outcome(model, QuantFormat.QDQ))
print(outcome(newer, QuantFormat.QDQ), "where it was opset 21 before")
PY
diff -u --label seen --label found "$work/seen" "$work/found"

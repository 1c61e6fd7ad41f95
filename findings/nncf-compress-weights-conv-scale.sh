#!/usr/bin/env bash
# NNCF's compressed weights of a convolution have scales of rank 3, which ONNX Runtime does not run.
#
# Tool:      NNCF 3.4.0 on an ONNX model, compress_weights with its defaults.
# Behaviour: filters [4, 3, 3, 3] become uint8 in front of a DequantizeLinear with axis 0, whose
#            scale and zero point are [4, 1, 1]; those of a MatMul are right. ONNX Runtime 1.32.0
#            loads the model and fails when it runs the node.
# Expected:  scales of rank 1. DequantizeLinear: "x_scale and x_zero_point [...] a 1-D tensor for
#            per-axis quantization".
# For users: reshape the scales and zero points of such nodes to one dimension. edgeconv refuses
#            the file, which has no reading that another tool could confirm.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> Conv axis 0 filters [4, 3, 3, 3] scale [4, 1, 1] zero point [4, 1, 1]
#> MatMul axis -1 filters [16, 8] scale [8] zero point [8]
#> ONNX Runtime runs True as it was, False compressed
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    nncf==3.4.0 onnx==1.23.2 onnxruntime==1.32.0

sed -n 's/^#> //p' "$0" >"$work/seen"
"$work/venv/bin/python" - <<'PY' | grep -v '^Applying' | tee "$work/found" # its progress
import logging

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper, parser

import nncf

logging.disable()
model = parser.parse_model("""<ir_version: 9, opset_import: ["" : 19]>
small (float[1, 3, 4, 4] x) => (float[4, 8] y) <int64[2] shape = {4, 16}> {
  maps = Conv <pads = [1, 1, 1, 1]> (x, filters)
  rows = Reshape (maps, shape)
  y = MatMul (rows, weights)
}""")
random = np.random.default_rng(0)
for name, shape in (("filters", (4, 3, 3, 3)), ("weights", (16, 8))):
    value = random.normal(size=shape).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(value, name))
onnx.checker.check_model(model, full_check=True)
before = model.SerializeToString()
compressed = nncf.compress_weights(model)

shapes = {each.name: list(each.dims) for each in compressed.graph.initializer}
readers = {name: node.op_type for node in compressed.graph.node for name in node.input}
for node in compressed.graph.node:
    if node.op_type == "DequantizeLinear":
        (axis,) = (helper.get_attribute_value(a) for a in node.attribute if a.name == "axis")
        filters, scale, zero = (shapes[name] for name in node.input)
        reader = readers[node.output[0]]
        print(reader, "axis", axis, "filters", filters, "scale", scale, "zero point", zero)


def runs(written):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            written, options, providers=["CPUExecutionProvider"]
        )
        session.run(None, {"x": np.ones((1, 3, 4, 4), np.float32)})
    except Exception:
        return False
    return True


after = compressed.SerializeToString()
print("ONNX Runtime runs", runs(before), "as it was,", runs(after), "compressed")
PY
diff -u --label seen --label found "$work/seen" "$work/found"

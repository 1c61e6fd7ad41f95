#!/usr/bin/env bash
# ONNX Runtime's pools leave the dilation out of the padding that SAME_UPPER asks for.
#
# Tool:      ONNX Runtime 1.32.0, CPU provider; for AveragePool also onnx 1.23.2, onnx.reference.
# Behaviour: 9 elements, kernel 3, stride 2, dilation 2, auto_pad SAME_UPPER: 4 results in place
#            of 5, from windows that begin one element late. onnx's reference evaluator has the
#            defined maxima, but averages of the same late windows, and 0 for the one beyond them.
# Expected:  5, from windows around elements 0, 2, 4, 6, 8. The operators' text: the output is
#            "floor((input_spatial_shape[i] - 1) / strides_spatial_shape[i]) + 1" and pad_shape[i]
#            = (output - 1) * stride + ((kernel - 1) * dilation + 1) - input, here 4.
#            Shape inference has 5 for both operators.
# For users: edgeconv pads as defined, so that ONNX Runtime's shape differs. Explicit `pads`
#            (here [2, 2]) mean the same to everyone.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> MaxPool auto_pad = "SAME_UPPER" inferred 5
#> MaxPool auto_pad = "SAME_UPPER" ONNX Runtime [3.0, 5.0, 7.0, 7.0]
#> MaxPool auto_pad = "SAME_UPPER" reference [2.0, 4.0, 6.0, 8.0, 8.0]
#> MaxPool pads = [2, 2] inferred 5
#> MaxPool pads = [2, 2] ONNX Runtime [2.0, 4.0, 6.0, 8.0, 8.0]
#> MaxPool pads = [2, 2] reference [2.0, 4.0, 6.0, 8.0, 8.0]
#> AveragePool auto_pad = "SAME_UPPER" inferred 5
#> AveragePool auto_pad = "SAME_UPPER" ONNX Runtime [2.0, 3.0, 5.0, 6.0]
#> AveragePool auto_pad = "SAME_UPPER" reference [2.0, 3.0, 5.0, 6.0, 0.0]
#> AveragePool pads = [2, 2] inferred 5
#> AveragePool pads = [2, 2] ONNX Runtime [1.0, 2.0, 4.0, 6.0, 7.0]
#> AveragePool pads = [2, 2] reference [1.0, 2.0, 4.0, 6.0, 7.0]
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0

sed -n 's/^#> //p' "$0" >"$work/seen"
"$work/venv/bin/python" - <<'PY' | tee "$work/found"
import numpy as np
import onnx
import onnxruntime
from onnx import parser, reference, shape_inference

TEXT = """<ir_version: 9, opset_import: ["" : 19]>
pool (float[1, 1, 9] x) => (float[n, c, length] y) {{
  y = {} <kernel_shape = [3], strides = [2], dilations = [2], {}> (x)
}}"""
feed = {"x": np.arange(9, dtype=np.float32).reshape(1, 1, 9)}
for operator in ("MaxPool", "AveragePool"):
    for padding in ('auto_pad = "SAME_UPPER"', "pads = [2, 2]"):
        model = parser.parse_model(TEXT.format(operator, padding))
        onnx.checker.check_model(model, full_check=True)
        inferred = shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        (runtime,) = session.run(None, feed)
        (evaluated,) = reference.ReferenceEvaluator(model).run(None, feed)
        print(operator, padding, "inferred", inferred[2].dim_value)
        print(operator, padding, "ONNX Runtime", runtime.ravel().tolist())
        print(operator, padding, "reference", evaluated.ravel().tolist())
PY
diff -u --label seen --label found "$work/seen" "$work/found"

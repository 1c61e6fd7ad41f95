#!/usr/bin/env bash
# Shape inference adds `output_padding` to a ConvTranspose whose size SAME_UPPER already fixes.
#
# Tool:      onnx 1.23.2, onnx.shape_inference, beside ONNX Runtime 1.32.0.
# Behaviour: input 3x3, kernel 3x3, strides 2, auto_pad SAME_UPPER or SAME_LOWER, output_padding 1:
#            7x7 is inferred; ONNX Runtime and onnx's own reference evaluator return 6x6.
# Expected:  6x6. The operator's text on auto_pad: "pad the input so that
#            `output_shape[i] = input_shape[i] * strides[i]`"; output_padding enters the amount
#            of padding, not the size, as the text says of an explicit output_shape.
# For users: a file to which an exporter wrote inferred shapes may state 7x7, and whatever follows
#            (a Concat, a Reshape) then disagrees with what runs. edgeconv takes 6x6.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> SAME_UPPER inferred [1, 1, 7, 7]
#> SAME_UPPER ONNX Runtime [1, 1, 6, 6]
#> SAME_UPPER reference evaluator [1, 1, 6, 6]
#> SAME_LOWER inferred [1, 1, 7, 7]
#> SAME_LOWER ONNX Runtime [1, 1, 6, 6]
#> SAME_LOWER reference evaluator [1, 1, 6, 6]
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
transposed (float[1, 1, 3, 3] x, float[1, 1, 3, 3] w) => (float[n, c, height, width] y) {{
  y = ConvTranspose <auto_pad = "{}", strides = [2, 2], output_padding = [1, 1]> (x, w)
}}"""
ones = np.ones((1, 1, 3, 3), np.float32)
feed = {"x": ones, "w": ones}
for auto_pad in ("SAME_UPPER", "SAME_LOWER"):
    model = parser.parse_model(TEXT.format(auto_pad))
    onnx.checker.check_model(model, full_check=True)
    inferred = shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (runtime,) = session.run(None, feed)
    (evaluated,) = reference.ReferenceEvaluator(model).run(None, feed)
    print(auto_pad, "inferred", [d.dim_value for d in inferred])
    print(auto_pad, "ONNX Runtime", list(runtime.shape))
    print(auto_pad, "reference evaluator", list(evaluated.shape))
PY
diff -u --label seen --label found "$work/seen" "$work/found"

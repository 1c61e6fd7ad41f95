#!/usr/bin/env bash
# onnx's reference evaluator rounds down the size of a MaxPool with SAME_LOWER.
#
# Tool:      onnx 1.23.2, onnx.reference, beside ONNX Runtime 1.32.0.
# Behaviour: 9x9, kernel 3x3, strides 2, auto_pad SAME_LOWER is 4x4, without padding; with
#            SAME_UPPER 5x5. Of an even size, 8x8, it is 4x4, but the odd element of padding is
#            put at the end, as SAME_UPPER has it. AveragePool is right.
# Expected:  5x5. The operator's text on auto_pad: "SAME_UPPER or SAME_LOWER mean pad the input
#            so that `output_shape[i] = ceil(input_shape[i] / strides[i])`", "the extra padding
#            is added at the end for SAME_UPPER and at the beginning for SAME_LOWER". ONNX Runtime
#            and onnx's shape inference have it so.
# For users: where the evaluator is the reference, for want of ONNX Runtime, such a program
#            differs by shape (odd sizes) or by values (even ones), and the program is right.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> MaxPool SAME_UPPER 9 inferred [5, 5] ONNX Runtime [5, 5] reference [5, 5] equal True
#> MaxPool SAME_UPPER 8 inferred [4, 4] ONNX Runtime [4, 4] reference [4, 4] equal True
#> MaxPool SAME_LOWER 9 inferred [5, 5] ONNX Runtime [5, 5] reference [4, 4] equal False
#> MaxPool SAME_LOWER 8 inferred [4, 4] ONNX Runtime [4, 4] reference [4, 4] equal False
#> AveragePool SAME_UPPER 9 inferred [5, 5] ONNX Runtime [5, 5] reference [5, 5] equal True
#> AveragePool SAME_UPPER 8 inferred [4, 4] ONNX Runtime [4, 4] reference [4, 4] equal True
#> AveragePool SAME_LOWER 9 inferred [5, 5] ONNX Runtime [5, 5] reference [5, 5] equal True
#> AveragePool SAME_LOWER 8 inferred [4, 4] ONNX Runtime [4, 4] reference [4, 4] equal True
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
pool (float[1, 1, {size}, {size}] x) => (float[n, c, height, width] y) {{
  y = {operator} <auto_pad = "{auto_pad}", kernel_shape = [3, 3], strides = [2, 2]> (x)
}}"""
for operator in ("MaxPool", "AveragePool"):
    for auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        for size in (9, 8):
            text = TEXT.format(operator=operator, auto_pad=auto_pad, size=size)
            model = parser.parse_model(text)
            onnx.checker.check_model(model, full_check=True)
            (output,) = shape_inference.infer_shapes(model).graph.output
            inferred = [d.dim_value for d in output.type.tensor_type.shape.dim]
            x = np.arange(size * size, dtype=np.float32).reshape(1, 1, size, size)
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), providers=["CPUExecutionProvider"]
            )
            (runtime,) = session.run(None, {"x": x})
            (evaluated,) = reference.ReferenceEvaluator(model).run(None, {"x": x})
            equal = np.array_equal(runtime, evaluated)
            print(
                operator, auto_pad, size, "inferred", inferred[2:], "ONNX Runtime",
                list(runtime.shape)[2:], "reference", list(evaluated.shape)[2:], "equal", equal,
            )
PY
diff -u --label seen --label found "$work/seen" "$work/found"

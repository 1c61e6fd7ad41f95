#!/usr/bin/env bash
# onnx's reference evaluator wraps QuantizeLinear around where the quotient is beyond 32 bits.
#
# Tool:      onnx 1.23.2, onnx.reference, beside ONNX Runtime 1.32.0.
# Behaviour: a large positive number becomes the lowest integer: the quotient is converted to int32
#            before it is saturated.
# Expected:  127. The operator's text: "y = saturate((x / y_scale) + y_zero_point)", and of int8
#            saturation is to [-128, 127].
# For users: masks of attention and sentinels such as 1e10 stand in front of QuantizeLinear. Judged
#            by the evaluator, an engine that saturates them seems wrong.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> ONNX Runtime [127, 127, -128]
#> reference [127, -128, -128]
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
from onnx import parser, reference

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
quantised (float[3] x, float scale, int8 zero) => (int8[3] y)
{ y = QuantizeLinear (x, scale, zero) }"""
feed = {"x": np.float32([1e6, 1e10, -1e10]), "scale": np.array(0.03125, np.float32)}
feed["zero"] = np.array(0, np.int8)
model = parser.parse_model(TEXT)
onnx.checker.check_model(model, full_check=True)
session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
print("ONNX Runtime", session.run(None, feed)[0].tolist())
print("reference", reference.ReferenceEvaluator(model).run(None, feed)[0].tolist())
PY
diff -u --label seen --label found "$work/seen" "$work/found"

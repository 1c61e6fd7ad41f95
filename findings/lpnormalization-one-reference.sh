#!/usr/bin/env bash
# onnx's reference evaluator normalises by the sum of numbers, not of their absolute values, for p = 1.
#
# Tool:      onnx 1.23.2, onnx.reference, beside ONNX Runtime 1.32.0.
# Behaviour: LpNormalization of [3, -1, 2] with p = 1 is [0.75, -0.25, 0.5]: divided by 4. With
#            [1, -1, 2] it is divided by 2. Of a row that adds up to 0 it is infinite.
# Expected:  divided by 6 and by 4, as ONNX Runtime has it. The operator normalises by an Lp norm,
#            and that of p = 1 is the sum of absolute values. Rows without negative numbers are
#            right, and so is p = 2.
# For users: where the evaluator is the reference, for want of ONNX Runtime, such a program
#            differs, and the program is right.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> p 1 [3.0, -1.0, 2.0] ONNX Runtime [0.5, -0.1667, 0.3333] reference [0.75, -0.25, 0.5]
#> p 1 [1.0, -1.0, 2.0] ONNX Runtime [0.25, -0.25, 0.5] reference [0.5, -0.5, 1.0]
#> p 1 [3.0, 1.0, 2.0] ONNX Runtime [0.5, 0.1667, 0.3333] reference [0.5, 0.1667, 0.3333]
#> p 2 [2.0, -1.0, 2.0] ONNX Runtime [0.6667, -0.3333, 0.6667] reference [0.6667, -0.3333, 0.6667]
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

TEXT = """<ir_version: 9, opset_import: ["" : 19]>
norm (float[1, 3] x) => (float[1, 3] y) {{ y = LpNormalization <p = {p}, axis = 1> (x) }}"""
for p, row in ((1, [3, -1, 2]), (1, [1, -1, 2]), (1, [3, 1, 2]), (2, [2, -1, 2])):
    model = parser.parse_model(TEXT.format(p=p))
    onnx.checker.check_model(model, full_check=True)
    x = np.array([row], np.float32)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (runtime,) = session.run(None, {"x": x})
    (evaluated,) = reference.ReferenceEvaluator(model).run(None, {"x": x})
    shown = [[round(float(v), 4) for v in each[0]] for each in (x, runtime, evaluated)]
    print("p", p, shown[0], "ONNX Runtime", shown[1], "reference", shown[2])
PY
diff -u --label seen --label found "$work/seen" "$work/found"

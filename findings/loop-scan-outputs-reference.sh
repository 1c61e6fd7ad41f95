#!/usr/bin/env bash
# onnx's reference evaluator joins what a Loop collects along the first dimension of the elements.
#
# Tool:      onnx 1.23.2, onnx.reference, beside ONNX Runtime 1.32.0.
# Behaviour: of four trips that each give a matrix of 2x3 and a number, the scan outputs have the
#            shapes (8, 3) and (4, 1); ONNX Runtime's have (4, 2, 3) and (4,).
# Expected:  (4, 2, 3) and (4,). The operator's text: scan outputs are concatenations of the value
#            "at the end of each iteration", each of one rank more, the first dimension the trips,
#            as onnx's own shape inference has it.
# For users: only scan outputs of vectors of length 1 agree. Where the evaluator is the reference
#            for a model with a Loop, edgeconv stacks what it collects.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> ONNX Runtime (4, 2, 3) (4,)
#> reference evaluator (8, 3) (4, 1)
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

model = parser.parse_model("""<ir_version: 9, opset_import: ["" : 19]>
collects (float[2, 3] x) => (float[4, 2, 3] matrices, float[4] numbers) <int64 trips = {4}, bool yes = {1}> {
  matrices, numbers = Loop (trips, yes) <body = step
    (int64 i, bool go) => (bool still, float[2, 3] matrix, float number) {
      still = Identity (go)
      number = Cast <to = 1> (i)
      matrix = Add (x, number)
    }>
}""")
onnx.checker.check_model(model, full_check=True)
feed = {"x": np.zeros((2, 3), np.float32)}
session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
for name, found in (
    ("ONNX Runtime", session.run(None, feed)),
    ("reference evaluator", reference.ReferenceEvaluator(model).run(None, feed)),
):
    print(name, *(each.shape for each in found))
PY
diff -u --label seen --label found "$work/seen" "$work/found"

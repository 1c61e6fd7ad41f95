#!/usr/bin/env bash
# ONNX Runtime's Sigmoid has no correct digit left at -16, and is 0 from -18 on.
#
# Tool:      ONNX Runtime 1.32.0, CPU provider, x86-64 with FMA.
# Behaviour: the absolute error is small, the relative one is not: 7.7e-7 in place of 8.3e-7 at
#            -14, 6.0e-8 in place of 1.13e-7 at -16, 0 in place of 1.5e-8 at -18. These are
#            multiples of 3.0e-8, the spacing of float32 just below 0.5. (Numbers of other
#            processors may differ; the statements below are compared, numbers go to stderr.)
# Expected:  "y = 1 / (1 + exp(-x))", the operator's text, which does not say how exactly; normal
#            numbers of float32 hold it down to -87. onnx's reference evaluator is right to 1e-6
#            of each value.
# For users: detectors of one class and voice activity have outputs of this size where there is
#            nothing to find. A comparison relative to the largest output then blames the
#            program; held to float64, it is the runtime that is off.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> ONNX Runtime absolute error below 1.2e-7: True
#> ONNX Runtime relative error below 1e-6: False
#> ONNX Runtime relative error at -16 above 0.1: True
#> ONNX Runtime exactly 0 at -18, -30: [True, True]
#> reference evaluator absolute error below 1.2e-7: True
#> reference evaluator relative error below 1e-6: True
#> reference evaluator relative error at -16 above 0.1: False
#> reference evaluator exactly 0 at -18, -30: [False, False]
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0

sed -n 's/^#> //p' "$0" >"$work/seen"
"$work/venv/bin/python" - <<'PY' | tee "$work/found"
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import parser, reference

model = parser.parse_model("""<ir_version: 9, opset_import: ["" : 19]>
quiet (float[5] x) => (float[5] y) { y = Sigmoid (x) }""")
onnx.checker.check_model(model, full_check=True)
feed = {"x": np.array([-10, -14, -16, -18, -30], np.float32)}
session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
(runtime,) = session.run(None, feed)
(evaluated,) = reference.ReferenceEvaluator(model).run(None, feed)
exact = 1 / (1 + np.exp(-feed["x"].astype(np.float64)))
for name, found in (("ONNX Runtime", runtime), ("reference evaluator", evaluated)):
    print(name, found.tolist(), "float64", exact.tolist(), file=sys.stderr)
    error = np.abs(found - exact)
    print(name, "absolute error below 1.2e-7:", bool((error < 1.2e-7).all()))
    print(name, "relative error below 1e-6:", bool((error / exact < 1e-6).all()))
    print(name, "relative error at -16 above 0.1:", bool(error[2] / exact[2] > 0.1))
    print(name, "exactly 0 at -18, -30:", (found[3:] == 0).tolist())
PY
diff -u --label seen --label found "$work/seen" "$work/found"

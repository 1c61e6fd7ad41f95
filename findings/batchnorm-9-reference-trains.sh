#!/usr/bin/env bash
# onnx's reference evaluator normalises BatchNormalization of opset 9 by the batch it is given.
#
# Tool:      onnx 1.23.2, onnx.reference, beside ONNX Runtime 1.32.0.
# Behaviour: with one output, the result uses mean * momentum + batch_mean * (1 - momentum) in
#            place of `mean`, and the variance alike, also where `momentum` is left at its default
#            of 0.9. Of opset 14 the same node is right.
# Expected:  (x - mean) / sqrt(var + epsilon), here 3 and 5. The operator's text, version 9:
#            "Output case #2: Y (test mode)"; momentum is a "factor used in computing the running
#            mean and variance", which have outputs of their own that are not asked for.
# For users: files of before 2021 have such opsets. Where ONNX Runtime is not installed, so that
#            the evaluator is the reference, a right program seems wrong.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> opset 9 ONNX Runtime [3.0, 5.0]
#> opset 9 reference [2.6, 4.6]
#> opset 14 ONNX Runtime [3.0, 5.0]
#> opset 14 reference [3.0, 5.0]
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

TEXT = """<ir_version: 4, opset_import: ["" : {}]>
normalised (float[1, 1, 2] x, float[1] scale, float[1] bias, float[1] mean, float[1] var)
  => (float[1, 1, 2] y) {{ y = BatchNormalization (x, scale, bias, mean, var) }}"""
one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
feed = {"x": np.float32([[[3, 5]]]), "scale": one, "bias": zero, "mean": zero, "var": one}
for opset in (9, 14):
    model = parser.parse_model(TEXT.format(opset))
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (runtime,) = session.run(None, feed)
    (evaluated,) = reference.ReferenceEvaluator(model).run(None, feed)
    print("opset", opset, "ONNX Runtime", np.round(runtime.ravel().astype(float), 3).tolist())
    print("opset", opset, "reference", np.round(evaluated.ravel().astype(float), 3).tolist())
PY
diff -u --label seen --label found "$work/seen" "$work/found"

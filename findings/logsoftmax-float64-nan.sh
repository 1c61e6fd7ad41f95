#!/usr/bin/env bash
# LogSoftmax of a float64 row that ends in NaN has finite, positive numbers in ONNX Runtime.
#
# Tool:      ONNX Runtime 1.32.0, CPU provider.
# Behaviour: [0, 1, NaN] gives about [45.05, 46.05, NaN] in float64: logarithms of probabilities
#            of 4e19 and 1e20. With the NaN in front, in float32, or for Softmax, all are NaN.
# Expected:  NaN three times: the operator's text is "LogSoftmax(input, axis) =
#            Log(Softmax(input, axis=axis))", ONNX Runtime's own Softmax of the row is all NaN, and
#            so is LogSoftmax of onnx's reference evaluator.
# For users: edgeconv's rows are NaN as defined. Where a float64 row holds a NaN, numbers beside
#            it in ONNX Runtime's output are no reference.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> double LogSoftmax [nan, 0, 1] ONNX Runtime [nan, nan, nan] reference [nan, nan, nan]
#> double LogSoftmax [0, 1, nan] ONNX Runtime [45.05, 46.05, nan] reference [nan, nan, nan]
#> double Softmax [nan, 0, 1] ONNX Runtime [nan, nan, nan] reference [nan, nan, nan]
#> double Softmax [0, 1, nan] ONNX Runtime [nan, nan, nan] reference [nan, nan, nan]
#> float LogSoftmax [nan, 0, 1] ONNX Runtime [nan, nan, nan] reference [nan, nan, nan]
#> float LogSoftmax [0, 1, nan] ONNX Runtime [nan, nan, nan] reference [nan, nan, nan]
#> float Softmax [nan, 0, 1] ONNX Runtime [nan, nan, nan] reference [nan, nan, nan]
#> float Softmax [0, 1, nan] ONNX Runtime [nan, nan, nan] reference [nan, nan, nan]
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
rows ({kind}[1, 3] x) => ({kind}[1, 3] y) {{ y = {operator} <axis = 1> (x) }}"""
for kind in ("double", "float"):
    for operator in ("LogSoftmax", "Softmax"):
        model = parser.parse_model(TEXT.format(kind=kind, operator=operator))
        onnx.checker.check_model(model, full_check=True)
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        for row in ([np.nan, 0, 1], [0, 1, np.nan]):
            feed = {"x": np.array([row], np.float64 if kind == "double" else np.float32)}
            (runtime,) = session.run(None, feed)
            (evaluated,) = reference.ReferenceEvaluator(model).run(None, feed)
            print(
                kind, operator, row, "ONNX Runtime", np.round(runtime[0], 2).tolist(),
                "reference", np.round(evaluated[0], 2).tolist(),
            )
PY
diff -u --label seen --label found "$work/seen" "$work/found"

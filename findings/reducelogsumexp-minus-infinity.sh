#!/usr/bin/env bash
# onnx's reference evaluator returns NaN for the ReduceLogSumExp of a row of -inf.
#
# Tool:      onnx 1.23.2, onnx.reference, beside ONNX Runtime 1.32.0.
# Behaviour: [-inf, -inf] gives NaN, as the largest element is subtracted first and -inf - -inf
#            is NaN; ONNX Runtime returns -inf. A row with +inf, or with one -inf, is right.
# Expected:  -inf. The operator's text: "the log sum exponent of the input tensor's elements",
#            which is log(0 + 0) = -inf, as NumPy's logaddexp has it. The same text has minus
#            infinity for an empty set, which is equally log(0).
# For users: rows of -inf are what an attention mask or a beam search leaves. edgeconv gives -inf;
#            where the evaluator is the reference, NaN there is its own.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> ONNX Runtime [-inf, 0.0, inf]
#> reference evaluator [nan, 0.0, inf]
#> numpy.logaddexp [-inf, 0.0, inf]
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
rows (float[3, 2] x) => (float[3] y) <int64[1] axes = {1}> {
  y = ReduceLogSumExp <keepdims = 0> (x, axes)
}""")
onnx.checker.check_model(model, full_check=True)
inf = np.inf
feed = {"x": np.array([[-inf, -inf], [-inf, 0], [inf, 0]], np.float32)}
session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
with np.errstate(invalid="ignore"):
    (evaluated,) = reference.ReferenceEvaluator(model).run(None, feed)
print("ONNX Runtime", session.run(None, feed)[0].tolist())
print("reference evaluator", evaluated.tolist())
print("numpy.logaddexp", np.logaddexp.reduce(feed["x"], axis=1).tolist())
PY
diff -u --label seen --label found "$work/seen" "$work/found"

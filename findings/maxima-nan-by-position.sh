#!/usr/bin/env bash
# Whether ONNX Runtime's maxima keep a NaN depends on where in the row it stands.
#
# Tool:      ONNX Runtime 1.32.0, CPU provider, x86-64.
# Behaviour: of three numbers, ReduceMax and ReduceMin return NaN where it is the first, and a
#            number where it is the second or third. MaxPool returns a number in each case, Max,
#            of the same three as operands, NaN in each.
# Expected:  NaN in each place: the text of the reductions is that of NumPy ("The above behavior
#            is similar to numpy"), whose maxima keep a NaN, as onnx's reference evaluator does,
#            but for its MaxPool. IEEE 754-2019 has maximum, which keeps a NaN beside a number,
#            and maximumNumber, which drops it; neither depends on the order of operands.
# For users: edgeconv keeps a NaN in every place. Outputs that are NaN where ONNX Runtime has a
#            number point at a NaN that the runtime lost, not at the program.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> ReduceMax [nan, 1, 2] ONNX Runtime nan reference nan
#> ReduceMax [1, nan, 2] ONNX Runtime 2.0 reference nan
#> ReduceMax [1, 2, nan] ONNX Runtime 2.0 reference nan
#> ReduceMin [nan, 1, 2] ONNX Runtime nan reference nan
#> ReduceMin [1, nan, 2] ONNX Runtime 1.0 reference nan
#> ReduceMin [1, 2, nan] ONNX Runtime 1.0 reference nan
#> MaxPool [nan, 1, 2] ONNX Runtime 2.0 reference 2.0
#> MaxPool [1, nan, 2] ONNX Runtime 2.0 reference 2.0
#> MaxPool [1, 2, nan] ONNX Runtime 2.0 reference 2.0
#> Max [nan, 1, 2] ONNX Runtime nan reference nan
#> Max [1, nan, 2] ONNX Runtime nan reference nan
#> Max [1, 2, nan] ONNX Runtime nan reference nan
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

HEAD = '<ir_version: 9, opset_import: ["" : 19]> g (float[1, 1, 3] x) => (float[1, 1, 1] y)'
TEXTS = {
    "ReduceMax": HEAD + "<int64[1] axes = {2}> { y = ReduceMax (x, axes) }",
    "ReduceMin": HEAD + "<int64[1] axes = {2}> { y = ReduceMin (x, axes) }",
    "MaxPool": HEAD + "{ y = MaxPool <kernel_shape = [3]> (x) }",
    "Max": HEAD + """<int64[3] parts = {1, 1, 1}> {
      first, second, third = Split <axis = 2> (x, parts)
      y = Max (first, second, third)
    }""",
}
for name, text in TEXTS.items():
    model = parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    evaluator = reference.ReferenceEvaluator(model)
    for row in ([np.nan, 1, 2], [1, np.nan, 2], [1, 2, np.nan]):
        feed = {"x": np.array([[row]], np.float32)}
        runtime, evaluated = (who.run(None, feed)[0].item() for who in (session, evaluator))
        print(name, row, "ONNX Runtime", runtime, "reference", evaluated)
PY
diff -u --label seen --label found "$work/seen" "$work/found"

#!/usr/bin/env bash
# ONNX Runtime returns the input unresized where Resize keeps the aspect ratio on negative axes.
#
# Tool:      ONNX Runtime 1.32.0, CPU provider.
# Behaviour: 4x6 to sizes 8, 9 with keep_aspect_ratio_policy not_larger is 6x9 with axes [2, 3],
#            but 4x6, the input's size, with axes [-2, -1]; not_smaller alike. With the policy
#            "stretch" negative axes are right.
# Expected:  the same for both. The operator's text on axes: "Negative value means counting
#            dimensions from the back. Accepted range is [-r, r-1]"; onnx's shape inference gives
#            6x9 and 8x12 for both.
# For users: ONNX Runtime is no reference for such a model: `edgeconv verify` sees two shapes, of
#            which edgeconv's is the defined one. Write the axes as positive numbers to compare.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> stretch [2, 3] inferred [8, 9] ONNX Runtime [8, 9]
#> stretch [-2, -1] inferred [8, 9] ONNX Runtime [8, 9]
#> not_larger [2, 3] inferred [6, 9] ONNX Runtime [6, 9]
#> not_larger [-2, -1] inferred [6, 9] ONNX Runtime [4, 6]
#> not_smaller [2, 3] inferred [8, 12] ONNX Runtime [8, 12]
#> not_smaller [-2, -1] inferred [8, 12] ONNX Runtime [4, 6]
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
from onnx import parser, shape_inference

TEXT = """<ir_version: 9, opset_import: ["" : 19]>
resize (float[1, 1, 4, 6] x) => (float[n, c, height, width] y) <int64[2] sizes = {{8, 9}}> {{
  y = Resize <axes = {}, keep_aspect_ratio_policy = "{}", mode = "nearest"> (x, , , sizes)
}}"""
x = np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6)
for policy in ("stretch", "not_larger", "not_smaller"):
    for axes in ([2, 3], [-2, -1]):
        model = parser.parse_model(TEXT.format(axes, policy))
        onnx.checker.check_model(model, full_check=True)
        inferred = shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        (runtime,) = session.run(None, {"x": x})
        print(
            policy, axes, "inferred", [d.dim_value for d in inferred][2:],
            "ONNX Runtime", list(runtime.shape)[2:],
        )
PY
diff -u --label seen --label found "$work/seen" "$work/found"

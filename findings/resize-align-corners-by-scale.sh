#!/usr/bin/env bash
# onnx's reference evaluator does not align the last corner where a scale gives no whole size.
#
# Tool:      onnx 1.23.2, onnx.reference, beside ONNX Runtime 1.32.0.
# Behaviour: Resize, linear, align_corners, 9 elements by scale 1.5 are 13 for both. The evaluator
#            divides by 12.5, of the fractional 13.5, so that the last result is the input at
#            7.68; ONNX Runtime divides by 12, and the last result is the last element, at 8. By
#            `sizes` of 13 both agree.
# Expected:  8. The operator's text: x_original = x_resized * (length_original - 1) /
#            (length_resized - 1), with length_resized "the length of the resized tensor in axis
#            x", which is 13; a fractional length is called output_width there, which is not in
#            that formula. PyTorch's align_corners maps the last element to the last.
# For users: edgeconv does as ONNX Runtime. Such a Resize differs from the evaluator where that
#            is the reference; two cases of onnx's own backend tests have the evaluator's numbers.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> scale 1.5 ONNX Runtime 13 results, the last three [6.667, 7.333, 8.0]
#> scale 1.5 reference 13 results, the last three [6.4, 7.04, 7.68]
#> size 13 ONNX Runtime 13 results, the last three [6.667, 7.333, 8.0]
#> size 13 reference 13 results, the last three [6.667, 7.333, 8.0]
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

HEAD = """<ir_version: 9, opset_import: ["" : 19]>
resize (float[1, 1, 9] x) => (float[n, c, length] y) """
NODE = 'y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners">'
TEXTS = {
    "scale 1.5": HEAD + "<float[3] scales = {1, 1, 1.5}> {" + NODE + "(x, , scales) }",
    "size 13": HEAD + "<int64[3] sizes = {1, 1, 13}> {" + NODE + "(x, , , sizes) }",
}
feed = {"x": np.arange(9, dtype=np.float32).reshape(1, 1, 9)}  # results are coordinates
for name, text in TEXTS.items():
    model = parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for engine, who in (
        ("ONNX Runtime", session),
        ("reference", reference.ReferenceEvaluator(model)),
    ):
        found = who.run(None, feed)[0].ravel().astype(float)
        print(name, engine, found.size, "results, the last three", found[-3:].round(3).tolist())
PY
diff -u --label seen --label found "$work/seen" "$work/found"

#!/usr/bin/env bash
# 20 elements resized by a scale of 0.7 are 14 in ONNX Runtime and 13 to shape inference.
#
# Tool:      onnx 1.23.2, onnx.shape_inference and onnx.reference; ONNX Runtime 1.32.0.
# Behaviour: ONNX Runtime multiplies in float32, where 20 * 0.7 rounds to 14; inference and the
#            reference evaluator multiply float32's 0.7, 0.699999988, in float64 and round
#            13.99999976 down. Of the sizes 1 to 64 and scales 0.1 to 1.9 in tenths, 48 pairs
#            differ.
# Expected:  one size. The operator's text, "output_dimension = floor(input_dimension *
#            (roi_end - roi_start) * scale)", does not say in which arithmetic; scales are
#            float32 by type, and PyTorch, from which such files come, has 14.
# For users: edgeconv takes 14 as ONNX Runtime does, also where a file's value_info, written by
#            inference, says 13. An exporter that writes `sizes` leaves no doubt.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> inferred 13
#> ONNX Runtime 14
#> reference evaluator 13
#> sizes and scales that differ: 48
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
from onnx import helper, numpy_helper, parser, reference, shape_inference

model = parser.parse_model("""<ir_version: 9, opset_import: ["" : 19]>
resize (float[1, 1, 20] x) => (float[n, c, length] y) <float[3] scales = {1, 1, 0.7}> {
  y = Resize <mode = "nearest"> (x, , scales)
}""")
onnx.checker.check_model(model, full_check=True)


def inferred(model):
    return shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim[2]


session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
feed = {"x": np.arange(20, dtype=np.float32).reshape(1, 1, 20)}
print("inferred", inferred(model).dim_value)
print("ONNX Runtime", session.run(None, feed)[0].shape[2])
print("reference evaluator", reference.ReferenceEvaluator(model).run(None, feed)[0].shape[2])

# Every size and scale of the comment; ONNX Runtime takes the size at run time.
model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "size"
differ = 0
for tenths in range(1, 20):
    scales = np.float32([1, 1, tenths / 10])
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(scales, "scales"))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for size in range(1, 65):
        if int(size * float(scales[2])) == 0:
            continue
        static = onnx.ModelProto()
        static.CopyFrom(model)
        static.graph.input[0].CopyFrom(
            helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, size])
        )
        (found,) = session.run(None, {"x": np.zeros((1, 1, size), np.float32)})
        differ += found.shape[2] != inferred(static).dim_value
print("sizes and scales that differ:", differ)
PY
diff -u --label seen --label found "$work/seen" "$work/found"

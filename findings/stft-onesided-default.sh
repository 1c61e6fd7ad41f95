#!/usr/bin/env bash
# Shape inference makes an STFT without `onesided` two-sided; the default is one side.
#
# Tool:      onnx 1.23.2, onnx.shape_inference, beside ONNX Runtime 1.32.0.
# Behaviour: for frames of 16 samples, 16 bins are inferred where `onesided` is absent, 9 where
#            it is stated as 1. ONNX Runtime and onnx's own reference evaluator return 9 in both.
# Expected:  9 bins in both. The operator's text: "When invoked with real or complex valued input,
#            the default value is 1", and dft_unique_bins is frame_length // 2 + 1. onnx's own
#            schema of the operator holds the default of 1, too.
# For users: a speech front end that leaves the attribute out and states the true shape of the
#            spectrum is right, yet onnx.checker calls it invalid under full_check. edgeconv
#            computes one side; state onesided=1 to please every tool.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> default: inferred [1, 7, 16, 2]
#> default: ONNX Runtime [1, 7, 9, 2]
#> default: reference evaluator [1, 7, 9, 2]
#> <onesided = 1> inferred [1, 7, 9, 2]
#> <onesided = 1> ONNX Runtime [1, 7, 9, 2]
#> <onesided = 1> reference evaluator [1, 7, 9, 2]
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
from onnx import parser, reference, shape_inference

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
stft (float[1, 64, 1] signal) => (float[n, frames, bins, parts] spectrum)
<int64 step = {{8}}, int64 length = {{16}}> {{ spectrum = STFT {} (signal, step, , length) }}"""
signal = np.sin(np.arange(64, dtype=np.float32)).reshape(1, 64, 1)
for attributes in ("", "<onesided = 1>"):
    model = parser.parse_model(TEXT.format(attributes))
    onnx.checker.check_model(model, full_check=True)
    inferred = shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (runtime,) = session.run(None, {"signal": signal})
    (evaluated,) = reference.ReferenceEvaluator(model).run(None, {"signal": signal})
    print(attributes or "default:", "inferred", [d.dim_value for d in inferred])
    print(attributes or "default:", "ONNX Runtime", list(runtime.shape))
    print(attributes or "default:", "reference evaluator", list(evaluated.shape))
PY
diff -u --label seen --label found "$work/seen" "$work/found"

#!/usr/bin/env bash
# ONNX Runtime computes float16 nodes on a CPU in float32 and rounds nothing to float16.
#
# Tool:      ONNX Runtime 1.32.0, CPU provider, x86-64.
# Behaviour: Cast to float16, Add, Cast to float32. Results are those of float32: 4098, which
#            float16 does not have, and 80000, which is beyond its largest number, 65504. Of the
#            graph that it runs (optimized_model_filepath writes it) the Add takes the float32
#            input itself: the Cast to float16 is dropped along with those that were inserted
#            around the Add. So it is at ORT_DISABLE_ALL, too.
# Expected:  4096 and inf, as onnx's reference evaluator has them. The operator's text on Cast:
#            "Output tensor with the same shape as input with type specified by the 'to'
#            argument"; 2049, 4098 and 80000 are no numbers of float16.
# For users: a program that rounds to float16 where the model says so differs from ONNX Runtime
#            by up to 5e-4 of each such value, and has overflows that the runtime does not show.
#            Such a difference is to be judged by float16 arithmetic, not by this runtime alone.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> ONNX Runtime, ORT_ENABLE_ALL [1.0, 4098.0, 80000.0]
#> ONNX Runtime, ORT_DISABLE_ALL [1.0, 4098.0, 80000.0]
#> reference evaluator [1.0, 4096.0, inf]
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
halves (float[3] x) => (float[3] y) {
  half = Cast <to = 10> (x)
  double = Add (half, half)
  y = Cast <to = 1> (double)
}""")
onnx.checker.check_model(model, full_check=True)
feed = {"x": np.array([0.5, 2049, 40000], np.float32)}
for level in ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL"):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    print("ONNX Runtime,", level, session.run(None, feed)[0].tolist())
with np.errstate(over="ignore"):
    print("reference evaluator", reference.ReferenceEvaluator(model).run(None, feed)[0].tolist())
PY
diff -u --label seen --label found "$work/seen" "$work/found"

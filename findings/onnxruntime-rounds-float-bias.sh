#!/usr/bin/env bash
# ONNX Runtime rounds float32 biases of convolutions whose inputs and filters are quantised.
#
# Tool:      ONNX Runtime 1.32.0, CPU, a session without options.
# Behaviour: where the input and the filters of a Conv are behind DequantizeLinear and its bias is
#            float32, as NNCF and Brevitas write it, the optimiser WeightBiasQuantization makes
#            the bias int32: whole multiples of the product of both scales. Of a bias of 0.4 such
#            units nothing is left.
# Expected:  the model's numbers. ONNX defines the Conv on real numbers, and onnx's reference
#            evaluator and ONNX Runtime itself with its optimisations off add 0.4 units.
# For users: disabled_optimizers=["WeightBiasQuantization"], or the session configuration
#            session.disable_quant_qdq. edgeconv computes in integers with the bias of the file, so
#            that such networks differ from a session without options.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> reference evaluator 1.1
#> optimisations off 1.1
#> no options 1.0
#> without WeightBiasQuantization 1.1
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0

sed -n 's/^#> //p' "$0" >"$work/seen"
cd "$work"
"$work/venv/bin/python" - <<'PY' | tee "$work/found"
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

model = parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
layer (float[1, 1, 1, 1] x) => (float[1, 1, 1, 1] y) {
  q = QuantizeLinear(x, half, zero)
  real = DequantizeLinear(q, half, zero)
  w = DequantizeLinear(filters, half, zero)
  sums = Conv(real, w, bias)
  sums_q = QuantizeLinear(sums, tenth, zero)
  y = DequantizeLinear(sums_q, tenth, zero)
}""")
constants = {
    "half": np.float32(0.5),
    "tenth": np.float32(0.1),
    "zero": np.int8(0),
    "filters": np.full((1, 1, 1, 1), 2, np.int8),
    "bias": np.array([0.1], np.float32),  # 0.4 of 0.5 * 0.5
}
for name, value in constants.items():
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
onnx.checker.check_model(model, full_check=True)
feeds = {"x": np.ones((1, 1, 1, 1), np.float32)}


def by_runtime(*disabled, level=onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(
        model.SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=list(disabled) or None,
    )
    return session.run(None, feeds)[0]


off = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
for name, result in {
    "reference evaluator": ReferenceEvaluator(model).run(None, feeds)[0],
    "optimisations off": by_runtime(level=off),
    "no options": by_runtime(),
    "without WeightBiasQuantization": by_runtime("WeightBiasQuantization"),
}.items():
    print(name, f"{result.item():.1f}")
PY
diff -u --label seen --label found "$work/seen" "$work/found"

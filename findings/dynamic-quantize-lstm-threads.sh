#!/usr/bin/env bash
# ONNX Runtime's DynamicQuantizeLSTM depends on the number of threads where the batch has several.
#
# Tool:      ONNX Runtime 1.32.0, com.microsoft.DynamicQuantizeLSTM, CPU provider.
# Behaviour: with one thread the states of a batch are quantised together, by one scale of each
#            step; with two threads the batch is taken apart, and each part has scales of its own,
#            as if its rows were computed alone. The results differ by more than 1e-4.
# Expected:  the same numbers whatever intra_op_num_threads is, as DynamicQuantizeLinear gives
#            them: one scale for a whole tensor.
# For users: a reference of such a network names its number of threads. edgeconv computes what one
#            thread does.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> 1 thread, twice: the same
#> 1 and 2 threads: differ by 1e-4
#> 2 threads and each row alone: the same
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0

sed -n 's/^#> //p' "$0" >"$work/seen"
"$work/venv/bin/python" - <<'PY' | tee "$work/found"
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

STEPS, BATCH, INPUTS, UNITS = 5, 2, 4, 6
rng = np.random.default_rng(0)
constants = {
    "W": rng.integers(-127, 128, (1, INPUTS, 4 * UNITS)).astype(np.int8),
    "R": rng.integers(-127, 128, (1, UNITS, 4 * UNITS)).astype(np.int8),
    "scale": np.full(1, 0.01, np.float32),
    "zero": np.zeros(1, np.int8),
}
names = ["x", "W", "R", "", "", "", "", "", "scale", "zero", "scale", "zero"]
node = helper.make_node(
    "DynamicQuantizeLSTM", names, ["y"], domain="com.microsoft", hidden_size=UNITS
)
value = helper.make_tensor_value_info
graph = helper.make_graph(
    [node],
    "lstm",
    [value("x", TensorProto.FLOAT, [STEPS, "batch", INPUTS])],
    [value("y", TensorProto.FLOAT, [STEPS, 1, "batch", UNITS])],
    [numpy_helper.from_array(each, name) for name, each in constants.items()],
)
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
x = rng.normal(0, [[0.3], [3.0]], (STEPS, BATCH, INPUTS)).astype(np.float32)
x[0, :, :2] = -10, 10  # so that each row has the scale of all


def run(threads: int, given: np.ndarray = x) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": given})[0]


one, two = run(1), run(2)
print("1 thread, twice:", "the same" if np.array_equal(one, run(1)) else "differs")
print("1 and 2 threads:", "differ by 1e-4" if np.abs(one - two).max() > 1e-4 else "alike")
alone = [x[:, [i]] for i in range(BATCH)]
rows = np.concatenate([run(1, each) for each in alone], axis=2)
print("2 threads and each row alone:", "the same" if np.allclose(two, rows, atol=1e-6) else "differ")
PY
diff -u --label seen --label found "$work/seen" "$work/found"

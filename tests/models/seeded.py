"""The light models of the onnx package with seeded weights.

As shipped, every weight is one constant, and every classifier answers 1/1000 everywhere: a kernel
that mixes up channels would pass.  Here each ConstantOfShape becomes an initializer with values
that keep activations near unit variance.
"""

from __future__ import annotations

import math
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

Array = npt.NDArray[np.float32]


def _values(
    name: str, shape: tuple[int, ...], readers: list[tuple[str, int]], gain: float
) -> Array:
    """Values for constant ``name`` by the (operator, input position) pairs that read it."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    positive = {("BatchNormalization", 1), ("BatchNormalization", 4), ("Unsqueeze", 0)}
    if len(shape) > 1:
        fan_in = math.prod(shape[1:])
        made = rng.standard_normal(shape) * math.sqrt(gain / fan_in)
    elif positive & set(readers):
        made = rng.uniform(0.6, 1.4, shape)
    else:
        made = 0.05 * rng.standard_normal(shape)
    return made.astype(np.float32)


def seeded(path: Path, folder: Path) -> Path:
    """Write the model at ``path`` with seeded weights to ``folder``; returns the new file."""
    model = onnx.load(path)
    graph = model.graph
    shapes = {t.name: tuple(numpy_helper.to_array(t).ravel()) for t in graph.initializer}
    readers: dict[str, list[tuple[str, int]]] = {}
    for node in graph.node:
        for position, name in enumerate(node.input):
            readers.setdefault(name, []).append((node.op_type, position))
    # Residual sums add variance, where chains of convolutions and Relu lose half of it.
    gain = 0.4 if any(node.op_type == "Sum" for node in graph.node) else 1.5
    for node in [n for n in graph.node if n.op_type == "ConstantOfShape"]:
        shape = tuple(int(n) for n in shapes[node.input[0]])
        values = _values(node.output[0], shape, readers.get(node.output[0], []), gain)
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
        graph.node.remove(node)
    made = folder / path.name
    onnx.save(model, made)
    return made

"""Models of one node, imported and compared with the reference engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from edgeconv.ir.graph import Graph
from edgeconv.model.frontend import load, reference_outputs
from tests.ir_interpreter import evaluate
from tests.onnx_models import Values, model, save

I64 = np.int64


def check_model(
    source: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], folder: Path
) -> Graph:
    """Import ``source`` and compare all outputs on random inputs of ``shapes``."""
    path = save(source, folder / "model.onnx")
    rng = np.random.default_rng(7)
    inputs = {n: rng.standard_normal(tuple(s), dtype=np.float32) for n, s in shapes.items()}
    graph = load(path)
    want = reference_outputs(path, inputs).values
    got = evaluate(graph, inputs)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name], want[name], rtol=2e-4, atol=2e-5)
    path.unlink()
    return graph


def node_model(
    op_type: str,
    opset: int,
    shapes: Sequence[Sequence[int]],
    constants: Sequence[Any] = (),
    outputs: int = 1,
    **attrs: Any,
) -> onnx.ModelProto:
    """One node that reads activations ``x0, x1, ...`` of ``shapes``, then ``constants``.

    A constant that is None is an absent input.
    """
    activations = {f"x{i}": tuple(shape) for i, shape in enumerate(shapes)}
    names = ["" if value is None else f"c{i}" for i, value in enumerate(constants)]
    values = {name: np.asarray(constants[int(name[1:])]) for name in names if name}
    ends = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, [*activations, *names], ends, name="node", **attrs)
    return model([node], activations, dict.fromkeys(ends), values, opset=opset)


def f32(*values: float) -> Values:
    return np.array(values, np.float32)


def weights(*shape: int) -> Values:
    return np.random.default_rng(11).standard_normal(shape, dtype=np.float32)

"""Functions of one int8 by tables: every byte, lengths around vectors, also over their argument."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.encoding import FLOAT32, int8
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.pointwise import Applied, Combined, Pointwise
from edgeconv.kernels.lowering.calls import constants_as_blobs
from edgeconv.kernels.lowering.lookups import looked_up, looked_up_as_floats
from edgeconv.kernels.lowering.work import Call
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check

X, Y = int8(0.043, 17), int8(0.0211, -5)
SILU = Pointwise(
    (
        Applied(Activation("sigmoid"), 0),
        Applied(grid(1 / 256, 0, 255), 1),
        Combined("mul", 0, 2),
    )
)


def lookup(count: int, build: Build, *, wide: str = "") -> Case:
    """Of random bytes by a random table; ``wide`` of "x" and "out" are float32 in memory."""
    rng = np.random.default_rng(count)
    table = rng.integers(-128, 128, 256).astype(np.int8)
    stored = np.resize(np.arange(256), count) if count >= 256 else rng.integers(0, 256, count)
    x = rng.permutation(stored).astype(np.uint8).view(np.int8)
    values = ((x.astype(np.float32) - X.zero[0]) * np.float32(X.scale[0])).astype(np.float32)
    wanted = (table[x.view(np.uint8)] - np.float32(Y.zero[0])) * np.float32(Y.scale[0])
    node = Node("node", "Table", ("x",), ("out",))
    tensors = {"x": Tensor("x", (1, count), storage=X), "out": Tensor("out", (1, count), storage=Y)}
    for name in wide.split():
        tensors[name] = replace(tensors[name], storage=FLOAT32)
    graph = Graph("test", (node,), tensors, ("x",), ("out",))
    call = Call(node, graph, build.target)
    layer = looked_up_as_floats(call, table, X, Y) if wide else looked_up(call, table)
    layer = constants_as_blobs(layer, graph)
    return Case(f"{count} {wide}", layer, graph, {"x": values}, wanted.astype(np.float32), 0.0, 0.0)


def spelled_out(build: Build) -> list[Case]:
    """SiLU with a rounding in between, and a Unary that rounds, in every layout."""
    shape = (2, 5, 3, 7)
    whole = np.random.default_rng(3).integers(-128, 128, shape) - X.zero[0]
    x = {"x": (whole * np.float32(X.scale[0])).astype(np.float32)}
    low = -128 - Y.zero[0]
    last = grid(Y.scale[0], low, low + 255)
    storage = {"x": str(X), "out": str(Y)}
    attrs = {"function": SILU, "of": X, "to": Y}
    silu = Spec("Table", x, shape, attrs=attrs, before=last, storage=storage)
    tanh = Spec("Unary", x, shape, before=Activation("tanh"), after=last, storage=storage)
    cases = [case for spec in (silu, tanh) for case in spec.cases(build.target)]
    assert {case.layer.algorithm for case in cases} == {"table", "elementwise"}
    return [case for case in cases if case.layer.algorithm == "table"]


def test_every_byte_and_lengths_around_vectors(build: Build, folder: Path) -> None:
    """Also of numbers that memory holds as float32, on one side or both, and of what models spell
    out."""
    n = build.target.byte_vectors.count
    counts = {1, 3, n - 1, n, n + 1, 4 * n - 1, 4 * n, 4 * n + 1, 6 * n + 5, 256, 1031} - {0}
    cases = [lookup(count, build) for count in sorted(counts)]
    cases += [lookup(n, build, wide=wide) for n in (1, 7, 256) for wide in ("x", "out", "x out")]
    check(build, cases + spelled_out(build), folder)

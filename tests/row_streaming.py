"""Networks compiled with layers that stream rows, whatever the tool would choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.ir.choice import Choice
from edgeconv.ir.step import Share
from edgeconv.search import choose
from edgeconv.search.choose.row_streaming import stream_rows_of
from edgeconv.target.targets import Target
from tests import onnx_models


def convolutions(
    kinds: Sequence[Mapping[str, Any]], channels: int, size: tuple[int, int]
) -> onnx.ModelProto:
    """Convolutions and pools ``l0``, ``l1``, ... one after the other, ``x`` -> ``y``.

    ``added``: the result of the layer of this number is added to the sums.

    Of each: ``out`` channels, or ``depthwise``, or ``pool``: the operator's name; ``kernel``,
    ``stride``, ``pad``, ``dilation``, and ``relu`` behind it; a pool without ``kernel`` is global.
    """
    rng, given = np.random.default_rng(len(kinds) + channels), channels
    nodes, constants, source = [], {}, "x"
    for i, kind in enumerate(kinds):
        kernel, pad = kind.get("kernel", 0), kind.get("pad", 0)
        result = "y" if i == len(kinds) - 1 else f"t{i}"
        made = f"{result}.sums" if kind.get("relu") or "added" in kind else result
        window: dict[str, Any] = {"kernel_shape": [kernel] * 2, "pads": [pad] * 4}
        window["strides"] = [kind.get("stride", 1)] * 2
        if "pool" in kind:
            window = window if kernel else {}
            nodes.append(helper.make_node(kind["pool"], [source], [made], name=f"l{i}", **window))
        else:
            groups = channels if kind.get("depthwise") else 1
            out = channels if kind.get("depthwise") else kind["out"]
            filters = rng.standard_normal((out, channels // groups, kernel, kernel))
            constants[f"w{i}"] = (filters * 0.2).astype(np.float32)
            constants[f"b{i}"] = rng.standard_normal(out).astype(np.float32)
            own: dict[str, Any] = {
                "group": groups,
                "dilations": [kind.get("dilation", 1)] * 2,
                **window,
            }
            reads = [source, f"w{i}", f"b{i}"]
            nodes.append(helper.make_node("Conv", reads, [made], name=f"l{i}", **own))
            channels = out
        if "added" in kind:
            other = f"t{kind['added']}"
            nodes.append(helper.make_node("Add", [made, other], [result], name=f"a{i}"))
        elif kind.get("relu"):
            nodes.append(helper.make_node("Relu", [made], [result], name=f"r{i}"))
        source = result
    return onnx_models.model(nodes, {"x": (1, given, *size)}, {"y": None}, constants)


def stream(
    monkeypatch: pytest.MonkeyPatch,
    steps: Mapping[str, int],
    stream_rows: int,
    workers: int = 1,
    patches: int = 1,
) -> None:
    """From now on the layers named in ``steps`` and so many in all stream rows of ``stream_rows``
    rows, shared by ``workers``, or in ``patches``."""
    select = choose.select

    def shares(choice: Choice, last: int) -> Sequence[Share]:
        divides = choice.layers[last].divides
        if workers == 1 or not divides:
            return ()
        ends = [divides.rows * i // workers for i in range(workers + 1)]
        return [Share(*pair, 0, 1) for pair in pairwise(ends)]

    def selected(graph: Any, target: Target, **options: Any) -> Choice:
        choice = select(graph, target, **options)
        for name, count in steps.items():
            first = [layer.node.name for layer in choice.layers].index(name)
            shared = shares(choice, first + count - 1)
            made = stream_rows_of(choice, target, first, count, stream_rows, shared, patches)
            assert made
            choice = made
        return choice

    monkeypatch.setattr(choose, "select", selected)


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on layers stream rows where RAM is short, or a test says so, alone."""
    for module in ("waiting", "post_training_quantisation"):
        path = f"edgeconv.app.deciding.{module}.by_price"
        monkeypatch.setattr(path, lambda planner, draft: draft)

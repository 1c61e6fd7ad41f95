"""Nodes that find rows of a data-dependent size in random graphs, and that move what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.models.data_dependent_graph import DataDependentGraph, UnfitError, Values

_LARGE = np.iinfo(np.int64).max


def is_real(value: Values) -> bool:
    return value.dtype.kind == "f"


def is_number(value: Values) -> bool:
    return value.dtype.kind in "fi"


def is_whole(value: Values) -> bool:
    return value.dtype == np.int64


def with_axes(g: DataDependentGraph, op: str, x: str, axes: list[int], **attrs: Any) -> str:
    """Axes as an attribute before the opset in which ``op`` takes them as an input."""
    since = 13 if op in ("ReduceSum", "Squeeze", "Unsqueeze") else 18
    if g.opset >= since:
        return g.node(op, x, g.constant(axes), **attrs)
    return g.node(op, x, axes=axes, **attrs)


# What finds


def mask(g: DataDependentGraph) -> str:
    """Which elements are above a number."""
    x = g.pick(lambda v: is_number(v) and v.ndim > 0, exact=True)
    op = g.random.choice(("Greater", "Less", "GreaterOrEqual"))
    limit = g.constant(g.random.choice((0, 0, 0.5, -0.5)), g.values[x][0].dtype)
    return g.node(op, x, limit)


def non_zero(g: DataDependentGraph) -> None:
    x = mask(g) if g.chance(0.5) else g.pick(lambda v: v.ndim > 0, exact=True)
    found = g.node("NonZero", x)
    if g.chance(0.6):
        found = g.node("Transpose", found, perm=[1, 0])
        if g.rank(x) == 1 and g.chance(0.7):
            with_axes(g, "Squeeze", found, [1])


def compress(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0)
    axis = g.axis(x)
    sizes = g.sizes(x, axis)
    masks = [
        name
        for name, values in g.values.items()
        if values[0].dtype == np.bool_ and values[0].ndim == 1 and g.sizes(name, 0) == sizes
    ]
    if not masks:
        of_size = [n for n, v in g.values.items() if v[0].ndim == 1 and g.sizes(n, 0) == sizes]
        of_size = [n for n in of_size if n not in g.inexact and is_number(g.values[n][0])]
        if not of_size:
            raise UnfitError
        chosen = g.random.choice(of_size)
        masks = [g.node("Greater", chosen, g.constant(0, g.values[chosen][0].dtype))]
    g.node("Compress", x, g.random.choice(masks), axis=axis)


def top(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0 and is_number(v), exact=True)
    axis = g.axis(x)
    if g.chance(0.4):
        k = g.constant([g.random.randint(0, 3)])
    else:
        k = size_of(g, x, axis)
        if g.chance(0.5):
            k = g.node("Min", k, g.constant([g.random.randint(0, 5)]))
    g.node("TopK", x, k, count=2, axis=axis, largest=int(g.chance(0.6)))


def size_of(g: DataDependentGraph, x: str, axis: int) -> str:
    """As a vector of one number."""
    shape = g.node("Shape", x)
    return g.node("Gather", shape, g.constant([axis]))


def suppression(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: is_real(v) and v.ndim == 2 and v.shape[1] == 4, exact=True)
    sizes = g.sizes(x, 0)
    scores = [n for n, v in g.values.items() if is_real(v[0]) and v[0].ndim == 1]
    scores = [n for n in scores if g.sizes(n, 0) == sizes and n not in g.inexact]
    if not scores:
        raise UnfitError
    boxes = with_axes(g, "Unsqueeze", x, [0])
    score = with_axes(g, "Unsqueeze", g.random.choice(scores), [0, 1])
    given = [g.constant(g.random.choice((1, 3, 1000)))]
    given += [g.constant(0.3, np.float32)] if g.chance(0.8) else []
    given += [g.constant(0.1, np.float32)] if len(given) > 1 and g.chance(0.5) else []
    found = g.node("NonMaxSuppression", boxes, score, *given, center_point_box=int(g.chance(0.3)))
    if g.chance(0.7):
        picked = g.node("Gather", found, g.constant(2), axis=1)
        g.node("Gather", x, picked, axis=0)


# What moves


def _indices(g: DataDependentGraph, sizes: Sequence[int], *, rank: int | None = None) -> str:
    """Whole numbers that are places in a dimension of such sizes, for each input."""
    names = [
        name
        for name, values in g.values.items()
        if values[0].dtype == np.int64
        and (rank is None or values[0].ndim == rank)
        and name not in g.inexact
        and all(
            -size <= values[i].min(initial=0) and values[i].max(initial=-1) < size
            for i, size in zip(g.live, sizes, strict=True)
        )
    ]
    if names and g.chance(0.8):
        return g.random.choice(names)
    least = min(sizes)
    if not least:
        raise UnfitError
    shape = [
        g.random.randint(1, 3) for _ in range(g.random.randint(0, 2) if rank is None else rank)
    ]
    low = -least if g.chance(0.4) else 0
    drawn = [g.random.randint(low, least - 1) for _ in range(int(np.prod(shape)))]
    return g.constant(np.array(drawn).reshape(shape))


def gather(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0)
    axis = g.axis(x)
    g.node("Gather", x, _indices(g, g.sizes(x, axis)), axis=axis)


def gather_nd(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0)
    found = g.pick(lambda v: is_whole(v) and v.ndim > 1, exact=True)
    g.node("GatherND", x, found)


def gather_elements(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0)
    axis = g.axis(x)
    g.node("GatherElements", x, _indices(g, g.sizes(x, axis), rank=g.rank(x)), axis=axis)


def slice_(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0)
    axis = g.axis(x)
    start = g.random.choice((0, 0, 0, 1, 2, -2, -_LARGE))
    end = g.constant([g.random.choice((_LARGE, 1, 2, 3, -1, -2))])
    step = 1
    if g.chance(0.15):
        start, step = g.random.choice((-1, _LARGE)), -1
        end = g.constant([-_LARGE])
    elif g.chance(0.3):
        of = g.pick(lambda v: v.ndim > 0)
        end = size_of(g, of, g.axis(of))
    given = [g.constant([start]), end, g.constant([axis])]
    g.node("Slice", x, *given, *([g.constant([step])] if step != 1 or g.chance(0.5) else []))


def concat(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0)
    axis = g.axis(x) % g.rank(x)
    kind = g.values[x][0].dtype

    def rest(name: str) -> list[tuple[int, ...]]:
        return [g.sizes(name, at) for at in range(g.rank(name)) if at != axis]

    others = [n for n, v in g.values.items() if v[0].dtype == kind and v[0].ndim == g.rank(x)]
    others = [n for n in others if rest(n) == rest(x)]
    chosen = [g.random.choice(others) for _ in range(g.random.randint(1, 2))]
    chosen.insert(g.random.randint(0, len(chosen)), x)
    g.node("Concat", *chosen, axis=axis)


def reshape(g: DataDependentGraph) -> None:
    x = g.pick()
    rank = g.rank(x)
    way = g.random.randint(0, 4)
    if way == 0:
        target = g.constant([-1])
    elif way == 1:
        target = g.constant([-1, g.random.randint(1, 4)])
    elif way == 2:
        target = g.constant([g.random.randint(1, 4), -1])
    elif way == 3 and rank:
        target = g.node("Concat", size_of(g, x, 0), g.constant([-1]), axis=0)
    else:
        target = g.constant([0] * max(rank - 1, 0) + [-1])
    g.node("Reshape", x, target)


def flatten(g: DataDependentGraph) -> None:
    x = g.pick()
    g.node("Flatten", x, axis=g.random.randint(-g.rank(x), g.rank(x)))


def transpose(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 1)
    perm = g.random.sample(range(g.rank(x)), g.rank(x))
    g.node("Transpose", x, perm=perm)


def unsqueeze(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim < 4)
    with_axes(g, "Unsqueeze", x, [g.random.randint(-g.rank(x) - 1, g.rank(x))])


def squeeze(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 1 and 1 in v.shape)
    ones = [at for at in range(g.rank(x)) if set(g.sizes(x, at)) == {1}]
    if not ones:
        raise UnfitError
    with_axes(g, "Squeeze", x, [g.random.choice(ones)])


def expand(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim < 3)
    of = g.pick(lambda v: 0 < v.ndim < 3)
    g.node("Expand", x, g.node("Shape", of))


def filled(g: DataDependentGraph) -> None:
    of = g.pick(lambda v: 0 < v.ndim < 3)
    g.node("ConstantOfShape", g.node("Shape", of))


def range_(g: DataDependentGraph) -> None:
    of = g.pick(lambda v: v.ndim > 0)
    shape = g.node("Shape", of)
    end = g.node("Gather", shape, g.constant(g.axis(of)))
    if g.chance(0.3):
        end = g.node("Add", end, g.constant(g.random.randint(-2, 2)))
    g.node("Range", g.constant(g.random.choice((0, 0, 1))), end, g.constant(1))


def pad(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: is_number(v) and v.ndim > 0)
    rank = g.rank(x)
    pads = [0] * (2 * rank)
    pads[rank + g.axis(x) % rank] = g.random.randint(0, 3)
    if g.chance(0.3):
        pads[g.axis(x) % rank] = g.random.randint(0, 2)
    g.node("Pad", x, g.constant(pads), g.number(g.values[x][0]))


def split(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 1)
    axis = g.axis(x)
    (size, *more) = set(g.sizes(x, axis))
    if more or size < 2:
        raise UnfitError
    g.node("Split", x, g.constant([1, size - 1]), count=2, axis=axis)


def scatter_nd(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0 and is_number(v))
    found = _indices(g, g.sizes(x, 0), rank=g.random.choice((1, 2)))
    if g.rank(found) == 1:
        found = with_axes(g, "Unsqueeze", found, [1])
    rows = g.node("GatherND", x, found)
    rows = g.node("Neg", rows)
    g.node("ScatterND", x, found, rows)


def scatter_elements(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0 and is_number(v))
    axis = g.axis(x)
    found = _indices(g, g.sizes(x, axis), rank=g.rank(x))
    rows = g.node("GatherElements", x, found, axis=axis)
    rows = g.node("Neg", rows)
    g.node("ScatterElements", x, found, rows, axis=axis)

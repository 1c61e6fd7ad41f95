"""Attention without its scores against float64, in every order of operands."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from edgeconv.ir.request import Request, Workspace
from edgeconv.kernels.lowering.nest import dense_strides
from edgeconv.kernels.ops.attention import ATTENTION
from tests.kernels.builds import BY_MICRO_KERNELS
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

pytestmark = BY_MICRO_KERNELS
rng = np.random.default_rng(11)


def numbers(*shape: int, reach: float = 1.0) -> Array:
    return rng.uniform(-reach, reach, shape).astype(np.float32)


def of_shapes(
    sizes: tuple[int, int, int, int], batch: tuple[int, ...] = (), **more: Any
) -> dict[str, Any]:
    """Attributes of dense operands, queries, keys and values each with ``batch`` in front."""
    m, n, d, columns = sizes
    dense = {
        name: (0, *dense_strides((*batch, *shape)))
        for name, shape in (("q", (m, d)), ("k", (n, d)), ("v", (n, columns)))
    }
    out = dense_strides((*batch, m, columns))[:-1]
    plain = {"mask": (), "scale": 1.0, "cap": 0.0, "behind": None}
    return {"batch": batch, "sizes": sizes, **dense, "out": out, **plain, **more}


def operands(
    sizes: tuple[int, int, int, int], batch: tuple[int, ...] = (), **more: Any
) -> tuple[dict[str, Array], dict[str, Any]]:
    m, n, d, columns = sizes
    attrs = of_shapes(sizes, batch, **more)
    q, k = (numbers(*batch, count, d, reach=2) for count in (m, n))
    return {"q": q, "k": k, "v": numbers(*batch, n, columns)}, attrs


def spec(
    inputs: dict[str, Array], attrs: dict[str, Any], shape: tuple[int, ...], limit: float = inf
) -> Spec:
    """``limit``: bytes of workspace."""
    given = inputs if "mask" in inputs else {**inputs, "": np.zeros(0)}
    asked = Request(workspace=Workspace(limit))
    return Spec(ATTENTION, given, shape, attrs, tolerance=64, scale=1, request=asked)


def blocks(lanes: int) -> list[Spec]:
    """Fewer, as many and more queries than a panel, keys than a tile, and blocks of them."""
    specs = []
    for sizes, batch, limit in (
        ((1, 1, 1, 1), (), inf),
        ((5, 7, 3, 6), (2, 3), inf),
        ((2 * lanes + 1, 29, 8, 11), (2,), 1),
        ((7 * lanes + 2, 21, 5, 4), (), 1),
        ((3, 67, 17, lanes + 3), (), 1),
    ):
        inputs, attrs = operands(sizes, batch, scale=0.37)
        shape = (*batch, sizes[0], sizes[3])
        specs.append(spec(inputs, attrs, shape, limit))
    return specs


def masks(lanes: int) -> list[Spec]:
    """Of each query, of all alike, of keys that lie apart, infinite ones; causal ones, also before
    the first key; capped scores."""
    specs = []
    m, n = lanes + 2, 19
    sizes, shape = (m, n, 4, 5), (2, m, 5)
    for mask, steps in (
        (numbers(2, m, n, reach=3), (m * n, n, 1)),
        (numbers(n, reach=3), (0, 0, 1)),
        (numbers(n, m, reach=3), (0, 1, m)),
        (np.where(numbers(m, n) > 0.5, -np.inf, 0).astype(np.float32), (0, n, 1)),
    ):
        mask[..., 0] = np.where(np.isinf(mask[..., 0]), 0, mask[..., 0])  # a key for each query
        if mask.shape == (m, n):  # but for two, which have none: 0 / 0
            mask[[0, m - 1]] = -np.inf
            mask[1, n - 1], mask[2, 0] = np.inf, np.nan
        inputs, attrs = operands(sizes, (2,), mask=steps, scale=0.5)
        specs.append(spec({**inputs, "mask": mask}, attrs, shape, 1))
    for behind in (0, n - m, 3):
        if behind >= 0:
            inputs, attrs = operands(sizes, (2,), behind=behind, scale=0.5)
            specs.append(spec(inputs, attrs, shape, 1))
    inputs, attrs = operands(sizes, (2,), cap=2.0, scale=3.0)
    specs.append(spec(inputs, attrs, shape))
    return specs


def where_operands_lie(lanes: int) -> list[Spec]:
    """Heads beside one another, keys transposed, one head of keys for two of queries, a result
    whose heads are neighbours."""
    tokens, heads, d = 2 * lanes + 3, 4, 6
    width, of_keys = heads * d, heads * d // 2
    steps = {
        "q": (0, tokens * width, d, width, 1),
        "k": (0, of_keys * tokens, 0, 1, tokens),
        "v": (2, tokens * of_keys, 0, of_keys, 1),
        "out": (tokens * width, d, width),
    }
    attrs = operands((tokens, tokens, d, d), (2, heads), scale=0.4)[1]
    inputs = {
        "q": numbers(2, tokens, width, reach=2),
        "k": numbers(2, of_keys, tokens, reach=2),
        "v": numbers(2, tokens, of_keys),
    }
    return [spec(inputs, {**attrs, **steps}, (2, tokens, width))]


def far_scores(lanes: int) -> list[Spec]:
    """The largest score of a query lies in the first block, the last one and between; scores are so
    far apart that all weights but one vanish."""
    m, n = lanes + 1, 90
    inputs, attrs = operands((m, n, 1, 3), scale=1.0)
    inputs["q"][:] = 1
    specs = []
    for largest in (0, 40, n - 1):
        k = np.full((n, 1), -150, np.float32)
        k[largest] = 150
        specs.append(spec({**inputs, "k": k}, attrs, (m, 3), 1))
    return specs


def test_attention(build: Build, folder: Path) -> None:
    """All in one program."""
    lanes = build.target.lanes
    specs = (*blocks(lanes), *masks(lanes), *where_operands_lie(lanes), *far_scores(lanes))
    check(build, [made for each in specs for made in each.cases(build.target)], folder)

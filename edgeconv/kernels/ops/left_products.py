"""Products of a constant matrix and what a model computes: of columns, as convolutions have it.

W x of a matrix W (m, k) and columns x (k, n) is a convolution with kernels of one pixel, k channels
and n pixels; of a stack of matrices, each with columns of its own, one of groups.
"""

from __future__ import annotations

import math
from typing import Any

from edgeconv.kernels.ops.formula import Term
from edgeconv.kernels.ops.importing import Values

_PIXEL = {"kernel": (1,), "strides": (1,), "dilations": (1,), "pads": (0, 0), "groups": 1}


def product_of_columns(name: str, w: Values, x: Term, axis: int) -> Term | None:
    """``w`` (..., m, k) times ``x`` (..., k, n); None where that is no convolution.

    ``w`` is what is multiplied of the constant ``name``, whose dimension ``axis`` the m rows are.
    """
    if min(w.ndim, len(x.shape)) < 2 or w.shape[-1] != x.shape[-2]:
        return None
    stack, lead = w.shape[:-2], x.shape[:-2]
    count, batch = math.prod(stack), math.prod(lead)
    (m, k), n = w.shape[-2:], x.shape[-1]
    if (count != 1 and stack != lead) or not count * batch * m * k * n:
        return None
    formula = x.formula
    source, ctx = formula.source, formula.ctx
    stored = dict(ctx.stored_as(name, axis, source.name))
    if "storage" in stored:
        stored["storage"] = stored["storage"].scaled(stored["storage"].scale * count)
    images = batch // count
    filters = ctx.add_constant(f"{name}/w", w.reshape(count * m, k, 1))
    columns = _shaped(x, (images, count * k, n))
    attrs: dict[str, Any] = {**_PIXEL, "groups": count, **stored}
    y = formula.add("Conv", (columns, filters, ""), (images, count * m, n), "product", **attrs)
    shape = (*(stack if len(stack) > len(lead) else lead), m, n)
    return _shaped(y, shape)


def _shaped(x: Term, shape: tuple[int, ...]) -> Term:
    return x if x.shape == shape else x.reshape(*shape)

"""Which loops of a kernel call workers can share, by the template that has the loops.

A sum is never shared out, so that results do not depend on how many workers there are.  Templates
that are not named compute all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.resumable import Division
from edgeconv.ir.step import WHOLE, Axis, Splits
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import Target

LINE_ELEMENTS = 64  # of one byte in a line of cache: no two workers write to one


def _number(params: Mapping[str, Param], name: str) -> int:
    value = params[name]
    assert isinstance(value, int), name
    return value


def _numbers(params: Mapping[str, Param], name: str) -> tuple[int, ...]:
    value = params[name]
    assert isinstance(value, tuple), name
    return tuple(int(each) for each in value)


def _rows(params: Mapping[str, Param]) -> Axis:
    return Axis(_numbers(params, "out_size")[1])


def _direct(params: Mapping[str, Param], target: Target) -> Splits:
    """Tiles of filters that read all channels; those of groups begin where others end."""
    del target
    grouped = bool(_numbers(params, "groups")[0])
    tiles = WHOLE if grouped else Axis(_number(params, "tiles"))
    return Splits(_rows(params), tiles, reads_all=True)


def _depthwise(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    return Splits(_rows(params), Axis(_number(params, "batch") * _number(params, "blocks")))


def _gemm(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    _, count, _, rest = _numbers(params, "filters")
    return Splits(Axis(_number(params, "lines")), Axis(count + rest), reads_all=True)


def _winograd(params: Mapping[str, Param], target: Target) -> Splits:
    """Strips of tiles, and vectors of filters as register tiles take them."""
    del target
    strips = -(-_number(params, "tiles") // _number(params, "strip"))
    vectors = -(-_number(params, "vectors") // _numbers(params, "tile")[1])
    return Splits(Axis(strips), Axis(vectors), reads_all=True)


def _by_rows(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    return Splits(rows=_rows(params))


def _images(params: Mapping[str, Param], target: Target) -> Splits:
    multiple = target.lanes if params["kernel_function"] == "global_rows" else 1
    return Splits(items=Axis(_number(params, "images"), multiple))


def outermost(sizes: Sequence[int], rows: int, n: int) -> int:
    """Rounds of the outermost loop of ec_binary that has several: ``sizes``, rows or elements."""
    outer = math.prod(sizes)
    return next((count for count in (outer, rows) if count > 1), n)


def _binary(params: Mapping[str, Param], target: Target) -> Splits:
    """Rows of no more than a vector are left together."""
    sizes, rows, n = _numbers(params, "sizes"), _number(params, "rows"), _number(params, "n")
    if math.prod(sizes) == 1 and n <= target.lanes:
        return Splits()
    multiple = LINE_ELEMENTS if math.prod(sizes) == rows == 1 else 1
    return Splits(items=Axis(outermost(sizes, rows, n), multiple))


def _elements(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    return Splits(items=Axis(_number(params, "elements"), LINE_ELEMENTS))


def _affine(params: Mapping[str, Param], target: Target) -> Splits:
    outer, channels, pixels = _numbers(params, "sizes")[:3]
    multiple = target.lanes if params["rows"] else 1
    return Splits(Axis(pixels, multiple), Axis(outer * channels))


def _outer(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    return Splits(items=Axis(_number(params, "outer")))


def _counted(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    return Splits(items=Axis(_number(params, "count")))


def _nest(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    return Splits(items=Axis(math.prod(_numbers(params, "sizes"))))


def _convert(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    block, channels = _number(params, "block"), _number(params, "channels")
    blocks = -(-channels // block) if block > 1 else 1
    return Splits(items=Axis(_number(params, "images") * blocks))


def _matmul(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    rows = -(-_number(params, "m") // _number(params, "rows"))
    return Splits(Axis(rows), Axis(math.prod(_numbers(params, "sizes"))))


def _product(params: Mapping[str, Param], target: Target) -> Splits:
    """Lines of rows, under all columns, which each worker packs; products of the stack."""
    del target
    return Splits(Axis(_number(params, "lines")), Axis(math.prod(_numbers(params, "sizes"))))


def _resize(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    depth, height, _ = _numbers(params, "out_size")
    return Splits(items=Axis(_number(params, "outer") * depth * height))


def _reduce(params: Mapping[str, Param], target: Target) -> Splits:
    multiple = target.lanes if params["kernel_function"] == "rows" else 1
    return Splits(items=Axis(math.prod(_numbers(params, "kept")), multiple))


def _lrn(params: Mapping[str, Param], target: Target) -> Splits:
    multiple = 8 * target.lanes  # EC_LRN_PIXELS, and vectors of pixels
    return Splits(items=Axis(_number(params, "pixels"), multiple))


def _int8_binary(params: Mapping[str, Param], target: Target) -> Splits:
    return Splits() if params["by_channel"] else _elements(params, target)


def _int16_function(params: Mapping[str, Param], target: Target) -> Splits:
    return Splits() if params["of_two"] else _elements(params, target)


def _quantise(params: Mapping[str, Param], target: Target) -> Splits:
    del target
    outer, channels, inner = (_number(params, name) for name in ("outer", "channels", "inner"))
    if params["per_axis"]:
        return Splits(items=Axis(outer * channels))
    return Splits(items=Axis(outer * channels * inner, LINE_ELEMENTS))


_BY_TEMPLATE: Mapping[str, Callable[[Mapping[str, Param], Target], Splits]] = MappingProxyType(
    {
        "conv/direct": _direct,
        "conv/depthwise": _depthwise,
        "conv/gemm": _gemm,
        "conv/winograd": _winograd,
        "conv/int8_winograd": _winograd,
        "conv/depthwise_int8": _by_rows,
        "ops/affine": _affine,
        "ops/attention": _counted,
        "ops/binary": _binary,
        "ops/concat": _outer,
        "ops/convert": _convert,
        "ops/dynamic_quantise": _elements,
        "ops/flat_copy": _elements,
        "ops/gather": _outer,
        "ops/int16_function": _int16_function,
        "ops/int8_binary": _int8_binary,
        "ops/integer_pool": _by_rows,
        "ops/lrn": _lrn,
        "ops/matmul": _matmul,
        "ops/move": _nest,
        "ops/pad": _nest,
        "ops/pool": _by_rows,
        "ops/preprocess": _by_rows,
        "ops/pool_global": _images,
        "ops/product": _product,
        "ops/quantise": _quantise,
        "ops/reduce": _reduce,
        "ops/resize": _resize,
        "ops/softmax": _outer,
        "ops/table": _elements,
        "ops/table_of_floats": _elements,
        "ops/unary": _elements,
    }
)


def splits_of(layer: Layer, isa: str) -> Splits:
    """The loops of ``layer`` on an ISA that workers can share; loops of one round where it computes
    all at once."""
    name = layer.template.removesuffix(".c.j2")
    found = _BY_TEMPLATE.get(name)
    return found(layer.params, TARGETS[isa]) if found else Splits()


def pieces_of(layer: Layer, isa: str) -> Division:
    """The pieces in which ``layer`` can be computed one after the other: rows where there are
    several, else items."""
    if (
        layer.divides
        and layer.divides.rows > 1
        and not layer.accumulates
        and _has_rows(layer.params, layer.divides.rows)
    ):
        together = max((alias.rows for alias in layer.aliases if alias.overlaps), default=1)
        return Division(Axis(layer.divides.rows, max(1, together)), rows=True)
    splits = splits_of(layer, isa)
    by_rows = splits.rows.pieces > 1
    axis = splits.rows if by_rows else splits.items
    return Division(axis, by_rows) if axis.pieces > 1 else Division()


def _has_rows(params: Mapping[str, Param], rows: int) -> bool:
    """Whether the kernel knows the rows of an image, which is one row to some that read pixels
    wherever they are."""
    return "out_size" not in params or _rows(params).count == rows

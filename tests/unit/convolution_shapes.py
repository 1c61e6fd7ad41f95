"""Random convolutions for the tests of the bounds, and their updates one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from hypothesis import strategies as st

from edgeconv.target.bounds import Axis, ConvShape, Precision

Element = tuple[int, ...]


class Update(NamedTuple):
    """One multiply-accumulate, as its loop indices, and the elements that it accesses."""

    taps: Element
    input: Element
    filter: Element
    output: Element


def updates(shape: ConvShape) -> Iterator[Update]:
    """All updates on input elements, from the definition of a convolution."""
    loops = (shape.batch, shape.groups, shape.group_in_c, shape.group_out_c)
    outs = product(*(range(axis.out) for axis in shape.axes))
    taps = list(product(*(range(axis.kernel) for axis in shape.axes)))
    for out, tap, (n, g, i, o) in product(outs, taps, product(*map(range, loops))):
        where = tuple(
            axis.stride * x + axis.dilation * t - axis.pad
            for axis, x, t in zip(shape.axes, out, tap, strict=True)
        )
        if all(0 <= x < axis.size for axis, x in zip(shape.axes, where, strict=True)):
            yield Update(tap, (n, g, i, *where), (g, o, i, *tap), (n, g, o, *out))


def precisions() -> st.SearchStrategy[Precision]:
    """float32, flyte24, flyte16 and int8, in any mixture, and 64-bit outputs."""
    stored = st.sampled_from([0.25, 0.5, 0.75, 1.0])
    return st.builds(Precision, stored, stored, st.sampled_from([0.25, 0.5, 1.0, 2.0]))


@st.composite
def shapes(
    draw: st.DrawFn, channels: int, out: int, kernel: int, axes: int = 3, batch: int = 3
) -> ConvShape:
    """Any convolution up to these sizes; the input may be smaller or larger than needed."""
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    return ConvShape(
        batch=draw(st.integers(1, batch)),
        in_c=groups * draw(st.integers(1, channels)),
        out_c=groups * draw(st.integers(1, channels)),
        axes=tuple(
            Axis(
                size=draw(st.integers(1, 2 * out)),
                out=draw(st.integers(1, out)),
                kernel=draw(st.integers(1, kernel)),
                stride=draw(st.integers(1, 4)),
                dilation=draw(st.integers(1, 4)),
                pad=draw(st.integers(0, 3)),
            )
            for _ in range(draw(st.integers(0, axes)))
        ),
        groups=groups,
    )

"""Convolutions by Winograd's algorithm, of random geometry: in forms of points whose numbers
float32 has, so that results are exact, and in every plan from most to least workspace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from edgeconv.ir.request import Request, Workspace
from edgeconv.ir.winograd_form import Nested, plain, winograd_form
from edgeconv.kernels import algorithms
from edgeconv.target.targets import Target
from tests.geometry.draw import AFTER, CHANNELS, SIZES, Draws
from tests.kernels.cases import Case, Spec
from tests.kernels.test_sconv import TINY

# By taps.  What divides by powers of two alone.
EXACT = {
    1: (plain(1),),
    2: (winograd_form(2, 2, (0, 1)), winograd_form(3, 2, (0, 1, -1))),
    3: (winograd_form(2, 3, (0, 1, -1)),),
}
MOST_MACS = 150_000
GROUPED = 16  # channels of a group: whole vectors on every target


def forms(draws: Draws) -> Nested:
    """Of one dimension, of two, and sums of several rows."""
    across = draws.one(EXACT[draws.up_to(3, 1)])
    if across.taps == 1:
        return Nested(draws.one(EXACT[draws.up_to(3, 2)]), across)
    rows = draws.up_to(5, 1)
    return Nested(draws.one((*EXACT.get(rows, ()), plain(rows))), across)


def draw(draws: Draws) -> Spec:
    """A convolution with the form that it is to be computed in."""
    while True:
        form = forms(draws)
        batch, groups = draws.up_to(2, 1), draws.one((1, 1, 1, 2, 3))
        strided = groups == 1 and draws.often(0.4)
        strides = (draws.up_to(3, 1), draws.up_to(3, 1)) if strided else (1, 1)
        dilated = strides == (1, 1) and draws.often(0.3)
        dilations = (draws.up_to(3, 1), draws.up_to(4, 1)) if dilated else (1, 1)
        taps = form.down.taps, form.across.taps
        # Some phases have a tap less.
        kernel = tuple(
            stride * count - draws.up_to(stride - 1)
            for stride, count in zip(strides, taps, strict=True)
        )
        size = draws.one(SIZES), draws.one(SIZES)
        pads = tuple(draws.up_to(count) for count in kernel * 2)
        high, wide = (
            (size[i] + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
            for i in range(2)
        )
        in_c, out_c = draws.one(CHANNELS), draws.one(CHANNELS)
        if groups > 1:
            in_c = out_c = groups * GROUPED
        macs = batch * high * wide * kernel[0] * kernel[1] * in_c * out_c // groups
        if min(high, wide) >= 1 and macs <= MOST_MACS:
            break
    out = (batch, out_c, high, wide)
    fixed = {"strides": strides, "dilations": dilations}
    return Spec(
        "Conv",
        {
            "x": draws.whole(batch, in_c, *size),
            "w": draws.whole(out_c, in_c // groups, *kernel),
            ("b" if draws.often(0.8) else ""): draws.whole(out_c),
        },
        out,
        {"kernel": kernel, "pads": pads, "groups": groups, **fixed},
        ("w", "b"),
        before=draws.one(AFTER),
        residual=draws.whole(*out) if draws.often(0.3) else None,
        after=draws.one(AFTER),
        request=Request("winograd", winograd_forms=(form,)),
    )


def cases(spec: Spec, target: Target) -> Iterator[Case]:
    """With caches of every plan, and with tiny ones out of which filters are prefetched."""
    (graph, _), expected = spec.graph(), spec.expected()
    for near in (target, replace(target, caches=TINY, prefetch=True)):
        for plan in algorithms.candidates(graph.nodes[0], graph, near):
            limited = replace(spec.request, workspace=Workspace(plan.workspace_bytes))
            yield from replace(spec, request=limited).cases(near, expected)

"""Max and average pooling, local and global."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import Window, flag, ints, make_node, window_of
from edgeconv.ops.kernels.pool import layouts, lower


def _check_windows(source: Source, ctx: ImportContext, window: Window, out: Shape) -> None:
    """Reject a window that covers padding only: its maximum or average does not exist."""
    spatial = ctx.tensor(source.inputs[0]).shape[2:]
    for axis, (size, count) in enumerate(zip(spatial, out, strict=True)):
        stride, dilation, pad = window.strides[axis], window.dilations[axis], window.pads[axis]
        # A window that begins in the input covers its first tap; one that begins in front of it,
        # the first tap that does not lie in front.
        first = np.arange(min(count, -(-pad // stride))) * stride - pad
        tap = -(first // dilation)
        inside = (tap < window.kernel[axis]) & (first + tap * dilation < size)
        if not inside.all() or (count - 1) * stride - pad >= size:
            got = f"input {list(spatial)}, kernel {list(window.kernel)}, pads {list(window.pads)}"
            raise ctx.reject(source, got, "every window must cover at least one input element")


def _check_same(source: Source, ctx: ImportContext, window: Window, out: Shape) -> None:
    """Reject SAME where strides leave out more than one element.

    The formula of auto_pad is negative there.  Frameworks that pad this way (TensorFlow) take no
    padding and skip elements at the end; ONNX Runtime crops at both ends in AveragePool since
    version 19 and refuses all else.  One element too few is skipped at the end by all of them.
    """
    if not source.attrs.get("auto_pad", "").startswith("SAME"):
        return
    spatial = ctx.tensor(source.inputs[0]).shape[2:]
    for axis, (size, count) in enumerate(zip(spatial, out, strict=True)):
        span = (window.kernel[axis] - 1) * window.dilations[axis] + 1
        if (count - 1) * window.strides[axis] + span < size - 1:
            got = f"{source.attrs['auto_pad']} of input {list(spatial)}, "
            got += f"kernel {list(window.kernel)}, strides {list(window.strides)}"
            rule = "auto_pad is ambiguous where the windows leave out more than one element"
            raise ctx.reject(source, got, rule, "state pads instead of auto_pad")


def _local(source: Source, ctx: ImportContext, mode: str) -> Sequence[Node]:
    if any(source.outputs[1:]):
        raise ctx.reject(source, f"output Indices ({source.outputs[1]})", "only Y can be computed")
    window = window_of(source, ctx, ints(source.attrs["kernel_shape"]))
    out = ctx.tensor(source.outputs[0]).shape[2:]
    _check_same(source, ctx, window, out)
    _check_windows(source, ctx, window, out)
    counted = flag(source, ctx, "count_include_pad")
    return [make_node(source, "Pool", mode=mode, **window.attrs(), count_include_pad=counted)]


def _global(source: Source, ctx: ImportContext, mode: str) -> Sequence[Node]:
    kernel = ctx.tensor(source.inputs[0]).shape[2:]
    ones = (1,) * len(kernel)
    window = Window(kernel, ones, ones, (0,) * (2 * len(kernel)))
    return [make_node(source, "Pool", mode=mode, **window.attrs(), count_include_pad=False)]


OPERATOR = Operator(
    name="Pool",
    onnx={
        "MaxPool": lambda source, ctx: _local(source, ctx, "max"),
        "AveragePool": lambda source, ctx: _local(source, ctx, "average"),
        "GlobalMaxPool": lambda source, ctx: _global(source, ctx, "max"),
        "GlobalAveragePool": lambda source, ctx: _global(source, ctx, "average"),
    },
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)

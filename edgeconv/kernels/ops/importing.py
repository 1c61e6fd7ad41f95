"""What the ONNX importers of several operators share: parameters, windows, chains of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base import limits
from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops.base import ImportContext, Source

Values = npt.NDArray[Any]  # numbers of any type


def make_node(
    source: Source, op: str, inputs: Sequence[str] | None = None, /, **attrs: Any
) -> Node:
    """The only node of ``source``: ``op`` on ``inputs`` (all of the source's by default)."""
    inputs = source.inputs if inputs is None else inputs
    return Node(source.name, op, tuple(inputs), source.outputs[:1], attrs)


def make_unary(source: Source, function: Activation, data: str | None = None) -> Node:
    """The only node of ``source``: ``function`` of its first input (or of ``data``)."""
    inputs = (data or source.inputs[0],)
    epilogue = Epilogue(before=function)
    return Node(source.name, "Unary", inputs, source.outputs[:1], epilogue=epilogue)


def optional_input(source: Source, index: int) -> str:
    """The name of input ``index``, "" when it is absent."""
    return source.inputs[index] if index < len(source.inputs) else ""


def constant_input(source: Source, ctx: ImportContext, index: int, what: str) -> Values | None:
    """The value of input ``index``, None when it is absent.

    ``what`` says in a message what the input means.  Rejects a value computed at run time.
    """
    name = optional_input(source, index)
    if not name:
        return None
    value = ctx.constant(name)
    if value is None:
        raise ctx.reject(source, f"{what} computed at run time", f"{what} must be constant")
    return value


def attribute_or_input(
    source: Source, ctx: ImportContext, attribute: str, index: int
) -> Values | None:
    """A parameter that older versions of an operator hold in ``attribute``, newer ones in an input.

    None when it is given in neither place.
    """
    if attribute in source.attrs:
        return np.asarray(source.attrs[attribute])
    return constant_input(source, ctx, index, attribute)


def ints(value: Any) -> tuple[int, ...]:
    """A tuple of Python ints from a list or an array."""
    return tuple(int(v) for v in np.asarray(value).reshape(-1))


def axis_of(source: Source, ctx: ImportContext, value: int, rank: int) -> int:
    """``value`` counted from the front.  Rejects what is no axis of a tensor of ``rank``."""
    if not -rank <= value < rank:
        rule = f"a tensor of {rank} dimensions has the axes {-rank} to {rank - 1}"
        raise ctx.reject(source, f"axis {value}", rule if rank else "a scalar has no axes")
    return int(value) + rank if value < 0 else int(value)


def axes_of(source: Source, ctx: ImportContext, values: Iterable[int], rank: int) -> Shape:
    """``values`` counted from the front.  Rejects those that are out of range, and one twice."""
    axes = tuple(axis_of(source, ctx, value, rank) for value in values)
    if len(set(axes)) < len(axes):
        raise ctx.reject(source, f"axes {list(axes)}", "each axis is named once")
    return axes


def with_channels(source: Source, ctx: ImportContext) -> Shape:
    """The shape of the first input.  Rejects one without channels."""
    shape = ctx.tensor(source.inputs[0]).shape
    if len(shape) < 2:
        raise ctx.reject(source, f"input {list(shape)}", "the data must be [N, C, ...]")
    return shape


def check_stated(
    source: Source, ctx: ImportContext, output: str = "", axes: Iterable[int] | None = None
) -> None:
    """Reject an ``output`` (the first) that the model states with another number of dimensions than
    the first input has, or with another size along an axis beside ``axes`` (None: any may be)."""
    shape, out = (ctx.tensor(n).shape for n in (source.inputs[0], output or source.outputs[0]))
    rank = len(shape)
    kept = set[int]() if axes is None else {*range(rank)} - {*axes}
    if len(out) != rank or any(shape[axis] != out[axis] for axis in kept):
        rule = "a result has as many dimensions as what it is made of, those beside of one size"
        raise ctx.reject(source, f"{list(shape)} to {list(out)}", rule)


def flag(source: Source, ctx: ImportContext, name: str, default: int = 0) -> bool:
    """An attribute that is 0 or 1.  Rejects other numbers, on whose meaning engines differ."""
    value = source.attrs.get(name, default)
    if value not in (0, 1):
        raise ctx.reject(source, f"{name} {value}", f"{name} is 0 or 1")
    return bool(value)


def single_number(source: Source, ctx: ImportContext, value: Values, what: str) -> float:
    """The only element of ``value``.  Rejects any other number of them."""
    if value.size != 1:
        raise ctx.reject(source, f"{what} of shape {list(value.shape)}", f"{what} is one number")
    return float(value.reshape(())[()])


def broadcast(source: Source, ctx: ImportContext, *shapes: Shape) -> Shape:
    """The shape that ``shapes`` have in common.  Rejects those that have none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        got = " and ".join(str(list(shape)) for shape in shapes)
        rule = "sizes are equal or 1, counted from the last dimension"
        raise ctx.reject(source, got, rule) from None


@dataclass(frozen=True, slots=True)
class Window:
    """The sliding window of a convolution or a pool, one entry per spatial dimension.

    ``pads`` holds all begins, then all ends.
    """

    kernel: Shape
    strides: Shape
    dilations: Shape
    pads: Shape

    @property
    def spans(self) -> Shape:
        """The extents of the kernel, dilated."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def begins(self) -> Shape:
        """Padding before the first element."""
        return self.pads[: len(self.kernel)]

    @property
    def ends(self) -> Shape:
        """Padding behind the last one."""
        return self.pads[len(self.kernel) :]

    def counts(self, sizes: Shape) -> Shape:
        """Windows that fit into padded dimensions of ``sizes``."""
        each = zip(sizes, self.spans, self.strides, self.begins, self.ends, strict=True)
        return tuple((n + b + e - span) // stride + 1 for n, span, stride, b, e in each)

    def attrs(self) -> dict[str, Shape]:
        """As attributes of a node."""
        return {
            "kernel": self.kernel,
            "strides": self.strides,
            "dilations": self.dilations,
            "pads": self.pads,
        }


# Elements that ONNX Runtime skips at the end where the formula of auto_pad is negative; pools: one.
_SKIPPED = dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), 2)


def _same_padding(
    source: Source, ctx: ImportContext, size: int, span: int, stride: int
) -> tuple[int, int]:
    """Begin and end padding for ceil(size / stride) outputs; ``span`` is that of the kernel.

    Rejects strides that leave out more elements than all engines skip at the end, which is where
    the formula of auto_pad is negative.  Frameworks that pad this way (TensorFlow) take no padding
    there and skip any number; ONNX Runtime crops at both ends, or refuses.
    """
    total = (-(-size // stride) - 1) * stride + span - size
    skipped = _SKIPPED.get(source.op_type, 1)
    if total < -skipped:
        got = f"{source.attrs['auto_pad']} of {size} elements, {span} of kernel, stride {stride}"
        many = "one element" if skipped == 1 else f"{skipped} elements"
        rule = f"auto_pad is ambiguous where the windows leave out more than {many}"
        raise ctx.reject(source, got, rule, "state pads instead of auto_pad")
    small, large = max(0, total) // 2, max(0, total) - max(0, total) // 2
    return (small, large) if source.attrs["auto_pad"] == "SAME_UPPER" else (large, small)


def window_of(source: Source, ctx: ImportContext, kernel: Shape) -> Window:
    """Strides, dilations and explicit padding of ``source`` over its first input."""
    spatial = with_channels(source, ctx)[2:]
    rank = len(spatial)
    strides = ints(source.attrs.get("strides") or [1] * rank)
    dilations = ints(source.attrs.get("dilations") or [1] * rank)
    auto_pad = source.attrs.get("auto_pad", "NOTSET")
    pads = ints(source.attrs.get("pads") or [0] * (2 * rank))
    where = f"node {source.name!r} ({source.op_type})"
    limits.held("window-elements", max(spatial, default=0), where, "too large to compile")
    for name, value, entries in (
        ("kernel_shape", kernel, rank),
        ("strides", strides, rank),
        ("dilations", dilations, rank),
        ("pads", pads, 2 * rank),
    ):
        if len(value) != entries or (name != "pads" and min(value, default=1) < 1):
            rule = f"{entries} positive entries are needed for {rank} spatial dimensions"
            raise ctx.reject(source, f"{name} {list(value)}", rule)
        at = f"{where}, {name}"
        limits.held("window-elements", max(value, default=0), at, "too large to compile")
    if min(pads, default=0) < 0:
        raise ctx.reject(source, f"pads {list(pads)}", "padding must not be negative")
    if auto_pad == "VALID":
        pads = (0,) * (2 * rank)
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        pairs = [
            _same_padding(source, ctx, size, span, stride)
            for size, span, stride in zip(spatial, spans, strides, strict=True)
        ]
        pads = (*(begin for begin, _ in pairs), *(end for _, end in pairs))
    elif auto_pad not in ("NOTSET", ""):
        rule = "auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER"
        raise ctx.reject(source, f"auto_pad {auto_pad!r}", rule)
    return Window(kernel, strides, dilations, pads)

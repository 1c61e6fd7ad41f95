"""Make one Preprocess of what a model does with the pixels that it reads as bytes.

Exporters put an image's way to the network into the model: Cast of uint8, Transpose, Resize, Pad,
less the mean, divided by the deviation.  In between lie tensors of float32 of the image's size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Array, Graph, Node, origins
from edgeconv.ir.preprocessing import (
    LARGEST,
    PACKED,
    PREPROCESS,
    Neighbours,
    Pixels,
    Preprocessing,
    same,
)
from edgeconv.ir.quantisation import DEQUANTISES, integers_of
from edgeconv.ir.requantisation import EXACT
from edgeconv.kernels.ops.interpolation import tables, whole_weights
from edgeconv.model.passes.base import Pass

_CHANNELS = (1, 2, 3)
_MOST = (1 << 31) // 256  # of the products of weights: sums of bytes are int32
_TO_LAST, _TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


@dataclass(slots=True)
class _Chain:
    """Nodes from a frame on, of which each alone reads the one before.

    ``name``: the result so far, which has its channels last or not.  ``members``: positions.
    ``computes``: there is more among them than a change of type or of order.
    """

    frame: str
    made: Preprocessing
    last: bool
    name: str
    members: list[int] = field(default_factory=list)
    computes: bool = False

    @property
    def rows(self) -> int:
        """The axis of rows; that of columns is the next."""
        return 1 if self.last else 2

    @property
    def channels(self) -> int:
        return 3 if self.last else 1


def _begun(position: int, editor: Editor) -> _Chain | None:
    """What the node at ``position`` makes of an input of bytes; None where it is no such node."""
    node = editor.node(position)
    frame = node.inputs[0] if node.inputs else ""
    if node.op == PREPROCESS and node.epilogue.is_empty:
        made: Preprocessing = node.attrs["preprocessing"]
        return _Chain(frame, made, False, node.output, [position])
    if node.op != "Dequantise" or frame not in editor.graph.inputs or not node.epilogue.is_empty:
        return None
    tensor, encoding = editor.tensors[frame], integers_of(node)
    shape = tensor.shape
    if tensor.dtype != "uint8" or not encoding.is_per_tensor or len(shape) != 4 or shape[0] != 1:
        return None
    _, height, width, channels = shape
    if channels not in _CHANNELS or not 0 < max(height, width) <= LARGEST:
        return None
    if editor.sole_reader(frame) != position:
        return None
    scale, zero = encoding.scale[0], encoding.zero[0]
    made = Preprocessing(
        pixels=Pixels(PACKED, channels, tuple(range(channels))),
        height=height,
        width=width,
        lines=height,
        stride=width * channels,
        rows=same(height),
        columns=same(width),
        size=(height, width),
        top=0,
        left=0,
        rounded=False,
        scale=(scale,) * channels,
        shift=(-zero * scale,) * channels,
        fill=(0.0,) * channels,
    )
    return _Chain(frame, made, True, node.output, [position])


def _scaled(made: Preprocessing, scale: Array, shift: Array) -> Preprocessing:
    """With ``scale`` times the numbers, and ``shift`` more."""
    by, more = (np.broadcast_to(each, (made.channels,)).astype(float) for each in (scale, shift))

    def of(numbers: tuple[float, ...], add: Array) -> tuple[float, ...]:
        return tuple(map(float, np.array(numbers) * by + add))

    nothing = np.zeros(made.channels)
    return replace(
        made,
        scale=of(made.scale, nothing),
        shift=of(made.shift, more),
        fill=of(made.fill, more),
    )


def _affine(node: Node, editor: Editor, chain: _Chain) -> Preprocessing | None:
    scale, shift = (editor.constant(name) for name in node.inputs[1:3])
    if chain.last or scale is None or shift is None or DEQUANTISES in node.attrs:
        return None
    return _scaled(chain.made, scale.reshape(-1), shift.reshape(-1))


def _binary(node: Node, editor: Editor, chain: _Chain) -> Preprocessing | None:
    """Arithmetic with one constant, or one per channel."""
    place = node.inputs.index(chain.name)
    value = editor.constant(node.inputs[1 - place])
    shape = editor.shape(chain.name)
    if value is None or editor.shape(node.output) != shape or value.ndim > len(shape):
        return None
    aligned = (1,) * (len(shape) - value.ndim) + value.shape
    if any(size != 1 for axis, size in enumerate(aligned) if axis != chain.channels):
        return None
    by, one, none = value.reshape(-1).astype(np.float64), np.ones(1), np.zeros(1)
    kind = str(node.attrs["kind"])
    if kind == "div" and (place or not np.isfinite(by).all() or not by.all()):
        return None
    found = {
        "add": (one, by),
        "sub": (-one, by) if place else (one, -by),
        "mul": (by, none),
        "div": (1 / by if kind == "div" else one, none),
    }
    return _scaled(chain.made, *found[kind]) if kind in found else None


def _resize(node: Node, editor: Editor, chain: _Chain) -> Preprocessing | None:
    made, attrs, shapes = (
        chain.made,
        node.attrs,
        [editor.shape(n) for n in (chain.name, node.output)],
    )
    if made.box != (made.height, made.width) or made.is_filled or attrs.get("exclude_outside"):
        return None
    axes, found = (chain.rows, chain.rows + 1), list[Neighbours]()
    scales = [float(scale) for scale in attrs["scales"]]
    others = [axis for axis in range(4) if axis not in axes]
    if attrs["mode"] not in ("linear", "nearest") or max(shapes[1]) > LARGEST:
        return None
    if any(scales[axis] != 1 or shapes[0][axis] != shapes[1][axis] for axis in others):
        return None
    for axis in axes:
        along = _along(shapes[0][axis], shapes[1][axis], scales[axis], attrs)
        if along is None:
            return None
        found.append(along)
    rows, columns = found
    if rows.over * columns.over > _MOST:
        return None
    size = len(rows.first), len(columns.first)
    return replace(made, rows=rows, columns=columns, size=size)


def _along(size: int, out: int, scale: float, attrs: Mapping[str, object]) -> Neighbours | None:
    """Which pixels Resize takes along an axis; None where weights have no small denominator."""
    index, weight = tables(size, out, scale, attrs)
    first = tuple(map(int, index[0]))
    if len(index) == 1:
        return Neighbours(first)
    whole = whole_weights(weight)
    if whole is None or len(index) != 2:
        return None
    (_, above), over = whole
    if not above.any():
        return Neighbours(first)
    return Neighbours(first, tuple(map(int, index[1])), tuple(map(int, above)), over)


def _pad(node: Node, editor: Editor, chain: _Chain) -> Preprocessing | None:
    made, pads = chain.made, [int(each) for each in node.attrs["pads"]]
    axes = (chain.rows, chain.rows + 1)
    outside = any(pads[axis] or pads[axis + 4] for axis in range(4) if axis not in axes)
    if node.attrs["mode"] != "constant" or made.is_filled or outside or min(pads) < 0:
        return None
    shape = editor.shape(node.output)
    if len(node.inputs) > 1 or max(shape) > LARGEST:
        return None
    value = float(node.attrs.get("value", 0.0))
    return replace(
        made,
        size=(shape[axes[0]], shape[axes[1]]),
        top=pads[axes[0]],
        left=pads[axes[1]],
        fill=(value,) * made.channels,
    )


_Taken = Callable[[Node, Editor, _Chain], Preprocessing | None]
_TAKEN: Mapping[str, _Taken] = MappingProxyType(
    {"Affine": _affine, "Binary": _binary, "Pad": _pad, "Resize": _resize}
)


def _grow(chain: _Chain, editor: Editor) -> bool:
    """Take in the node that alone reads the result so far; whether there is one to take in."""
    position = editor.sole_reader(chain.name)
    if position is None:
        return False
    node = editor.node(position)
    if not node.epilogue.is_empty or len(node.outputs) != 1:
        return False
    if node.op == "Transpose":
        perm = tuple(node.attrs["perm"])
        if perm != (_TO_FIRST if chain.last else _TO_LAST):
            return False
        chain.last = not chain.last
    else:
        taken = _TAKEN.get(node.op)
        made = taken(node, editor, chain) if taken and node.op in _TAKEN else None
        if made is None:
            return False
        chain.made, chain.computes = made, True
    chain.members.append(position)
    chain.name = node.output
    return True


def _replace(chain: _Chain, editor: Editor) -> None:
    """One node in place of the members, and one that brings channels to lie last where they do."""
    first, last = chain.members[0], chain.members[-1]
    nodes = [editor.node(position) for position in chain.members]
    name, out = nodes[-1].name, chain.name
    for position in chain.members:
        editor.replace(position, None)
    made = out
    if chain.last:
        made = editor.add_tensor(f"{out}.preprocessed", chain.made.shape, editor.tensors[out])
        node = Node(
            editor.fresh_node(f"{name}/Transpose"), "Transpose", (made,), (out,), {"perm": _TO_LAST}
        )
        editor.replace(last, node)
    fused = Node(
        name,
        PREPROCESS,
        (chain.frame,),
        (made,),
        {"preprocessing": chain.made},
        origin=origins(*nodes),
    )
    editor.replace(first, fused)


def run(graph: Graph) -> Graph:
    """Each frame with all that only its pixels go through.  Not where results are to be TensorFlow
    Lite's, in whose order each operator rounds."""
    if graph.requantise != EXACT:
        return graph
    editor = Editor(graph)
    for position in list(editor):
        chain = _begun(position, editor) if editor.nodes[position] is not None else None
        while chain and _grow(chain, editor):
            pass
        if chain and chain.computes:
            _replace(chain, editor)
    return editor.finish()


PASS = Pass(
    run=run,
    requires="a Dequantise of an input of uint8, (1, rows, columns, up to three channels), that "
    "alone reads it, and behind it Transpose, Affine, Pad, Resize or Binary with constants per "
    "channel, each alone reading the one before",
    ensures="they are one Preprocess",
    after=("binary_to_affine",),
)

"""Dilated convolutions, which TensorFlow spells as blocks that are images of their own:

    SPACE_TO_BATCH_ND, CONV_2D or DEPTHWISE_CONV_2D of stride 1, BATCH_TO_SPACE_ND

Output i of the convolution of every block-th row, padded in front by p, reads rows i - p + k block:
it is a convolution dilated by the block.  Convolutions along one dimension have a view as an image
in front of them and one back behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgeconv.model.frontend.tflite.batches import blocks_and_pairs
from edgeconv.model.frontend.tflite.elements import alike
from edgeconv.model.frontend.tflite.windows import PADDINGS, PADS
from edgeconv.model.frontend.tflite.writing import UnsupportedError, Writing
from edgeconv.model.tflite import Model, Operator, Options, Tensor

_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
_VIEWS = ("EXPAND_DIMS", "RESHAPE", "SQUEEZE")


def dilated(out: Writing) -> Model:
    """The model that ``out`` writes, such three as one dilated convolution."""
    model = out.model
    readers: dict[int, list[int]] = {}
    for position, operator in enumerate(model.operators):
        for place in operator.inputs:
            readers.setdefault(place, []).append(position)
    made = {position: [operator] for position, operator in enumerate(model.operators)}
    for first, operator in enumerate(model.operators):
        chain = _chain(model, readers, first) if operator.kind == "SPACE_TO_BATCH_ND" else None
        if chain is None:
            continue
        fold = _folded(out, [model.operators[position] for position in chain])
        if fold is not None:
            model = replace(model, tensors=(*model.tensors, *fold.tensors))
            made |= {position: [] for position in chain} | {chain[-1]: fold.operators}
            out = Writing(model, *out.source)
    return replace(model, operators=tuple(each for row in made.values() for each in row))


@dataclass(frozen=True, slots=True)
class _Fold:
    """What takes the place of a chain; ``tensors`` are added to those of the model."""

    operators: list[Operator]
    tensors: tuple[Tensor, ...] = ()


def _chain(model: Model, readers: Mapping[int, Sequence[int]], first: int) -> list[int] | None:
    """Positions of the operators from one into blocks to the one back, each the only reader of what
    is in front of it; None where they are others."""
    chain = [first]
    kinds = ["SPACE_TO_BATCH_ND"]
    while kinds[-1] != "BATCH_TO_SPACE_ND":
        operator = model.operators[chain[-1]]
        behind = readers.get(operator.outputs[0], []) if len(operator.outputs) == 1 else []
        if len(behind) != 1 or operator.outputs[0] in model.outputs:
            return None
        after = model.operators[behind[0]]
        if after.inputs[0] != operator.outputs[0]:
            return None
        chain.append(behind[0])
        kinds.append(after.kind)
        if len(kinds) > 5:
            return None
    inner = kinds[1:-1]
    views = len(inner) == 3 and inner[0] in _VIEWS and inner[2] in _VIEWS
    known = inner[1:2] if views else inner
    return chain if len(known) == 1 and known[0] in _CONVOLUTIONS else None


def _folded(out: Writing, chain: Sequence[Operator]) -> _Fold | None:
    """What takes the place of ``chain``; None where it is no dilated convolution."""
    first, last, conv, tensors = chain[0], chain[-1], chain[len(chain) // 2], out.model.tensors
    x, y = tensors[first.inputs[0]], tensors[last.outputs[0]]
    constants = [*first.inputs[1:3], *last.inputs[1:3], conv.inputs[1]]
    if any(tensors[place].data is None for place in constants) or x.free - {0}:
        return None
    inside = [tensors[place] for place in (first.outputs[0], conv.inputs[0])]
    behind = [tensors[place] for place in (conv.outputs[0], last.inputs[0])]
    if not all(alike(x, each) for each in inside) or not all(alike(y, each) for each in behind):
        return None
    try:
        block, pads = blocks_and_pairs(out, first, "padding")
        other, cuts = blocks_and_pairs(out, last, "crops")
    except UnsupportedError:
        return None
    axes = _axes(len(block), [each.shape for each in (*inside, *behind)])
    if block != other or axes is None:
        return None
    each = {axis: row for axis, *row in zip(axes, block, pads, cuts, strict=True)}
    options = _options(conv, tensors[conv.inputs[1]], each)
    if options is None:
        return None
    folded = replace(conv, options=options)
    if len(x.shape) == 4:
        inputs = (first.inputs[0], *conv.inputs[1:])
        return _Fold([replace(folded, inputs=inputs, outputs=last.outputs)])
    images = [_image(out, tensor, axes[0]) for tensor in (x, y)]
    here = len(tensors)
    inputs, view = (here, *conv.inputs[1:]), Operator("RESHAPE", False, (), (), {}, None)
    return _Fold(
        [
            replace(view, inputs=first.inputs[:1], outputs=(here,), options=_to(images[0])),
            replace(folded, inputs=inputs, outputs=(here + 1,)),
            replace(view, inputs=(here + 1,), outputs=last.outputs, options=_to(y)),
        ],
        tuple(images),
    )


def _image(out: Writing, tensor: Tensor, axis: int) -> Tensor:
    batch, size, channels = tensor.shape
    shape = (batch, size, 1, channels) if axis == 0 else (batch, 1, size, channels)
    return replace(tensor, shape=shape, name=out.fresh("image", tensor.name))


def _to(tensor: Tensor) -> Options:
    """Options of the view of a tensor; a batch that is free stays so."""
    return {"new_shape": (-1 if tensor.free else tensor.shape[0], *tensor.shape[1:])}


def _options(
    conv: Operator,
    filters: Tensor,
    blocks: Mapping[int, Sequence[Any]],
) -> Options | None:
    """Options of the dilated convolution.  ``blocks``: the size of blocks along rows (0) and
    columns (1), what is padded and what is cut."""
    options = dict(conv.options)
    plain = all(options[f"{name}_{axis}"] == 1 for name in ("stride", "dilation") for axis in "hw")
    if not plain or not 0 <= options["padding"] < len(PADDINGS):
        return None
    ends: list[tuple[int, int]] = []
    for axis, taps in enumerate(filters.shape[1:3]):
        around = (0, 0)
        if PADDINGS[options["padding"]] == "SAME":
            around = ((taps - 1) // 2, taps // 2)
        edge, pad, cut = blocks.get(axis, (1, (0, 0), (0, 0)))
        ends.append((pad[0] + edge * around[0] - cut[0], pad[1] + edge * around[1] - cut[1]))
        options[f"dilation_{'hw'[axis]}"] = edge
    if min(map(min, ends)) < 0:
        return None
    options[PADS] = [*(begin for begin, _ in ends), *(end for _, end in ends)]
    return options


def _axes(count: int, shapes: Sequence[Sequence[int]]) -> list[int] | None:
    """Which of rows (0) and columns (1) have blocks; None where that is not told.  ``shapes``: of
    what is in blocks, and of the same as the convolution reads it; of its result, and of that as
    it is brought back."""
    given, image, result, back = map(tuple, shapes)
    if len(given) == len(image) == 4:
        return list(range(count)) if count <= 2 and result == back and given == image else None
    if (len(given), len(image), len(back), count) != (3, 4, 3, 1):
        return None
    for axis, place in ((0, 2), (1, 1)):
        views = ((*each[:place], 1, *each[place:]) for each in (given, back))
        if tuple(views) == (image, result) and given[1] > 1:
            return [axis]
    return None

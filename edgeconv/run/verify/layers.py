"""Find the first layer whose result differs from the reference's tensor of the same name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.layout import Layout
from edgeconv.ir.step import Columns, Divides, Rows, calls, patches_of
from edgeconv.kernels.storage import format_called
from edgeconv.run.verify.compare import Difference, assumed_spacing, compare

Steps = Sequence[Mapping[str, Any]]  # those of a report


class Unread(NamedTuple):
    """Rows and columns of a result that no layer reads."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LayerResult:
    """One layer of the traced program.

    ``difference`` is None when the original model has no tensor to compare with, because the
    layer's result exists only after rewriting; ``skipped`` then says so.
    """

    name: str
    op: str
    difference: Difference | None
    skipped: str = ""


def tensors_of(layers: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names under which the original model may know the layers' results."""
    return tuple(dict.fromkeys(original_name(layer) for layer in layers))


def original_name(layer: Mapping[str, Any]) -> str:
    """The ONNX name of a layer's result: its copies in another layout end in ``:<layout>``."""
    name = str(layer["output"])
    return name.rstrip("'").removesuffix(f":{layer['layout_out']}")


def compare_layers(
    layers: Sequence[Mapping[str, Any]],
    trace: Path,
    reference: Mapping[str, npt.NDArray[np.generic]],
    *,
    steps: Steps = (),
    quantised: bool = False,
) -> list[LayerResult]:
    """Compare every layer's bytes in ``trace`` (execution order) with ``reference``, by ONNX name.

    ``steps``: those of the report.  ``quantised``: the network rounds activations; then layers may
    differ by the spacing of the grid.

    Raises EdgeconvError when the trace does not have the length that the layers state.
    """
    results = []
    left = unread(steps)
    for number, memory in enumerate(pieces(layers, trace, steps)):
        layer = layers[number]
        shape = tuple(layer["output_shape"])
        wanted = reference.get(original_name(layer))
        if wanted is None:
            skipped = "fused"
        elif wanted.shape != shape:
            skipped = "reshaped"
        else:
            got = Layout.parse(layer["layout_out"]).unpack(memory, shape)
            got = with_unread(got, wanted, left.get(number))
            spacing = layer.get("step") or (assumed_spacing(wanted) if quantised else 0.0)
            difference = compare(layer["output"], got, wanted, spacing)
            results.append(LayerResult(layer["name"], layer["op"], difference))
            continue
        results.append(LayerResult(layer["name"], layer["op"], None, skipped))
    return results


def nearer(
    results: Iterable[LayerResult], others: Iterable[LayerResult], tolerance: float
) -> list[LayerResult]:
    """``results``, and ``others`` in place of those that are beyond ``tolerance`` while these are
    not: the same layers, compared with another reference."""

    def within(result: LayerResult) -> bool:
        return result.difference is not None and result.difference.within(tolerance)

    pairs = zip(results, others, strict=True)
    return [other if within(other) and not within(one) else one for one, other in pairs]


def first_difference(results: Iterable[LayerResult], tolerance: float) -> LayerResult | None:
    """The first layer beyond ``tolerance``."""
    return next(
        (r for r in results if r.difference and not r.difference.within(tolerance)),
        None,
    )


def unread(steps: Steps) -> dict[int, Unread]:
    """By layer's number the rows and columns of its result that no layer reads, where it streams
    rows: they are not computed, and `pieces` has zeros in their place."""
    found = {}
    for step in steps:
        rows: dict[int, set[int]] = defaultdict(set)
        columns: dict[int, set[int]] = defaultdict(set)
        for patch, (number, row0, row1) in _calls(step):
            rows[number].update(range(row0, row1))
            columns[number].update(range(*patch[number]) if patch else ())
        for number, of in enumerate(step["layers"][:-1]):
            width = of["columns"]["rows"] if columns[number] else 0
            left = Unread(
                tuple(sorted({*range(of["rows"])} - rows[number])),
                tuple(sorted({*range(width)} - columns[number])),
            )
            if any(left):
                found[of["layer"]] = left
    return found


def with_unread(
    got: npt.NDArray[Any], wanted: npt.NDArray[Any], left: Unread | None
) -> npt.NDArray[Any]:
    """``got`` with those rows and columns of ``wanted``: what nobody computes is right."""
    if left is None:
        return got
    filled = got.copy()
    filled[..., list(left.rows), :] = wanted[..., list(left.rows), :]
    filled[..., list(left.columns)] = wanted[..., list(left.columns)]
    return filled


def pieces(
    layers: Sequence[Mapping[str, Any]], trace: Path, steps: Steps = ()
) -> Iterator[npt.NDArray[Any]]:
    """The physical elements of each layer's result, one at a time.

    Of layers that stream rows (``steps``) the trace has what memory held of the results between
    them after each call, from which these are put together.  Raises EdgeconvError when it does not
    have the length that the layers state.
    """
    streamed = {step["layers"][0]["layer"]: step for step in steps}
    inside = {each["layer"]: step for step in steps for each in step["layers"]}
    expected = sum(layer["output_bytes"] for i, layer in enumerate(layers) if i not in inside)
    for step in steps:
        *between, last = (layers[each["layer"]]["output_bytes"] for each in step["layers"])
        made = [call.number for _, call in _calls(step) if call.number < len(between)]
        expected += last + sum(between[number] for number in made)
    size = trace.stat().st_size
    if size != expected:
        raise EdgeconvError(
            "layer trace has a wrong length",
            where=str(trace),
            got=f"{size} bytes",
            rule=f"the layers have {expected}",
            hint="compile the model again",
        )
    with trace.open("rb") as stream:
        for number, layer in enumerate(layers):
            if number in streamed:
                yield from _put_together(streamed[number], layers, stream)
            elif number not in inside:
                yield _elements(layer, stream)


def _elements(layer: Mapping[str, Any], stream: BinaryIO) -> npt.NDArray[Any]:
    """What memory has held of a layer's result."""
    stored, data = layer["storage"]["output"], stream.read(layer["output_bytes"])
    dtype = layer.get("output_dtype")
    if dtype not in (None, FLOAT32):
        return np.frombuffer(data, array_type(dtype).newbyteorder("<"))
    return format_called(stored).decode(data).astype(np.float32, copy=False)


def _calls(step: Mapping[str, Any]) -> Iterator[tuple[Sequence[Columns], Rows]]:
    """The calls of a step, each with the columns that it computes of the layers of its patch; none
    where it computes all."""
    each = step["layers"]
    divides = [_divides(of) for of in each]
    patches = patches_of(divides, step["patches"]) if "patches" in step else [()]
    for patch in patches:
        for call in calls(divides, [of["ring"] for of in each[:-1]], step["stream_rows"]):
            yield patch, call


def _divides(of: Mapping[str, Any]) -> Divides:
    columns = _divides(of["columns"]) if "columns" in of else None
    wired = {"source": of.get("source", 1), "added": of.get("added", 0)}
    return Divides(of["rows"], of["reach"], of["stride"], of["pad"], columns, **wired)


def _put_together(
    step: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], stream: BinaryIO
) -> Iterator[npt.NDArray[Any]]:
    """The results of a step, whole, from what memory held after each call."""
    own = [layers[each["layer"]] for each in step["layers"]]
    between = [np.zeros(layer["output_shape"], np.float32) for layer in own[:-1]]
    for patch, (number, row0, row1) in _calls(step):
        if number < len(between):
            of, whole = step["layers"][number], between[number]
            layout, width = Layout.parse(own[number]["layout_out"]), whole.shape[-1]
            begin, end = patch[number] if patch else (0, width)
            pitch = of["columns"]["ring"] if patch else width
            shape = (*whole.shape[:-2], of["ring"], pitch)
            held = layout.unpack(_elements(own[number], stream), shape)
            for row in range(row0, row1):
                whole[..., row, begin:end] = held[..., row % of["ring"], : end - begin]
    for whole, layer in zip(between, own, strict=False):
        yield Layout.parse(layer["layout_out"]).pack(whole).reshape(-1).astype(np.float32)
    yield _elements(own[-1], stream)

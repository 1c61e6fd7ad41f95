"""Find the first layer whose result differs from the reference's tensor of the same name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.layout import Layout
from edgeconv.ir.step import Divides, Rows, calls
from edgeconv.kernels.storage import format_called
from edgeconv.run.verify.compare import Difference, assumed_spacing, compare

Steps = Sequence[Mapping[str, Any]]  # those of a report


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
    unread = unread_rows(steps)
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
            got = with_rows(got, wanted, unread.get(number, ()))
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


def unread_rows(steps: Steps) -> dict[int, tuple[int, ...]]:
    """By layer's number the rows of its result that no layer reads, where it streams rows: they are
    not computed, and `pieces` has zeros in their place."""
    found = {}
    for step in steps:
        made: dict[int, set[int]] = defaultdict(set)
        for number, row0, row1 in _calls(step):
            made[number].update(range(row0, row1))
        for number, of in enumerate(step["layers"][:-1]):
            if rows := sorted({*range(of["rows"])} - made[number]):
                found[of["layer"]] = tuple(rows)
    return found


def with_rows(
    got: npt.NDArray[Any], wanted: npt.NDArray[Any], rows: Sequence[int]
) -> npt.NDArray[Any]:
    """``got`` with the ``rows`` of ``wanted``: those that nobody computes are right."""
    if not rows:
        return got
    filled = got.copy()
    filled[..., list(rows), :] = wanted[..., list(rows), :]
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
        made = [call.number for call in _calls(step) if call.number < len(between)]
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


def _calls(step: Mapping[str, Any]) -> Iterator[Rows]:
    each = step["layers"]
    divides = [Divides(of["rows"], of["reach"], of["stride"], of["pad"]) for of in each]
    return calls(divides, [of["ring"] for of in each[:-1]], step["stream_rows"])


def _put_together(
    step: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], stream: BinaryIO
) -> Iterator[npt.NDArray[Any]]:
    """The results of a step, whole, from what memory held after each call."""
    own = [layers[each["layer"]] for each in step["layers"]]
    between = [np.zeros(layer["output_shape"], np.float32) for layer in own[:-1]]
    for number, row0, row1 in _calls(step):
        if number < len(between):
            ring, whole = step["layers"][number]["ring"], between[number]
            layout = Layout.parse(own[number]["layout_out"])
            shape = (*whole.shape[:-2], ring, whole.shape[-1])
            held = layout.unpack(_elements(own[number], stream), shape)
            for row in range(row0, row1):
                whole[..., row, :] = held[..., row % ring, :]
    for whole, layer in zip(between, own, strict=False):
        yield Layout.parse(layer["layout_out"]).pack(whole).reshape(-1).astype(np.float32)
    yield _elements(own[-1], stream)

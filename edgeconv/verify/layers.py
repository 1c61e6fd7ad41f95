"""Find the first layer whose result differs from the reference's tensor of the same name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.errors import EdgeconvError
from edgeconv.ir.layout import Layout
from edgeconv.ir.quantisation import INTEGERS
from edgeconv.storage import format_called
from edgeconv.verify.compare import Difference, assumed_step, compare


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
    quantised: bool = False,
) -> list[LayerResult]:
    """Compare every layer's bytes in ``trace`` (execution order) with ``reference``, by ONNX name.

    ``quantised``: the network rounds activations; then layers may differ by a step.

    Raises EdgeconvError when the trace does not have the length that the layers state.
    """
    results = []
    for layer, memory in zip(layers, pieces(layers, trace), strict=True):
        shape = tuple(layer["output_shape"])
        wanted = reference.get(original_name(layer))
        if wanted is None:
            skipped = "fused"
        elif wanted.shape != shape:
            skipped = "reshaped"
        else:
            got = Layout.parse(layer["layout_out"]).unpack(memory, shape).astype(np.float32)
            step = layer.get("step") or (assumed_step(wanted) if quantised else 0.0)
            difference = compare(layer["output"], got, wanted, step)
            results.append(LayerResult(layer["name"], layer["op"], difference))
            continue
        results.append(LayerResult(layer["name"], layer["op"], None, skipped))
    return results


def first_difference(results: Iterable[LayerResult], tolerance: float) -> LayerResult | None:
    """The first layer beyond ``tolerance``."""
    return next(
        (r for r in results if r.difference and not r.difference.within(tolerance)),
        None,
    )


def pieces(layers: Sequence[Mapping[str, Any]], trace: Path) -> Iterator[npt.NDArray[np.float32]]:
    """The physical elements of each layer's result, one at a time."""
    expected, size = sum(layer["output_bytes"] for layer in layers), trace.stat().st_size
    if size != expected:
        raise EdgeconvError(
            "layer trace has a wrong length",
            where=str(trace),
            got=f"{size} bytes",
            rule=f"the layers have {expected}",
            hint="compile the model again",
        )
    with trace.open("rb") as stream:
        for layer in layers:
            stored, data = layer["storage"]["output"], stream.read(layer["output_bytes"])
            dtype = layer.get("output_dtype")
            if dtype in INTEGERS:
                yield np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(np.float32)
            else:
                yield format_called(stored).decode(data).astype(np.float32, copy=False)

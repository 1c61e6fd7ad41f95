"""A graph run by ONNX Runtime on this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.base.mapped_file import maps_behind, release_pages
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph
from edgeconv.model.frontend.engine_process import session_options
from edgeconv.model.frontend.saving import model_of

Values = npt.NDArray[Any]
Run = Callable[..., dict[str, Values]]
_IN_MODEL = 1 << 24  # bytes of filters; ONNX Runtime holds what is in a model several times


class EngineRefusesError(EdgeconvError):
    """ONNX Runtime is here and does not run the network: one of more than 2 GB, for instance."""


def has_runtime() -> bool:
    """Whether ONNX Runtime is installed: it is optional."""
    return importlib.util.find_spec("onnxruntime") is not None


def prepared(graph: Graph) -> Run:
    """What makes the graph's outputs, by name, of its inputs, or those of ``names``; it is read
    once.

    The filters of large networks are not copied: see `_outside`.
    Raises EdgeconvError: ONNX Runtime is not installed (exit status 3); EngineRefusesError.
    """
    if not has_runtime():
        raise EdgeconvError(
            "the network cannot be run here",
            rule="ONNX Runtime is not installed",
            hint="pip install 'edgeconv[verify]'",
            code=Exit.MISSING_TOOL,
        )
    import onnxruntime  # noqa: PLC0415 - optional

    options = session_options()
    outside = _outside(graph)
    maps = maps_behind(outside.values())
    try:
        data = model_of(_reading(graph, outside)).SerializeToString()
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # engines raise types of their own; protobuf beyond 2 GB
        got = " ".join(str(error).split()).rstrip(".")
        raise EngineRefusesError(
            "ONNX Runtime refuses the network", where=graph.name, got=got
        ) from error

    def run(feeds: Mapping[str, Values], names: Sequence[str] = graph.outputs) -> dict[str, Values]:
        given = {name: np.ascontiguousarray(value) for name, value in feeds.items()} | outside
        found = session.run(list(names), given)
        release_pages(maps)
        return dict(zip(names, found, strict=True))

    return run


def _outside(graph: Graph) -> dict[str, Values]:
    """The largest filters, as many as leave `_IN_MODEL` bytes of them in the model: ONNX Runtime
    reads what is given with each run where it lies, and copies what a model holds to serialise it,
    to read it and to arrange it for its kernels."""
    filters = {node.inputs[1]: node for node in graph.nodes if node.op in WEIGHTED}
    elsewhere = {name for n in graph.nodes for i, name in enumerate(n.reads()) if i != 1}
    elsewhere |= {*graph.inputs, *graph.outputs}
    sizes = sorted(
        (graph[name].constant().nbytes, name)
        for name, node in filters.items()
        if graph[name].is_constant and name not in elsewhere and not node.storage.scale
    )
    total, found = sum(size for size, _ in sizes), dict[str, Values]()
    while total > _IN_MODEL:
        size, name = sizes.pop()
        found[name] = np.ascontiguousarray(graph[name].constant())
        total -= size
    return found


def _reading(graph: Graph, names: Mapping[str, Values]) -> Graph:
    """``graph`` with the constants ``names`` as inputs."""
    tensors = {name: replace(graph[name], data=None) for name in names}
    return replace(graph, tensors={**graph.tensors, **tensors}, inputs=(*graph.inputs, *tensors))

"""A graph run by ONNX Runtime on this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.graph import Graph
from edgeconv.model.frontend.saving import model_of

Values = npt.NDArray[Any]
Run = Callable[[Mapping[str, Values]], dict[str, Values]]


class EngineRefusesError(EdgeconvError):
    """ONNX Runtime is here and does not run the network: one of more than 2 GB, for instance."""


def has_runtime() -> bool:
    """Whether ONNX Runtime is installed: it is optional."""
    return importlib.util.find_spec("onnxruntime") is not None


def prepared(graph: Graph) -> Run:
    """What makes the graph's outputs, by name, of its inputs; it is read once.

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

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what it raises is said by who catches it
    try:
        data = model_of(graph).SerializeToString()
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # engines raise types of their own; protobuf beyond 2 GB
        got = " ".join(str(error).split()).rstrip(".")
        raise EngineRefusesError(
            "ONNX Runtime refuses the network", where=graph.name, got=got
        ) from error
    names = list(graph.outputs)

    def run(feeds: Mapping[str, Values]) -> dict[str, Values]:
        given = {name: np.ascontiguousarray(value) for name, value in feeds.items()}
        return dict(zip(names, session.run(names, given), strict=True))

    return run

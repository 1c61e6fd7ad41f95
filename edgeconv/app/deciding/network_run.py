"""A network run while it is decided about: by ONNX Runtime, or compiled for this machine where that
is not installed or refuses the network.  Decisions are the same: both compute in float32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from edgeconv.base.closing import Closing
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.graph import Graph
from edgeconv.model.frontend.running import EngineRefusesError, Run, has_runtime, prepared
from edgeconv.search.calibration.engine import Engine

Array = npt.NDArray[Any]


class NetworkRun(Closing):
    """``graph``, read or built once.

    Raises EdgeconvError where neither engine runs it: there is no ONNX Runtime, or it refuses, and
    no compiler (exit status 3), or the network cannot be built.
    """

    def __init__(self, graph: Graph, progress: Progress = no_progress) -> None:
        self._engine: Engine | None = None
        self._run: Run
        if has_runtime():
            try:
                self._run = prepared(graph)
                return
            except EngineRefusesError:
                pass
        self._engine = Engine(graph, progress)
        self._run = self._engine.run

    def __call__(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The graph's outputs, by name."""
        return dict(self._run(feeds))

    def close(self) -> None:
        """Let go of the program."""
        if self._engine:
            self._engine.close()

"""What runs a network on samples, with other weights, rounded activations and every tensor to look
at: compiled (`engine.Engine`) or in numpy (`interpreter.Interpreter`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation
from edgeconv.ir.filters import Filters
from edgeconv.ir.graph import Graph, Node

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Rounding = str | Activation  # of a tensor: the name of a storage format, or a grid


class InferenceEngine(Protocol):
    """A float32 network that can be run.  ``layers``: those with filters, by name."""

    graph: Graph
    layers: dict[str, Node]

    @property
    def tensors(self) -> tuple[str, ...]:
        """The run-time tensors of the graph that can be captured, inputs and outputs included."""

    @property
    def macs(self) -> int:
        """Multiply-adds of one run."""

    def parameters(self, layer: str) -> Filters:
        """A layer's own filters and bias (zeros where it has none)."""

    def adopt(self, layers: Mapping[str, Filters]) -> None:
        """Compute with ``layers`` (by name) from now on as with the network's own."""

    def run(
        self,
        inputs: Mapping[str, Array],
        *,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
        capture: Iterable[str] = (),
    ) -> dict[str, Floats]:
        """The graph outputs by name, and the tensors of ``capture``, in their logical shapes.

        ``inputs``: one array per graph input.  ``parameters``: layers that compute with other
        weights and biases than their own, in float32 whatever format they name.
        ``activations``: tensors that are rounded once they are written.
        """

    def run_each(
        self,
        samples: Iterable[Mapping[str, Array]],
        *,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
        capture: Iterable[str] = (),
    ) -> Iterator[dict[str, Floats]]:
        """`run` of each sample in turn."""

    def close(self) -> None:
        """Let go of what it holds."""

"""What there is to measure: every kernel call that the choice asks the price of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from edgeconv.ir.choice import Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Node, Tensor
from edgeconv.search.measured import described, kernel_key
from edgeconv.target.price.measured import Measured

Genes = Mapping[str, str | float]


@dataclass(frozen=True)
class Job:
    """What has to be known of a kernel call to time it, wherever that is done.

    ``kernel`` identifies it, ``node`` and ``tensors`` are what it is lowered from.  ``workload``:
    what it computes, whatever the way.  ``predicted``: seconds."""

    kernel: str
    workload: str
    predicted: float
    node: Node = field(compare=False, repr=False)
    tensors: Mapping[str, Tensor] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Candidate(Job):
    """A kernel call that the choice asked the price of; ``text`` says how it computes."""

    text: str
    layer: Layer = field(compare=False, repr=False)

    @property
    def genes(self) -> Genes:
        """Algorithm, layouts, and the numbers of its plan."""
        names = [name for name in (*self.node.reads(), *self.node.outputs) if name]
        layouts = {
            f"layout {i}": str(self.tensors[name].layout)
            for i, name in enumerate(names)
            if not self.tensors[name].is_constant
        }
        plan = {
            key: value
            for key, value in self.layer.plan.items()
            if isinstance(value, int | float | str)
        }
        return {"algorithm": self.layer.algorithm, **layouts, **plan}

    @property
    def bytes(self) -> int:
        """Bytes of its tensors and constants, layout padding aside."""
        sizes = (tensor.elements * 4 for tensor in self.tensors.values() if tensor.data is None)
        return sum(sizes) + sum(blob.bytes for blob in self.layer.blobs)


class Recorder:
    """Stands where measured times are asked for: notes who asks, and answers from ``times``."""

    def __init__(self, times: Measured | None = None, *, integers: bool = True) -> None:
        """``integers``: they are rounded as candidates are that are timed alone: to nearest."""
        self._times, self._integers = times, integers
        self.seen: dict[str, Candidate] = {}
        self.left_out: dict[str, str] = {}  # kernel -> why

    def __call__(
        self, layer: Layer, tensors: Mapping[str, Tensor], predicted: float
    ) -> float | None:
        """As `price.measured.Measured`."""
        kernel = kernel_key(layer)
        if kernel not in self.seen and kernel not in self.left_out:
            if why := self._not_alone(tensors):
                self.left_out[kernel] = why
            else:
                workload, text = described(layer, tensors)
                node = layer.node
                self.seen[kernel] = Candidate(
                    kernel, workload, predicted, node, dict(tensors), text, layer
                )
        return self._times(layer, tensors, predicted) if self._times else None

    def by_workload(self) -> dict[str, list[Candidate]]:
        """The predicted shortest first."""
        found: defaultdict[str, list[Candidate]] = defaultdict(list)
        for candidate in sorted(self.seen.values(), key=lambda each: each.predicted):
            found[candidate.workload].append(candidate)
        return dict(found)

    def _not_alone(self, tensors: Mapping[str, Tensor]) -> str:
        """Why a kernel call cannot be a program of its own; "" where it can."""
        for tensor in tensors.values():
            if tensor.is_constant:
                continue
            if tensor.storage != FLOAT32 and not tensor.storage.scale:
                return "tensors in other formats than float32 and integers between layers"
            if tensor.storage.scale and not self._integers:
                return "integers that are rounded otherwise than to nearest"
            if tensor.ring:
                return "rows that are held in turn"
        return ""

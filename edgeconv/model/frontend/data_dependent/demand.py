"""How much of what a node finds is read at all: detectors suppress thousands of boxes and take the
first hundreds of those that are left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

import onnx
from onnx import helper

from edgeconv.model.frontend.schedule import reads
from edgeconv.model.frontend.weights import Values

_SAME = frozenset({"Cast", "Identity"})
_STANDARD = ("", "ai.onnx")


class Demand:
    """How much is read of the values of one model.  ``constant``: of a value that is known,
    ``array``: of a tensor of the model."""

    def __init__(
        self,
        constant: Callable[[str], Values | None],
        array: Callable[[onnx.TensorProto], Values],
    ) -> None:
        self._constant, self._array = constant, array
        self._readers: defaultdict[str, list[onnx.NodeProto]] = defaultdict(list)
        self._tensors: dict[str, onnx.TensorProto] = {}
        self._names: dict[str, str] = {}  # results of a branch -> of the If that has them
        self._whole: set[str] = set()  # read otherwise than by inputs of nodes

    def note(self, nodes: Iterable[onnx.NodeProto], outputs: Collection[str]) -> None:
        """Look at nodes before any of them is imported; ``outputs`` are read as a whole."""
        self._whole.update(outputs)
        for node in nodes:
            for name in node.input:
                self._readers[name].append(node)
            self._whole.update(name for name in reads(node) if name not in node.input)
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value":
                    self._tensors[node.output[0]] = attribute.t

    def note_results(self, results: Sequence[str], names: Sequence[str]) -> None:
        """What a branch makes is called ``names`` outside of it."""
        for result, name in zip(results, names, strict=True):
            if self._names.setdefault(result, name) != name:
                self._whole.add(result)

    def rows(self, name: str) -> int | None:
        """So many along the first dimension, from the first on; None: all."""
        readers = self._readers.get(name, ())
        if name in self._whole or not (readers or name in self._names):
            return None
        found = [self._of(node, name) for node in readers]
        if name in self._names:
            found.append(self.rows(self._names[name]))
        known = [each for each in found if each is not None]
        return max(known) if len(known) == len(found) else None

    def _of(self, node: onnx.NodeProto, name: str) -> int | None:
        """What one reader asks for."""
        others = list(node.input[1:])
        if node.domain not in _STANDARD or name in others:
            return None
        attrs = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Slice":
            return self._of_slice(node)
        axes = self._numbers(others[0]) if others else attrs.get("axes")
        behind = node.op_type == "Squeeze" and axes is not None and list(axes) in ([1], [-1])
        behind |= node.op_type == "Gather" and attrs.get("axis", 0) == 1
        return self.rows(node.output[0]) if behind or node.op_type in _SAME else None

    def _of_slice(self, node: onnx.NodeProto) -> int | None:
        bounds = [self._numbers(name) for name in node.input[1:]]
        first, *_ = wanted = [[0], None, [0], [1]]
        if len(bounds) < 2 or bounds[1] is None or len(bounds[1]) != 1 or bounds[0] != first:
            return None
        if any(have != want for have, want in zip(bounds[2:], wanted[2:], strict=False)):
            return None
        return bounds[1][0] if bounds[1][0] >= 0 else None

    def _numbers(self, name: str) -> list[int] | None:
        value = self._constant(name)
        if value is None and name in self._tensors:
            value = self._array(self._tensors[name])
        return None if value is None else [int(each) for each in value.reshape(-1)]

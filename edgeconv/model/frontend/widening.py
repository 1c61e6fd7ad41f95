"""Real numbers of other types than float32: nodes compute them in float32.

Values that are read are converted once, and results where something reads them as what the model
says they are: a chain of float16 operators is computed in float32 throughout, as ONNX Runtime does.
Filters that a DequantizeLinear of constants makes are the first of such a chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnx

from edgeconv.ir.element_types import FLOAT32, FLOAT64, WIDENED
from edgeconv.ir.graph import Node
from edgeconv.kernels.ops import computes_doubles
from edgeconv.kernels.ops.elementwise import COPY, OVERFLOWING
from edgeconv.model.frontend.values import Values

_CONVERSIONS = frozenset({"Cast", "CastLike"})
_SAME_BITS = "BitCast"
_ROUNDING = "QuantizeLinear"


@dataclass(frozen=True, slots=True)
class Widened:
    """A node in float32.  ``node``: what is to be imported.  ``before``: what makes its inputs.
    ``results``: of outputs that are no float32, the float32 that it makes instead.  ``function``:
    what makes them of it; ``rounds``: that is what the node is there for, so that others read what
    was rounded."""

    node: onnx.NodeProto
    before: Sequence[Node]
    results: Mapping[str, str] = field(default_factory=dict)
    function: str = COPY
    rounds: bool = False


class Widening:
    """Brings nodes to float32.  ``values``: those of the model; what is added to them keeps their
    names in front."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._wide: dict[str, str] = {}  # value -> the same in float32

    def of(self, node: onnx.NodeProto, wanted: Sequence[str]) -> Widened:
        """``node``, whose outputs ``wanted`` are needed, on float32; explicit conversions stay."""
        if node.op_type == _SAME_BITS:
            return Widened(node, ())
        if computes_doubles(node.op_type) and self._reads_doubles(node):
            return Widened(node, ())
        converts = node.op_type in _CONVERSIONS and self._changes_type(node, wanted)
        before: list[Node] = []
        names = dict.fromkeys(filter(None, node.input[:1] if converts else node.input))
        inputs = {name: self._input(name, before, known_only=converts) for name in names}
        results = {} if converts else {name: self._result(name) for name in wanted}
        results = {name: made for name, made in results.items() if made != name}
        if not results and all(name == wide for name, wide in inputs.items()):
            return Widened(node, ())
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        changed.input[:] = [inputs.get(name, name) for name in node.input]
        changed.output[:] = [results.get(name, name) for name in node.output]
        overflows = any(a.name == "saturate" and not a.i for a in node.attribute)
        function = OVERFLOWING if overflows else COPY
        return Widened(changed, before, results, function, node.op_type == _ROUNDING)

    def after(self, widened: Widened) -> list[Node]:
        """What makes the model's own values of its float32 results."""
        self._wide |= {} if widened.rounds else widened.results
        return [
            self._conversion(made, name, widened.function) for name, made in widened.results.items()
        ]

    def _changes_type(self, node: onnx.NodeProto, wanted: Sequence[str]) -> bool:
        """What ONNX's definitions convert to the type that it has is not rounded."""
        tensors = self._values.tensors
        return tensors[node.input[0]].dtype != tensors[wanted[0]].dtype

    def _reads_doubles(self, node: onnx.NodeProto) -> bool:
        """Whether there is something of float64 at run time that was not computed in float32."""
        tensors = [self._values.tensors[name] for name in node.input if name]
        known = {tensor.name for tensor in tensors if tensor.data is not None} | self._wide.keys()
        return any(each.dtype == FLOAT64 and each.name not in known for each in tensors)

    def _input(self, name: str, before: list[Node], *, known_only: bool) -> str:
        tensor = self._values.tensors[name]
        if tensor.dtype not in WIDENED or name in self._wide:
            return self._wide.get(name, name)
        if tensor.data is not None:
            dequantised = self._values.dequantised
            value = dequantised.widened(name, tensor.data)
            self._wide[name] = self._values.add_constant(f"{name}/{FLOAT32}", value)
            dequantised.rename(name, self._wide[name])
        elif not known_only:
            self._wide[name] = self._result(name)
            before.append(self._conversion(name, self._wide[name]))
        return self._wide.get(name, name)

    def _result(self, name: str) -> str:
        """A float32 tensor for the value ``name``; itself where it is none of the types."""
        tensor = self._values.tensors[name]
        if tensor.dtype not in WIDENED:
            return name
        like = replace(tensor, dtype=FLOAT32)
        return self._values.add_tensor(f"{name}/{FLOAT32}", tensor.shape, like)

    def _conversion(self, source: str, target: str, function: str = COPY) -> Node:
        dtype = self._values.tensors[target].dtype
        attrs = {"function": function, "to": dtype}
        return Node(f"{target}/convert", "Elementwise", (source,), (target,), attrs)

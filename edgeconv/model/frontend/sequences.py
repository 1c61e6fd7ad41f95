"""Sequences of tensors whose number is known, and optionals of which it is known whether they hold
something: names, of which no trace is left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from edgeconv.model.frontend.definitions import DEFINED_IN
from edgeconv.model.frontend.values import static_shape
from edgeconv.model.frontend.visit import Scope, Visit
from edgeconv.model.frontend.walking import Walking, shape_of


class _RefusedError(Exception):
    """Why the node is not compiled."""


class Sequences:
    """The sequences and optionals of one model.  ``elements``: by the name of a sequence the names
    of its tensors; ``absent``: optionals that hold nothing.  Others are what they hold.
    ``lengths``: of sequences of which no more is known than that."""

    def __init__(self, walk: Walking) -> None:
        self._walk = walk
        self.elements: dict[str, tuple[str, ...]] = {}
        self.absent: set[str] = set()
        self.lengths: dict[str, int] = {}
        self._ways = {
            "SequenceEmpty": self._keep,
            "SequenceConstruct": self._keep,
            "SequenceInsert": self._insert,
            "SequenceErase": self._erase,
            "SequenceAt": self._at,
            "SequenceLength": self._length,
            "ConcatFromSequence": self._concat,
            "SplitToSequence": self._split,
            "Optional": self._optional,
            "OptionalGetElement": self._held,
            "OptionalHasElement": self._has,
        }

    def take(self, visit: Visit) -> bool:
        """Whether the node of ``visit`` is about sequences: then it is done with, or refused."""
        node = visit.node
        if node.domain not in ("", "ai.onnx"):
            return False
        if node.op_type == "Identity" and node.input[0] in self.names():
            self._carry(visit, node.input[0])
            return True
        way = self._ways.get(node.op_type)
        if way is None:
            return False
        try:
            way(visit)
        except _RefusedError as error:
            self._walk.refuse(visit, str(error))
        return True

    def names(self) -> set[str]:
        """The names of all that is no tensor."""
        return self.absent.union(self.elements, self.lengths)

    def type_of(self, name: str) -> onnx.TypeProto | None:
        """The type of a sequence: its elements may differ in shape, but not in type, not known
        where there are none.  None of tensors."""
        if name not in self.names():
            return None
        kind = onnx.TypeProto()
        inner = kind.sequence_type.elem_type.tensor_type
        for first in self.elements.get(name, ())[:1]:
            known = self._element_type(first)
            inner.elem_type = known.tensor_type.elem_type if known else 0
        inner.SetInParent()
        return kind

    def _element_type(self, name: str) -> onnx.TypeProto | None:
        value = self._walk.constant(name)
        if value is None:
            return self._walk.type_of(name)
        elem = helper.np_dtype_to_tensor_dtype(value.dtype)
        return helper.make_tensor_type_proto(elem, value.shape)

    def _carry(self, visit: Visit, name: str) -> None:
        """Notes the sequence under the name of the node's output."""
        output = visit.node.output[0]
        if name in self.absent:
            self.absent.add(output)
        elif name in self.elements:
            self.elements[output] = self.elements[name]
        else:
            self._write(visit, "Identity", (name,), output)

    def _optional(self, visit: Visit) -> None:
        given = [name for name in visit.node.input if name]
        if given:
            self._carry(visit, given[0])
        else:
            self.absent.add(visit.node.output[0])

    def _held(self, visit: Visit) -> None:
        if visit.node.input[0] in self.absent:
            raise visit.invalid("an optional that holds nothing", "what it holds is asked for")
        self._carry(visit, visit.node.input[0])

    def _has(self, visit: Visit) -> None:
        given = [name for name in visit.node.input if name]
        has = bool(given) and given[0] not in self.absent
        self._walk.define(visit.node.output[0], np.asarray(has))

    def _keep(self, visit: Visit) -> None:
        self.elements[visit.node.output[0]] = tuple(visit.node.input)

    def _insert(self, visit: Visit) -> None:
        held = self._of(visit)
        place = self._place(visit, 2, len(held), most=len(held))
        new = (*held[:place], visit.node.input[1], *held[place:])
        self.elements[visit.node.output[0]] = new

    def _erase(self, visit: Visit) -> None:
        held = self._of(visit)
        place = self._place(visit, 1, len(held) - 1, most=len(held) - 1)
        self.elements[visit.node.output[0]] = (*held[:place], *held[place + 1 :])

    def _at(self, visit: Visit) -> None:
        held = self._of(visit)
        place = self._place(visit, 1, 0, most=len(held) - 1)
        self._write(visit, "Identity", (held[place],), visit.node.output[0])

    def _length(self, visit: Visit) -> None:
        count = self.lengths.get(visit.node.input[0])
        count = len(self._of(visit)) if count is None else count
        self._walk.define(visit.node.output[0], np.asarray(count, np.int64))

    def _concat(self, visit: Visit) -> None:
        held, attrs = self._of(visit), _integers(visit.node)
        axis = attrs.get("axis", 0)
        if not held:
            raise _RefusedError("its sequence is empty")
        if attrs.get("new_axis", 0):
            where = self._walk.add_constant(f"{visit.name}/axes", np.array([axis]))
            held = tuple(self._made(visit, "Unsqueeze", (name, where)) for name in held)
        self._write(visit, "Concat", held, visit.node.output[0], axis=axis)

    def _split(self, visit: Visit) -> None:
        node, attrs = visit.node, _integers(visit.node)
        shape = shape_of(self._walk, node.input[0])
        given = node.input[1] if len(node.input) > 1 else ""
        sizes = self._walk.constant(given) if given else np.asarray(1)
        kind = self._walk.type_of(given) if given else None
        entries = static_shape(kind) if kind is not None else None
        ranks = len(entries or ()), 0 if sizes is None else sizes.ndim
        if max(ranks) > 1 or (sizes is not None and (sizes < 1 - sizes.ndim).any()):
            got = f"split of {max(ranks)} dimensions" if max(ranks) > 1 else f"split {sizes}"
            raise visit.invalid(got, "it is one positive number, or the size of each part")
        if sizes is None and entries:  # as many tensors as there are sizes
            (self.lengths[node.output[0]],) = entries
            return
        if shape is None or sizes is None:
            raise _RefusedError("how it splits is computed at run time")
        axis = attrs.get("axis", 0)
        if not -len(shape) <= axis < len(shape):
            raise visit.invalid(f"axis {axis} of {list(shape)}", "it is an axis of what is split")
        axis %= len(shape)
        if not sizes.ndim:
            each = int(sizes)
            sizes = np.diff([*range(0, shape[axis], each), shape[axis]])
        count = len(sizes)
        parts = [self._walk.fresh(f"{visit.name}/{node.output[0]}/{i}") for i in range(count)]
        where = self._walk.add_constant(f"{visit.name}/split", sizes.astype(np.int64))
        self._run(visit, helper.make_node("Split", [node.input[0], where], parts, axis=axis))
        if not given and not attrs.get("keepdims", 1):
            axes = self._walk.add_constant(f"{visit.name}/axes", np.array([axis]))
            parts = [self._made(visit, "Squeeze", (name, axes)) for name in parts]
        self.elements[node.output[0]] = tuple(parts)

    def _of(self, visit: Visit) -> tuple[str, ...]:
        held = self.elements.get(visit.node.input[0])
        if held is None:
            raise _RefusedError("what its sequence holds is not known")
        return held

    def _place(self, visit: Visit, index: int, default: int, *, most: int) -> int:
        """The place of an element, 0 to ``most``; below zero it counts from the end."""
        given = visit.node.input[index] if len(visit.node.input) > index else ""
        value = self._walk.constant(given) if given else np.asarray(default)
        if value is None:
            raise _RefusedError("its position is computed at run time")
        if value.size != 1:
            got = f"a position of shape {list(value.shape)}"
            raise visit.invalid(got, "a position is one number")
        held = len(self._of(visit))
        place = int(value.reshape(-1)[0])
        place = place + held if place < 0 else place
        if not 0 <= place <= most:
            got = f"position {int(value.reshape(-1)[0])} in a sequence of {held}"
            raise visit.invalid(got, "a position is one of the sequence")
        return place

    def _made(self, visit: Visit, op_type: str, inputs: Sequence[str]) -> str:
        name = self._walk.fresh(f"{visit.name}/{inputs[0]}")
        self._write(visit, op_type, inputs, name)
        return name

    def _write(
        self, visit: Visit, op_type: str, inputs: Sequence[str], output: str, **attrs: int
    ) -> None:
        node = helper.make_node(op_type, [*inputs], [output])
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attrs.items())
        self._run(visit, node)

    def _run(self, visit: Visit, node: onnx.NodeProto) -> None:
        opsets = {**visit.scope.opsets, "": max(visit.scope.opsets.get("", 0), DEFINED_IN)}
        scope = Scope(opsets, visit.scope.origin or visit.name, visit.scope.calls)
        self._walk.run([node], scope, {*node.output, *visit.live})


def _integers(node: onnx.NodeProto) -> dict[str, int]:
    return {a.name: a.i for a in node.attribute}

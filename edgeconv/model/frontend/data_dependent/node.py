"""A node of a model that reads tensors whose size is data-dependent, and what is written in its
place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import onnx
from onnx import TensorProto, helper

from edgeconv.ir.graph import CHECK, Node, Tensor
from edgeconv.ir.layout import Shape
from edgeconv.model.frontend import walking
from edgeconv.model.frontend.data_dependent.sizes import (
    Count,
    Dim,
    Dims,
    Numbers,
    Size,
    Sizes,
    largest,
    most,
    of_count,
    sizes_of,
)
from edgeconv.model.frontend.definitions import DEFINED_IN
from edgeconv.model.frontend.values import static_shape
from edgeconv.model.frontend.visit import Visit


class Walking(walking.Walking, Protocol):
    """What is asked of the walk besides."""

    tensors: dict[str, Tensor]
    nodes: list[Node]

    def stated_shape(self, name: str) -> Shape | None: ...

    def declare(self, name: str, kind: onnx.TypeProto, *, report: bool = True) -> bool: ...


class RefusedError(Exception):
    """Why the node is not compiled."""


def placed(axis: Any, rank: int) -> int:
    """``axis`` of a tensor of ``rank``, counted from the front.  Raises RefusedError where it has
    no such axis."""
    if not -rank <= axis < rank:
        raise RefusedError(f"axis {int(axis)} of {rank} dimensions")
    return int(axis) % rank


@dataclass(frozen=True, slots=True)
class DataDependent:
    """A tensor with data-dependent dimensions.  ``name``: a tensor as large as it may get, of which
    elements behind ``dims`` mean nothing."""

    name: str
    dims: Dims

    @property
    def axis(self) -> int:
        """The dimension that is data-dependent."""
        return next(i for i, dim in enumerate(self.dims) if isinstance(dim, Size))


class Work:
    """The rewriting of one node.  ``data_dependent`` and ``sizes``: what is known of the model's
    values so far; ``made``: tensors that were written before, by what they are of.  ``places``:
    values that are whole numbers from 0 on.  ``limit``: the room that a result of so many elements
    gets; ``note``: takes the name of a node where sizes are compared at run time."""

    def __init__(
        self,
        walk: Walking,
        visit: Visit,
        data_dependent: Mapping[str, DataDependent],
        sizes: Mapping[str, Numbers],
        made: dict[Any, Any],
        places: Collection[str],
        limit: Callable[[Visit, int], int],
        note: Callable[[str], None],
    ) -> None:
        self.walk, self.visit, self.node = walk, visit, visit.node
        self._data_dependent, self._sizes, self.made = data_dependent, sizes, made
        self._places, self._limit, self._note = places, limit, note
        self._replaced: dict[int, str] = {}
        self.called = "counted"  # results, behind the name of the node
        self.attrs = {a.name: helper.get_attribute_value(a) for a in visit.node.attribute}

    @property
    def inputs(self) -> list[str]:
        """By their names in the model; "" for one that is absent."""
        return [*self.node.input]

    def given(self, index: int) -> str:
        """The name of an input, "" where it is absent."""
        return self.node.input[index] if index < len(self.node.input) else ""

    def dims(self, name: str) -> Dims:
        """The dimensions of any value."""
        if name in self._data_dependent:
            return self._data_dependent[name].dims
        if name in self._sizes:
            return self._sizes[name].sizes.shape
        value, kind = self.walk.constant(name), self.walk.type_of(name)
        shape = value.shape if value is not None else static_shape(kind) if kind else None
        if shape is None:
            raise RefusedError(f"the shape of {name} depends on values computed at run time")
        return shape

    def replace(self, at: int, name: str) -> None:
        """Let `add_own` read another tensor."""
        self._replaced[at] = name

    def limit(self, room: int) -> int:
        """The room that the node's result gets, where it finds at most so many elements."""
        return self._limit(self.visit, room)

    def is_place(self, name: str) -> bool:
        """Whether it is whole numbers that are not negative."""
        value = self.walk.constant(name)
        return name in self._places if value is None else bool((value >= 0).all())

    def is_data_dependent(self, name: str) -> bool:
        """Whether a dimension of it is."""
        return name in self._data_dependent

    def known(self, name: str) -> Sizes | None:
        """Whole numbers that are known, or sums of counts; None of other values."""
        if name in self._sizes:
            return self._sizes[name].sizes
        value = self.walk.constant(name) if name else None
        if value is None or value.dtype.kind not in "iu":
            return None
        return sizes_of(value)

    def needed(self, index: int, what: str) -> Sizes:
        """The dimensions of an input."""
        found = self.known(self.given(index))
        if found is None:
            raise RefusedError(f"its {what} are computed at run time")
        return found

    def one(self, index: int, what: str) -> Any:
        """The only one of an input, which is ``what``."""
        found = self.needed(index, what)
        if found.size != 1:
            raise RefusedError(f"its {what} has the shape {list(found.shape)} and is one number")
        return found.reshape(-1)[0]

    def plain(self, name: str) -> str:
        """The tensor that holds a value."""
        if name in self._data_dependent:
            return self._data_dependent[name].name
        if name not in self._sizes:
            return name
        held, dtype = self.held(self._sizes[name].sizes), self._sizes[name].dtype
        elem = helper.np_dtype_to_tensor_dtype(dtype)
        return held if elem == TensorProto.INT64 else self.add("Cast", held, to=elem)

    def dtype(self, name: str) -> np.dtype[Any]:
        """The type of the elements of a tensor."""
        if name in self._sizes:
            return self._sizes[name].dtype
        kind = self.walk.type_of(name)
        if kind is None:
            return np.asarray(self.walk.constant(name)).dtype
        return np.dtype(helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type))

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """A tensor of it."""
        return self.walk.add_constant(f"{self.visit.name}/constant", np.asarray(value, dtype))

    def add(self, op_type: str, *inputs: str, output: str = "", **attrs: Any) -> str:
        """Write a standard node of the newest opset; returns the name of its only result."""
        output = output or self.walk.fresh(f"{self.visit.name}/{self.called}")
        self.add_several(op_type, inputs, (output,), **attrs)
        return output

    def add_several(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: Any
    ) -> None:
        """`add` for a node with several results, of these names."""
        node = helper.make_node(op_type, [*inputs], [*outputs], outputs[0], **attrs)
        opset = max(self.visit.scope.opsets.get("", 0), DEFINED_IN)
        self._run(node, {**self.visit.scope.opsets, "": opset})

    def add_own(self, outputs: int = 1) -> list[str]:
        """Write the node itself, on tensors as large as its inputs may get."""
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        node.input[:] = [
            self._replaced.get(at) or (self.plain(name) if name else "")
            for at, name in enumerate(self.node.input)
        ]
        names = [
            self.walk.fresh(f"{name}/counted") if name and i < outputs else ""
            for i, name in enumerate(self.node.output)
        ]
        node.output[:] = names
        node.name = next(filter(None, names))
        self._run(node, self.visit.scope.opsets)
        return names

    def _run(self, node: onnx.NodeProto, opsets: Mapping[str, int]) -> None:
        outputs = [name for name in node.output if name]
        inside = self.walk.run_inside(self.visit, [node], opsets, outputs)
        if inside:
            raise RefusedError("; ".join(inside.operators or inside.lines()))

    def write(self, node: Node, shapes: Mapping[str, tuple[Shape, int]]) -> None:
        """Append a node of edgeconv's own.  ``shapes``: of its outputs, with their types."""
        for name, (shape, elem) in shapes.items():
            self.walk.declare(name, helper.make_tensor_type_proto(elem, shape))
        origin = (self.visit.scope.origin or self.visit.name,)
        self.walk.nodes.append(
            Node(node.name, node.op, node.inputs, node.outputs, node.attrs, origin=origin)
        )

    def held(self, sizes: Sizes) -> str:
        """A tensor of int64 that has these numbers at run time."""
        each = [self.number(dim) for dim in sizes.reshape(-1)]
        name = each[0] if len(each) == 1 else self.add("Concat", *each, axis=0)
        if sizes.ndim == 1:
            return name
        return self.add("Reshape", name, self.constant(np.array(sizes.shape, np.int64)))

    def number(self, dim: Dim) -> str:
        """A tensor of one number."""
        if not isinstance(dim, Size):
            return self._once(("number", dim), lambda: self.constant([dim]))
        key = ("number", tuple(sorted(dim.terms.items())), dim.constant)
        return self._once(key, lambda: self._total(dim))

    def _total(self, dim: Size) -> str:
        total = ""
        for count, times in sorted(dim.terms.items()):
            each = count.name
            if times != 1:
                each = self.add("Mul", each, self.constant([times]))
            total = self.add("Add", total, each) if total else each
        return self.add("Add", total, self.constant([dim.constant])) if dim.constant else total

    def _once(self, key: Any, make: Any) -> str:
        if key not in self.made:
            self.made[key] = make()
        return str(self.made[key])

    def count(self, name: str, highest: int) -> Dim:
        """The size that a tensor says at run time, int64 of shape [1], at most ``highest``."""
        return of_count(Count(name, highest)) if highest else 0

    def smaller(self, a: Dim, b: Dim) -> Dim:
        """The smaller of two sizes."""
        for one, other in ((a, b), (b, a)):
            if one == other or most(one - other) <= 0:
                return one
        name = self.add("Min", self.number(a), self.number(b))
        return self.count(name, min(most(a), most(b)))

    def limited(self, dim: Size, room: int) -> Dim:
        """The tensor where no more than ``room`` is kept of it: what is behind is left out."""
        found = self.smaller(dim, room)
        if isinstance(found, Size) and found != dim:
            self.note_cut(found, dim)
        return found

    def note_cut(self, found: Size, whole: Size) -> None:
        """``found``, one count, is ``whole`` but for what there was no room for."""
        (count,) = found.terms
        self.made["whole", count] = whole

    def note_short(self, found: Dim) -> None:
        """``found``, one count, ends at a stated maximum, and how many there are nothing counts."""
        for count in found.terms if isinstance(found, Size) else ():
            self.made["short", count] = True

    def _is_short(self, dim: Dim) -> bool:
        return isinstance(dim, Size) and any(("short", count) in self.made for count in dim.terms)

    def _whole(self, dim: Dim) -> Dim:
        if not isinstance(dim, Size):
            return dim
        total: Dim = dim.constant
        for count, times in dim.terms.items():
            whole = self.made.get(("whole", count))
            total = total + (of_count(count) if whole is None else self._whole(whole)) * times
        return total

    def check_equal(self, a: Size, b: Size) -> None:
        """Let a run end in which two sizes differ that the node takes to be equal.

        ONNX also allows one of them to be 1, which another shape of the result would follow from.
        What a stated maximum leaves out of one is left out of the other before.
        """
        ends: list[Dim] = [self._whole(a), self._whole(b)]
        apart = ends[0] - ends[1]
        if apart == 0:
            return
        if not isinstance(apart, Size):
            raise RefusedError(f"two of its sizes are data-dependent and differ by {apart}")
        if rooms := [most(size) for size in ends if self._is_short(size)]:
            ends = [self.smaller(size, min(rooms)) for size in ends]
        numbers = sorted(map(self.number, ends))
        self._once(("equal", *numbers), lambda: self._check(numbers))

    def _check(self, numbers: Sequence[str]) -> str:
        name = self.walk.fresh(f"{self.visit.name}/sizes")
        node = Node(name, CHECK, (self.add("Equal", *numbers),), (name,))
        self.write(node, {name: ((1,), BOOL)})
        self._note(self.visit.scope.origin or self.visit.name)
        return name

    def not_below_zero(self, dim: Dim) -> Dim:
        """``dim``, or 0 where it is negative."""
        if not isinstance(dim, Size) or dim.least >= 0:
            return max(dim, 0) if isinstance(dim, int) else dim
        if dim.most <= 0:
            return 0
        return self.count(self.add("Max", self.number(dim), self.number(0)), dim.most)

    def filled(self, dim: Size, size: int = -1) -> str:
        """Which of ``size`` places (all that ``dim`` may have) are below it: bool."""
        size = dim.most if size < 0 else size
        key = ("filled", tuple(sorted(dim.terms.items())), dim.constant, size)
        return self._once(
            key, lambda: self.add("Less", self.constant(np.arange(size)), self.number(dim))
        )

    def masked(self, name: str, behind: Any) -> str:
        """A data-dependent tensor, with ``behind`` in place of what means nothing."""
        return self.put_behind(self._data_dependent[name], behind)

    def put_behind(self, found: DataDependent, behind: Any) -> str:
        """`put` of one that no value of the model is.  ``behind``: one number or, where the last
        dimension is not data-dependent, one for each index of it."""
        axis, shape = found.axis, largest(found.dims)
        size = found.dims[axis]
        assert isinstance(size, Size)
        mask = self.filled(size)
        if axis < len(shape) - 1:
            wide = [1] * len(shape)
            wide[axis] = shape[axis]
            mask = self.add("Reshape", mask, self.constant(wide[axis:]))
        dtype = self.dtype(found.name)
        if dtype == np.bool_ and not np.any(behind):
            return self.add("And", mask, found.name)
        return self.add("Where", mask, found.name, self.constant(behind, dtype))

    def cut_to(self, name: str, dims: Dims) -> str:
        """The tensor that holds a value, along each of its dimensions no larger than ``dims``."""
        plain = self.plain(name)
        for at, (dim, wanted) in enumerate(zip(self.dims(name), dims, strict=True)):
            if isinstance(dim, Size) and dim.most > most(wanted):
                plain = self.cut(plain, at, 0, most(wanted))
        return plain

    def cut(self, name: str, axis: int, start: int, end: int) -> str:
        """A part of a tensor along one axis."""
        bounds = (self.constant([bound]) for bound in (start, end, axis))
        return self.add("Slice", name, *bounds)


INT64, BOOL = TensorProto.INT64, TensorProto.BOOL

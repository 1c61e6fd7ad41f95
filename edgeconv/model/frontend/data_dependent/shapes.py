"""The walk's share of tensors of which a dimension is data-dependent: the rows that NonZero,
NonMaxSuppression, Compress, Unique and TopK find, and all that is computed of them.

Such a tensor lies in memory as large as it may get.  What is behind the elements that there are
means nothing, and nothing that means something is computed of it: operators along the dimension
that is data-dependent read something neutral there, or are refused.  How many there are is a tensor
of its own (`sizes.Count`), and sizes are sums of such counts, as far as the model computes with
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.ir.graph import DataDependentOutput
from edgeconv.model.frontend.data_dependent import arithmetic
from edgeconv.model.frontend.data_dependent.carried import CARRIED
from edgeconv.model.frontend.data_dependent.demand import Demand
from edgeconv.model.frontend.data_dependent.indexed import INDEXED
from edgeconv.model.frontend.data_dependent.moved import MOVED
from edgeconv.model.frontend.data_dependent.node import DataDependent, RefusedError, Walking, Work
from edgeconv.model.frontend.data_dependent.sizes import Dims, Numbers, Size, largest, most
from edgeconv.model.frontend.data_dependent.sources import SOURCES
from edgeconv.model.frontend.visit import Visit

_STANDARD = ("", "ai.onnx")
_RULES = {**CARRIED, **INDEXED, **MOVED, **SOURCES}
# Results that are whole numbers from 0 on, and operators that leave them so.
_PLACES = {"NonZero": (0,), "NonMaxSuppression": (0,), "TopK": (1,), "ArgMax": (0,), "ArgMin": (0,)}
_KEEPING = frozenset(
    {
        *("Cast", "Concat", "Expand", "Flatten", "Gather", "GatherND", "Identity", "Reshape"),
        *("Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"),
    }
)


_NAMED = 3  # nodes in a note
# Of shapes and numbers that no operator allows.
_MISMATCHES = (IndexError, OverflowError, TypeError, ValueError)


class DataDependentShapes:
    """The data-dependent shapes of one model, by their names in it."""

    def __init__(
        self, walk: Walking, array: Callable[[onnx.TensorProto], npt.NDArray[Any]]
    ) -> None:
        self._walk = walk
        self.demand = Demand(walk.constant, array)
        self._data_dependent: dict[str, DataDependent] = {}
        self._sizes: dict[str, Numbers] = {}
        self._places: set[str] = set()
        self._made: dict[Any, Any] = {}
        self.max_sizes: dict[str, int] = {}  # that the user states
        self._limited: set[str] = set()
        self.compared: list[str] = []  # nodes that take two sizes to be equal

    def names(self) -> Set[str]:
        """The names of values which no tensors of the model's own names are made of."""
        return self._data_dependent.keys() | self._sizes.keys()

    def take(self, visit: Visit) -> bool:
        """Whether the node of ``visit`` finds or reads something counted: then it is done with, or
        refused."""
        node = visit.node
        reads = [name for name in node.input if name in self.names()]
        standard = node.domain in _STANDARD
        if not reads and not (standard and self._finds(visit)):
            return False
        rule = _RULES.get(node.op_type) if standard else None
        work = self.work(visit)
        try:
            if reads and standard and self._evaluate(work):
                return True
            if rule is not None:
                self._finish(work, rule(work))
            elif any(name in self._data_dependent for name in reads):
                raise RefusedError(f"a dimension of {reads[0]} is data-dependent")
            else:
                self._finish(work, self._plain(work))
        except RefusedError as error:
            self._walk.refuse(visit, str(error))
        except _MISMATCHES as error:
            self._walk.refuse(visit, f"its inputs do not belong together: {error}")
        return True

    def work(self, visit: Visit) -> Work:
        """The rewriting of the node of ``visit``."""
        return Work(
            self._walk,
            visit,
            self._data_dependent,
            self._sizes,
            self._made,
            self._places,
            self._limit,
            self.compared.append,
        )

    def _finds(self, visit: Visit) -> bool:
        """Whether the size of its result is not known, as nothing states it."""
        node = visit.node
        if node.op_type not in SOURCES or not all(node.input[:1]):
            return False
        if any(self._walk.stated_shape(name) is not None for name in node.output if name):
            return False
        known = [self._walk.constant(name) is not None for name in node.input if name]
        if node.op_type == "TopK":
            return len(known) > 1 and not known[1]
        types = [self._walk.type_of(name) for name in node.input[:1]]
        return not all(known) and None not in types

    def _evaluate(self, work: Work) -> bool:
        """Arithmetic of shapes, as such."""
        output = work.node.output[0]
        tested = arithmetic.compared(work)
        if tested is not None:
            self._walk.define(output, tested)
            return True
        found = arithmetic.evaluated(work)
        if found is None:
            return False
        dtype = arithmetic.dtype(work)
        if any(isinstance(size, Size) for size in found.reshape(-1)):
            self._sizes[output] = Numbers(found, dtype)
        else:
            self._walk.define(output, found.astype(dtype))
        return True

    def _plain(self, work: Work) -> list[DataDependent]:
        names = work.add_own(len(work.node.output))
        return [DataDependent(name, work.dims(name) if name else ()) for name in names]

    def _finish(self, work: Work, results: Sequence[DataDependent]) -> None:
        node = work.node
        for output, result in zip(node.output, results, strict=False):
            if not output:
                continue
            data_dependent = [dim for dim in result.dims if isinstance(dim, Size)]
            if len(data_dependent) > 1:
                raise RefusedError("two dimensions of its result are data-dependent")
            if data_dependent:
                self._keep(work, output, result)
            else:
                work.add("Identity", result.name, output=output)
        self._note_places(work)

    def _keep(self, work: Work, output: str, result: DataDependent) -> None:
        """Within the maximum that the user states of it, if any."""
        self._data_dependent[output] = result
        if output not in self.max_sizes:
            return
        self._limited.add(output)
        axis, wanted = result.axis, self.max_sizes[output]
        size = result.dims[axis]
        if most(size) > wanted:
            assert isinstance(size, Size)
            made = (*result.dims[:axis], work.limited(size, wanted), *result.dims[axis + 1 :])
            self._data_dependent[output] = DataDependent(
                work.cut(result.name, axis, 0, wanted), made
            )

    def _note_places(self, work: Work) -> None:
        node = work.node
        self._places.update(
            node.output[i] for i in _PLACES.get(node.op_type, ()) if i < len(node.output)
        )
        moved = node.input if node.op_type == "Concat" else node.input[:1]
        if node.op_type in _KEEPING and all(map(work.is_place, moved)):
            self._places.update(node.output)

    def _limit(self, visit: Visit, room: int) -> int:
        """So much room, or what the user states for a result of the node, or all that is read of
        boxes, which are found in order."""
        if visit.node.op_type == "NonMaxSuppression":
            read = self.demand.rows(visit.node.output[0])
            room = room if read is None else max(min(room, read), 1)
        for name in visit.node.output:
            if name in self.max_sizes:
                self._limited.add(name)
                room = min(room, self.max_sizes[name])
        return room

    def stated_most(self, name: str, room: int) -> int:
        """The maximum that the user states of the value ``name``, ``room`` without one."""
        if name in self.max_sizes:
            self._limited.add(name)
        return self.max_sizes.get(name, room)

    def keep(self, name: str, found: DataDependent) -> None:
        """Let ``name``, which the model does not have, be ``found``."""
        self._data_dependent[name] = found

    def dims(self, name: str) -> Dims | None:
        """The dimensions of what is data-dependent; None of other values."""
        return self._data_dependent[name].dims if name in self._data_dependent else None

    def chosen(self, visit: Visit, condition: str, pair: Sequence[str], output: str) -> bool:
        """Whether the results of two branches, of which one is taken at run time, differ in the
        size of one dimension: then ``output`` is that one, counted."""
        work = self.work(visit)
        try:
            both = [work.dims(name) for name in pair]
        except RefusedError:  # sequences
            return False
        apart = [at for at, dims in enumerate(zip(*both, strict=False)) if dims[0] != dims[1]]
        if len({len(dims) for dims in both}) > 1 or len(apart) > 1:
            return False
        if not apart and not any(name in self._data_dependent for name in pair):
            return False
        sized = [at for at, dim in enumerate(both[0]) if isinstance(dim, Size)]
        (axis,) = apart or sized
        if any(isinstance(dims[at], Size) for dims in both for at in {*range(len(dims))} - {axis}):
            return False
        room = max(most(dims[axis]) for dims in both)
        wide = []
        for name, dims in zip(pair, both, strict=True):
            behind = room - most(dims[axis])
            plain = work.plain(name)
            if not most(dims[axis]):  # nothing there
                shape = [*largest(dims)]
                shape[axis] = room
                plain = work.constant(np.zeros(shape), work.dtype(name))
            elif behind:
                pads = np.zeros((2, len(dims)), np.int64)
                pads[1, axis] = behind
                plain = work.add("Pad", plain, work.constant(pads.reshape(-1)))
            wide.append(plain)
        numbers = [work.number(dims[axis]) for dims in both]
        size = work.count(work.add("Where", condition, *numbers), room)
        result = work.add("Where", condition, *wide)
        made = (*both[0][:axis], size, *both[0][axis + 1 :])
        self._keep(work, output, DataDependent(result, made))
        if all(map(work.is_place, pair)):
            self._places.add(output)
        return True

    def finish(self, visit: Visit, outputs: Sequence[str]) -> list[DataDependentOutput]:
        """Write the tensors that ``outputs`` of the model are: zeros behind what there is; and the
        counts, as outputs of their own.  Raises UsageError for a maximum of what has none."""
        work, found = self.work(visit), list[DataDependentOutput]()
        counts: dict[str, str] = {}
        for name in outputs:
            if name in self._sizes:
                plain = work.plain(name)
                del self._sizes[name]
                work.add("Identity", plain, output=name)
            if name not in self._data_dependent:
                continue
            result = self._data_dependent[name]
            size = result.dims[result.axis]
            number = work.number(size)
            if number not in counts:
                count = self._walk.fresh(f"{name}_count")
                counts[number] = work.add("Identity", number, output=count)
            plain = work.masked(name, 0)
            del self._data_dependent[name]
            work.add("Identity", plain, output=name)
            found.append(DataDependentOutput(name, result.axis, counts[number]))
        return found

    def notes(self) -> list[str]:
        """On what cannot be known of sizes."""
        if not self.compared:
            return []
        nodes = list(dict.fromkeys(self.compared))
        more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
        named = ", ".join(nodes[:_NAMED]) + more
        rule = "a run in which they differ returns the status E_SIZES"
        return [f"data-dependent sizes are taken to be equal by {named}: {rule}"]

    def check_limits(self) -> None:
        """Raises UsageError for a stated maximum that nothing has."""
        for name in self.max_sizes.keys() - self._limited:
            raise UsageError(
                "--max-size",
                got=f"{name!r}",
                rule="no dimension of such a value is data-dependent",
                hint=did_you_mean(name, self._finders()),
            )

    def _finders(self) -> list[str]:
        return sorted(self._data_dependent)

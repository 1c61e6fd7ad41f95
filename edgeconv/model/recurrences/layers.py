"""A Recurrent node for cells that follow each other: products with inputs in front of it, of all
steps at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.filters import RECURRENT
from edgeconv.ir.graph import Node, Tensor
from edgeconv.ir.layout import Shape
from edgeconv.model.recurrences.all_rows import shared_constant
from edgeconv.model.recurrences.cells import Cell
from edgeconv.model.recurrences.columns import Addend, Columns, Product, Reading

# Columns that a cell reads -> those of the tensor that has them of all steps, [steps, ...].
Stacked = Callable[[Columns], Columns | None]


@dataclass(frozen=True, eq=False)
class Series:
    """Cells that follow each other, all like ``cell``.

    ``length``: how many; ``batch``: sequences side by side; ``backwards``: the first reads the last
    row.  ``first``: the first states, [batch, hidden] or a view of it, "" for zeros; of an LSTM the
    cell's behind it.  ``every``: the new state of all of them is wanted, not of the last alone.
    """

    cell: Cell
    length: int
    batch: int
    backwards: bool
    first: tuple[str, ...]
    every: bool


class Places:
    """Where the results of a Recurrent node are: in its output of ``length`` steps (if it has
    ``every`` one), the last state, the last cell state."""

    def __init__(self, series: Series, name: str) -> None:
        self.name, self.series = name, series
        self.last = series.length if series.every else 0

    @property
    def count(self) -> int:
        """The first dimension of the output."""
        return self.last + 1 + (self.series.cell.kind == "LSTM")


class Maker:
    """Writes the nodes next to the one at ``near``; names begin with ``name``."""

    def __init__(self, editor: Editor, near: int, name: str, origin: Sequence[str]) -> None:
        self.editor, self.near, self.name, self.origin = editor, near, name, tuple(origin)
        self.like = Tensor("", ())
        self.constants: Mapping[str, Tensor] = editor.tensors  # those that cells read

    def layer(self, series: Series, stacked: Stacked) -> Places | None:
        """The layer; None, and nothing written, where its operands have no such form."""
        sums = self._sums(series, stacked)
        if sums is None:
            return None
        cell, hidden = series.cell, series.cell.gates[0].bias.size
        rows = len(cell.gates) * hidden
        products = self._products(series, sums, rows)
        if products is None:
            return None
        weights = self._weights(cell)
        inner = self._constant("reset_bias", cell.inside[None]) if cell.reset_behind else ""
        shape = (1, series.batch, hidden)
        first = [self.reshaped(name, shape, "first") if name else "" for name in series.first]
        first += [""] * (2 - len(first))
        whole = Places(series, self.editor.fresh(f"{self.name}/states"))
        made = self.add(
            RECURRENT,
            (products, weights, inner, *first, "", ""),
            (whole.count, 1, series.batch, hidden),
            "states",
            cell=cell.kind,
            directions=("backward" if series.backwards else "forward",),
            functions=cell.functions,
            clip=0.0,
            cell_clip=0.0,
            reset_behind=cell.reset_behind,
            forgets_input=False,
            every=series.every,
        )
        whole.name = made
        return whole

    def result(self, whole: Places, start: int, count: int, shape: Shape) -> str:
        """``count`` steps of the output from ``start`` on, in another shape."""
        of = self.editor.shape(whole.name)
        attrs = {"starts": (start, 0, 0, 0), "steps": (1, 1, 1, 1)}
        cut = self.add("Slice", (whole.name,), (count, *of[1:]), "view", **attrs)
        return self.reshaped(cut, shape, "result")

    def reshaped(self, name: str, shape: Shape, hint: str) -> str:
        """A view, ``name`` itself where it has the shape."""
        if self.editor.shape(name) == shape:
            return name
        return self.add("Reshape", (name,), shape, hint)

    def add(self, op: str, inputs: Sequence[str], shape: Shape, hint: str, **attrs: object) -> str:
        """The result of a new node."""
        output = self.editor.add_tensor(f"{self.name}/{hint}", shape, self.like)
        node = self.editor.fresh_node(f"{self.name}/{hint}")
        made = Node(node, op, tuple(inputs), (output,), attrs, origin=self.origin)
        self.editor.insert(self.near, made)
        return output

    def _constant(self, hint: str, value: np.ndarray) -> str:
        return self.editor.add_constant(f"{self.name}/{hint}", np.ascontiguousarray(value))

    def _sums(self, series: Series, stacked: Stacked) -> list[list[Addend]] | None:
        """What is added in front of each gate, of all steps: terms of tensors of all of them."""
        writers = {
            name: self.editor.node(at)
            for at in self.editor
            for name in self.editor.node(at).outputs
        }
        reading = Reading(writers, self.editor.tensors)
        found: list[list[Addend]] = []
        for gate in series.cell.gates:
            own: list[Addend] = [gate.bias]
            for addend in gate.given:
                of = addend.of if isinstance(addend, Product) else addend
                assert isinstance(of, Columns)
                rows = stacked(of)
                if rows is None:
                    return None
                if isinstance(addend, Product):
                    own.append(replace(addend, of=reading.source(rows)))
                else:
                    own += reading.sums(reading.source(rows))
            if gate.product is None or len(own) == 1:
                return None
            found.append(own)
        return found

    def _products(self, series: Series, sums: list[list[Addend]], rows: int) -> str | None:
        """[length][batch][gates * hidden] of all sums."""
        hidden = rows // len(sums)
        bias = np.zeros(rows, np.float32)
        matrices: dict[Columns, np.ndarray] = {}
        others: list[list[Columns]] = []
        for at, addends in enumerate(sums):
            mine = slice(at * hidden, (at + 1) * hidden)
            others.append([])
            for addend in addends:
                if isinstance(addend, Columns):
                    others[-1].append(addend)
                elif isinstance(addend, Product):
                    width = addend.weights.shape[1]
                    if addend.of not in matrices:
                        matrices[addend.of] = np.zeros((rows, width), np.float32)
                    matrices[addend.of][mine] += addend.weights
                else:
                    bias[mine] += addend
        if len({len(each) for each in others}) > 1 or not (matrices or others[0]):
            return None
        operands = [*matrices, *(each for gate in others for each in gate)]
        # Views that keep rows whole may have other dimensions in front, in the same order.
        counts = {math.prod(self.editor.shape(each.name)[:-1]) for each in operands}
        if counts != {series.length * series.batch}:
            return None
        shape = (series.length, series.batch, rows)
        total = ""
        for of, matrix in matrices.items():
            own = self._constant("bias", bias) if not total and bias.any() else ""
            operand = self._cut(of)
            flat = (*self.editor.shape(operand)[:-1], rows)
            made = self.add("Dense", (operand, self._constant("W", matrix), own), flat, "products")
            total = self._sum(total, self.reshaped(made, shape, "products"), shape)
        for same in zip(*others, strict=True):
            total = self._sum(total, self.reshaped(self._side_by_side(same), shape, "rows"), shape)
        if not matrices and bias.any():
            total = self._sum(total, self._constant("bias", bias), shape)
        return total

    def _sum(self, total: str, further: str, shape: Shape) -> str:
        if not total:
            return further
        return self.add("Binary", (total, further), shape, "sums", kind="add")

    def _cut(self, columns: Columns) -> str:
        """The tensor that has these columns alone."""
        shape = self.editor.shape(columns.name)
        if (columns.low, columns.high) == (0, shape[-1]):
            return columns.name
        starts = (*(0 for _ in shape[1:]), columns.low)
        made = (*shape[:-1], columns.high - columns.low)
        attrs = {"starts": starts, "steps": (1,) * len(shape)}
        return self.add("Slice", (columns.name,), made, "columns", **attrs)

    def _side_by_side(self, gates: Sequence[Columns]) -> str:
        """Columns of each gate, in one tensor."""
        first, last = gates[0], gates[-1]
        follow = all(a.high == b.low for a, b in pairwise(gates))
        if follow and {each.name for each in gates} == {first.name}:
            return self._cut(Columns(first.name, first.low, last.high))
        width = self.editor.shape(first.name)[:-1]
        pieces = [self._cut(each) for each in gates]
        if any(self.editor.shape(each)[:-1] != width for each in pieces):
            pieces = [
                self.reshaped(each, (*width, self.editor.shape(each)[-1]), "columns")
                for each in pieces
            ]
        total = sum(self.editor.shape(each)[-1] for each in pieces)
        return self.add("Concat", pieces, (*width, total), "rows", axis=len(width))

    def _weights(self, cell: Cell) -> str:
        """The weights of the state: the model's own tensor where it has them so."""
        products = [gate.product for gate in cell.gates if gate.product is not None]
        joined = np.concatenate([each.weights for each in products])
        whole = self.constants[products[0].filters]
        if whole.shape == joined.shape and np.array_equal(whole.constant(), joined):
            return shared_constant(self.editor, whole)
        return self._constant("R", joined)

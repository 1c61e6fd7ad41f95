"""Columns of tensors, followed through what moves them: what a cell is recognised by.

Nothing is evaluated before it is asked for: a chain of a hundred cells is read one cell at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue, Node, Tensor

_MOST = 64  # terms of a sum
Floats = npt.NDArray[np.float32]


class Columns(NamedTuple):
    """``low`` to ``high`` of the last dimension of the tensor ``name``."""

    name: str
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Product:
    """Columns times constant weights: ``weights``, [out, in], of the columns ``of`` alone.

    ``filters``: the tensor that the weights are rows and columns of, and ``place``: which, its
    first row and column.
    """

    of: Columns
    weights: Floats
    filters: str
    place: tuple[int, int]


# A term of a sum: a product, a row of constants, or columns of which no more is known.
Addend = Product | Floats | Columns


@dataclass(frozen=True)
class Reading:
    """The nodes of a graph by what they write, and its tensors."""

    writers: Mapping[str, Node]
    tensors: Mapping[str, Tensor]

    def whole(self, name: str) -> Columns:
        """All columns of a tensor, where they come from."""
        shape = self.tensors[name].shape
        return self.source(Columns(name, 0, shape[-1] if shape else 1))

    def source(self, columns: Columns) -> Columns:
        """Where ``columns`` come from, behind views, cuts and joints that keep rows whole."""
        while (further := self._behind(columns)) is not None:
            columns = further
        return columns

    def _behind(self, columns: Columns) -> Columns | None:
        node = self.writers.get(columns.name)
        if node is None or not node.epilogue.is_empty:
            return None
        if node.op == "Concat":
            return self._joined(node, columns)
        if node.op not in ("Identity", "Reshape", "Slice"):
            return None
        before, after = (self.tensors[each].shape for each in (node.inputs[0], node.output))
        low, high = columns[1:]
        if node.op == "Slice":
            starts, jumps = node.attrs["starts"], node.attrs["steps"]
            plain = before[:-1] == after[:-1] and set(jumps) == {1} and not any(starts[:-1])
            return Columns(node.inputs[0], low + starts[-1], high + starts[-1]) if plain else None
        same = before and after and before[-1] == after[-1]
        return Columns(node.inputs[0], low, high) if same else None

    def _joined(self, node: Node, columns: Columns) -> Columns | None:
        """The one operand of a Concat that ``columns`` lie in."""
        for piece, begin in self.pieces(node):
            if begin <= columns.low and columns.high <= begin + piece.high:
                return Columns(piece.name, columns.low - begin, columns.high - begin)
        return None

    def pieces(self, node: Node) -> Iterator[tuple[Columns, int]]:
        """The operands of a Concat along the last dimension, each with where it begins; what a Pad
        puts zeros beside."""
        begin, shape = 0, self.tensors[node.output].shape
        if node.op == "Pad":
            pads, before = node.attrs["pads"], self.tensors[node.inputs[0]].shape
            zeros = node.attrs["mode"] == "constant" and not node.attrs["value"]
            if zeros and before[:-1] == shape[:-1] and min(pads) >= 0:
                yield Columns(node.inputs[0], 0, before[-1]), pads[len(shape) - 1]
            return
        if node.op != "Concat" or node.attrs["axis"] != len(shape) - 1:
            return
        for name in node.inputs:
            width = self.tensors[name].shape[-1]
            yield Columns(name, 0, width), begin
            begin += width

    def function(self, columns: Columns) -> tuple[Activation, Columns] | None:
        """The function of one variable that ``columns`` are, and of which."""
        node = self.writers.get(columns.name)
        if node is None or node.op != "Unary" or not node.epilogue.is_only_before:
            return None
        of = columns._replace(name=node.inputs[0])
        return node.epilogue.before, self.source(of)

    def pair(self, columns: Columns, kind: str) -> tuple[Columns, Columns] | None:
        """The operands of a Binary ``kind`` whose shapes are that of its result."""
        node = self._binary(columns, kind)
        if node is None or any(self._size(name) != self._size(node.output) for name in node.inputs):
            return None
        one, other = (self.source(columns._replace(name=name)) for name in node.inputs)
        return one, other

    def orders(self, columns: Columns, kind: str) -> Iterator[tuple[Columns, Columns]]:
        """`pair` of a commutative ``kind``, either way round."""
        if found := self.pair(columns, kind):
            yield found
            yield found[::-1]

    def rest(self, columns: Columns) -> Columns | None:
        """Z where ``columns`` are 1 - z."""
        node = self._binary(columns, "sub")
        if node is None or self._size(node.inputs[1]) != self._size(node.output):
            return None
        one = self.tensors[node.inputs[0]].data
        if one is None or (np.asarray(one) != 1).any():
            return None
        return self.source(columns._replace(name=node.inputs[1]))

    def sums(self, columns: Columns) -> list[Addend]:
        """What ``columns`` are the sum of; themselves where that is more than a cell adds up."""
        found: list[Addend] = []
        waiting = [columns]
        while waiting:
            each = waiting.pop()
            terms = self._operands(each)
            if terms is None:
                found += self._terms(each)
            else:
                waiting += reversed(terms)
            if len(found) + len(waiting) > _MOST:
                return [columns]
        return found

    def _terms(self, columns: Columns) -> list[Addend]:
        """What ``columns``, which no Binary adds up, are the sum of."""
        value = self.tensors[columns.name].data
        if value is not None:
            width = columns.high - columns.low
            if value.size == 1:
                return [np.full(width, value.reshape(-1)[0], np.float32)]
            if value.ndim and value.size == value.shape[-1]:
                row = value.reshape(-1)[columns.low : columns.high]
                return [np.asarray(row, np.float32)]
            same = value.reshape(-1, value.shape[-1] if value.ndim else 1)
            if (same == same[:1]).all() and same.shape[1] == 1:
                return [np.full(width, same[0, 0], np.float32)]
            if (same == same[:1]).all():
                return [np.asarray(same[0, columns.low : columns.high], np.float32)]
            return [columns]
        node = self.writers.get(columns.name)
        if node is None or not node.epilogue.is_empty:
            return [columns]
        if node.op == "Dense":
            return self._products(node, columns)
        return [columns]

    def is_zero(self, columns: Columns) -> bool:
        """Whether ``columns`` are constant zeros."""
        value = self.tensors[columns.name].data
        return value is not None and not value.any()

    def _operands(self, columns: Columns) -> list[Columns] | None:
        """What a Binary adds up: tensors of the size of its result, and constants that are a row or
        one number."""
        node = self._binary(columns, "add")
        if node is None:
            return None
        shape, found = self.tensors[node.output].shape, list[Columns]()
        for name in node.inputs:
            tensor, operand = self.tensors[name], columns._replace(name=name)
            row = tensor.shape[-1:] == shape[-1:] and tensor.size == shape[-1]
            if tensor.is_constant and (row or tensor.size == 1):
                found.append(operand)
            elif tensor.size == self._size(node.output):
                found.append(self.source(operand))
            else:
                return None
        return found

    def _products(self, node: Node, columns: Columns) -> list[Addend]:
        x, filters, bias = node.inputs
        weights = self.tensors[filters].data
        if weights is None or node.attrs or not node.epilogue.is_empty:
            return [columns]
        added: list[Addend] = []
        if bias:
            value = self.tensors[bias].data
            if value is None:
                return [columns]
            added.append(np.asarray(value[columns.low : columns.high], np.float32))
        operand, joint = self.whole(x), None
        if operand == Columns(operand.name, 0, self.tensors[operand.name].shape[-1]):
            joint = self.writers.get(operand.name)
        pieces = [(operand, 0)]
        if joint is not None and joint.epilogue.is_empty:
            pieces = list(self.pieces(joint)) or pieces
        rows = np.asarray(weights[columns.low : columns.high], np.float32)
        made = [
            Product(
                self.source(piece),
                rows[:, at : at + piece.high - piece.low],
                filters,
                (columns.low, at),
            )
            for piece, at in pieces
        ]
        return [*made, *added]

    def _binary(self, columns: Columns, kind: str) -> Node | None:
        node = self.writers.get(columns.name)
        if node is None or node.op != "Binary" or node.attrs.get("kind") != kind:
            return None
        return node if node.epilogue == Epilogue() else None

    def _size(self, name: str) -> int:
        return self.tensors[name].size


def moved(columns: Columns, names: Mapping[str, str]) -> Columns:
    """``columns`` of what a tensor is called elsewhere."""
    return columns._replace(name=names[columns.name])


def filters_of(addend: Addend) -> Any:
    """What is equal for products with the same filters."""
    if isinstance(addend, Product):
        return addend.filters, addend.place, addend.weights.shape
    return addend if isinstance(addend, Columns) else addend.tobytes()


def renamed(product: Product, columns: Columns) -> Product:
    """``product`` of other columns."""
    return replace(product, of=columns)

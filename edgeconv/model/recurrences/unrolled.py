"""Recurrences that a model has written out step by step, as one layer each.

litert-torch, and Keras with ``unroll=True``, write a cell for each step.  A series of cells with
the same weights, each of which reads the state of the one before, is ONNX's RNN, GRU or LSTM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import CHECK, Graph, Node
from edgeconv.ir.layout import Shape
from edgeconv.model.recurrences.cells import NO_STATE, Cell, cells
from edgeconv.model.recurrences.columns import Addend, Columns, Product, Reading, filters_of
from edgeconv.model.recurrences.layers import Maker, Series

LEAST = 3  # cells in a row that are a layer


@dataclass(frozen=True, eq=False)
class Link:
    """A cell, and the columns that its new state is."""

    cell: Cell
    new: Columns


def recognised(graph: Graph) -> Graph:
    """``graph`` with a Recurrent node for each series of `LEAST` cells or more; the very same where
    there is none."""
    if sum(node.op in ("Binary", "Unary") for node in graph.nodes) < LEAST:
        return graph
    while (made := _one_more(graph)) is not None:
        graph = made
    return graph


def _one_more(graph: Graph) -> Graph | None:
    reading = Reading(graph.producers(), graph.tensors)
    for series in _all_series(graph, reading):
        made = _Writer(graph, reading, series).made()
        if made is not None:
            return made
    return None


def _all_series(graph: Graph, reading: Reading) -> Iterator[list[Link]]:
    """Series of cells, each as long as it goes, the longest that end at a tensor."""
    ends: dict[Columns, list[list[Link]]] = {}  # several where rows are as wide as states
    followed: set[Columns] = set()
    for node in graph.nodes:
        if node.op not in ("Binary", "Unary") or graph[node.output].dtype != "float32":
            continue
        new = reading.whole(node.output)
        if new.name != node.output:
            continue
        for cell in cells(reading, new):
            link = Link(cell, new)
            before = _before(ends.get(cell.hidden, ()), cell)
            if before:
                followed.add(cell.hidden)
            elif first := _begun(reading, link):
                before = [first]
            ends.setdefault(new, []).append([*before, link])
    for new, found in ends.items():
        if new not in followed:
            yield from (series for series in _longest_first(found) if len(series) >= LEAST)


def _before(found: Iterable[list[Link]], cell: Cell) -> list[Link]:
    """The longest series that ``cell`` goes on with; empty where there is none."""
    for series in _longest_first(found):
        if _same(series[-1].cell, cell) and _carries(series[-1], cell):
            return series
    return []


def _longest_first(found: Iterable[list[Link]]) -> list[list[Link]]:
    return sorted(found, key=len, reverse=True)


def _carries(before: Link, cell: Cell) -> bool:
    return before.cell.after == cell.cell


def _begun(reading: Reading, link: Link) -> Link | None:
    """The first cell, whose state is zeros, so that it has no product of it."""
    for cell in cells(reading, link.cell.hidden, NO_STATE):
        if _same(cell, link.cell, first=True) and cell.after == link.cell.cell:
            return Link(cell, link.cell.hidden)
    return None


def _same(one: Cell, other: Cell, *, first: bool = False) -> bool:
    """Whether two cells have the same equations, weights and biases; ``first``: ``one`` may have no
    products of its state."""
    if (one.kind, one.functions, one.reset_behind) != (
        other.kind,
        other.functions,
        other.reset_behind,
    ):
        return False
    if not np.array_equal(one.inside, other.inside):
        return False
    for a, b in zip(one.gates, other.gates, strict=True):
        if not np.array_equal(a.bias, b.bias) or len(a.given) != len(b.given):
            return False
        if not all(map(_alike, a.given, b.given)):
            return False
        if a.product is None and first:
            continue
        if a.product is None or b.product is None:
            return False
        if filters_of(a.product) != filters_of(b.product) and not np.array_equal(
            a.product.weights, b.product.weights
        ):
            return False
    return True


def _alike(one: Addend, other: Addend) -> bool:
    if isinstance(one, Product) and isinstance(other, Product):
        if (one.of.low, one.of.high) != (other.of.low, other.of.high):
            return False
        return filters_of(one) == filters_of(other) or np.array_equal(one.weights, other.weights)
    if isinstance(one, Columns) and isinstance(other, Columns):
        return (one.low, one.high) == (other.low, other.high)
    return False


class _Writer:
    """Writes the layer that a series is."""

    def __init__(self, graph: Graph, reading: Reading, links: Sequence[Link]) -> None:
        self.graph, self.reading, self.links = graph, reading, links
        self.editor = Editor(graph)

    def made(self) -> Graph | None:
        """The graph with the layer; None where what it reads cannot be stacked, or a cell state
        within it is read."""
        links, last = self.links, self.links[-1]
        first, cell = links[0].cell, last.cell
        hidden = cell.gates[0].bias.size
        whole = all(link.new == Columns(link.new.name, 0, hidden) for link in links)
        read = self._read()
        inner = {link.cell.after.name for link in links[:-1] if link.cell.after is not None}
        if not whole or inner & read:
            return None
        begins = [first.hidden, *([first.cell] if first.cell else [])]
        names = [self._first(each, hidden) for each in begins]
        if None in names:
            return None
        sizes = {self.graph[link.new.name].size // hidden for link in links}
        origins = self._rows()
        if origins is None or len(sizes) > 1 or self._is_behind(origins.names()):
            return None
        (batch,) = sizes
        series = Series(
            cell,
            len(links),
            batch,
            origins.backwards,
            tuple(name for name in names if name is not None),
            any(link.new.name in read for link in links[:-1]),
        )
        near = self.editor.writer(links[0].new.name)
        assert near is not None
        names_of = dict.fromkeys(
            name for link in links for name in self.reading.writers[link.new.name].origin
        )
        maker = Maker(self.editor, near, self.reading.writers[last.new.name].name, [*names_of])
        found = maker.layer(series, partial(origins.stacked, maker))
        if found is None:
            return None
        results = [(last.new.name, found.last)]
        if series.every:
            order = range(len(links))
            results = [
                (links[i].new.name, len(links) - 1 - i if series.backwards else i) for i in order
            ]
        if cell.after is not None:
            results.append((cell.after.name, found.last + 1))
        for name, at in results:
            self._replace(maker, name, maker.result(found, at, 1, self.graph[name].shape))
        return self.editor.finish()

    def _replace(self, maker: Maker, name: str, made: str) -> None:
        """Let ``made`` be read for ``name``, which stays the name of an output."""
        writer = self.editor.writer(name)
        assert writer is not None
        self.editor.rename_uses(name, made)
        if name in self.editor.outputs:
            self.editor.replace(writer, None)
            node = Node(self.editor.fresh_node(f"{name}/result"), "Identity", (made,), (name,), {})
            self.editor.insert(maker.near, node)

    def _read(self) -> set[str]:
        """The states, hidden and of cells, that something else than the cells reads."""
        checks = [node for node in self.graph.nodes if node.op == CHECK]
        return self._met([*self.graph.outputs, *(name for node in checks for name in node.reads())])

    def _is_behind(self, rows: Iterable[str]) -> bool:
        """Whether one of the ``rows`` that cells read is computed of a state: of the cell state, as
        peepholes are, or of what the step before said."""
        return bool(self._met(rows))

    def _met(self, names: Iterable[str]) -> set[str]:
        """The states, hidden and of cells, that are among ``names`` or first behind them."""
        states = {link.new.name for link in self.links}
        states |= {link.cell.after.name for link in self.links if link.cell.after is not None}
        found, seen, wanted = set[str](), set[str](), [*names]
        while wanted:
            name = wanted.pop()
            if name in states:
                found.add(name)
            elif name not in seen:
                seen.add(name)
                node = self.reading.writers.get(name)
                wanted += node.reads() if node else ()
        return found

    def _first(self, columns: Columns, hidden: int) -> str | None:
        """A first state: "" for zeros, None where it is no tensor of its own."""
        if columns == NO_STATE:
            return ""
        tensor = self.graph[columns.name]
        if tensor.data is not None and not np.asarray(tensor.data).any():
            return ""
        return columns.name if columns[1:] == (0, hidden) == (0, tensor.shape[-1]) else None

    def _rows(self) -> _Rows | None:
        """What the cells read, by what the last of them does."""
        found: dict[Columns, list[Columns]] = {}
        for gates in zip(*(link.cell.gates for link in self.links), strict=True):
            for same in zip(*(gate.given for gate in gates), strict=True):
                of = [a.of if isinstance(a, Product) else a for a in same]
                columns = [each for each in of if isinstance(each, Columns)]
                if len(columns) < len(of):
                    return None
                if found.setdefault(columns[-1], columns) != columns:
                    return None
        return _Rows(self.reading, found)


@dataclass(frozen=True)
class _Row:
    """Row ``at`` of the tensor ``name`` along ``axis``."""

    name: str
    axis: int
    at: int


class _Rows:
    """Rows that cells read, stacked: of the tensor that they are cut from where that can be."""

    def __init__(self, reading: Reading, found: dict[Columns, list[Columns]]) -> None:
        self.reading, self.found = reading, found
        self._cut = {key: self._origin(rows) for key, rows in found.items()}
        known = [cut for cut in self._cut.values() if cut is not None]
        self.backwards = bool(known) and len(known) == len(found) and all(c[1] < 0 for c in known)
        self._made: dict[tuple[str, ...], str] = {}

    def names(self) -> Iterator[str]:
        """The tensors that rows are columns of."""
        return (row.name for rows in self.found.values() for row in rows)

    def stacked(self, maker: Maker, columns: Columns) -> Columns | None:
        """A tensor of all rows, in the order of the sequence, and where it has ``columns``."""
        rows, cut = self.found[columns], self._cut[columns]
        names = tuple(row.name for row in rows)
        if names not in self._made:
            if cut is not None and (cut[1] < 0) == self.backwards:
                self._made[names] = self._sliced(maker, cut[0], len(rows))
            else:
                self._made[names] = self._joined(maker, names)
        return columns._replace(name=self._made[names])

    def _origin(self, rows: Sequence[Columns]) -> tuple[_Row, int] | None:
        """The lowest row and the direction, where rows follow each other in one tensor."""
        found = [self._row(each.name) for each in rows]
        kept = [each for each in found if each is not None]
        if len(kept) < len(rows) or len({(each.name, each.axis) for each in kept}) > 1:
            return None
        first, direction = kept[0].at, 1 if kept[-1].at > kept[0].at else -1
        if [each.at for each in kept] != [first + direction * i for i in range(len(kept))]:
            return None
        return min(kept, key=lambda row: row.at), direction

    def _row(self, name: str) -> _Row | None:
        """The row of a larger tensor that ``name`` is."""
        while (node := self.reading.writers.get(name)) and node.epilogue.is_empty:
            if node.op == "Slice":
                return self._of_slice(node)
            if node.op in ("Gather", "Pick"):
                return self._of_pick(node)
            if node.op not in ("Reshape", "Identity"):
                return None
            before, after = (self.reading.tensors[n].shape for n in (node.inputs[0], name))
            if not before or not after or before[-1] != after[-1]:
                return None
            name = node.inputs[0]
        return None

    def _of_slice(self, node: Node) -> _Row | None:
        before = self.reading.tensors[node.inputs[0]].shape
        after, starts = self.reading.tensors[node.output].shape, node.attrs["starts"]
        cut = [i for i, sizes in enumerate(zip(before, after, strict=True)) if sizes[0] != sizes[1]]
        if len(cut) != 1 or after[cut[0]] != 1 or cut[0] == len(before) - 1:
            return None
        return _Row(node.inputs[0], cut[0], starts[cut[0]])

    def _of_pick(self, node: Node) -> _Row | None:
        index = self.reading.tensors[node.inputs[1]].data
        shape, axis = self.reading.tensors[node.inputs[0]].shape, int(node.attrs["axis"])
        if index is None or index.size != 1 or axis == len(shape) - 1:
            return None
        at = int(index.reshape(-1)[0])
        return _Row(node.inputs[0], axis, at + shape[axis] * (at < 0))

    def _sliced(self, maker: Maker, lowest: _Row, count: int) -> str:
        """Rows of one tensor, along its first dimension."""
        editor, name, axis = maker.editor, lowest.name, lowest.axis
        shape = editor.shape(name)
        if shape[axis] != count:
            starts = tuple(lowest.at * (i == axis) for i in range(len(shape)))
            attrs = {"starts": starts, "steps": (1,) * len(shape)}
            shape = (*shape[:axis], count, *shape[axis + 1 :])
            name = maker.add("Slice", (name,), shape, "sequence", **attrs)
        if axis:
            order = (axis, *(i for i in range(len(shape)) if i != axis))
            moved = tuple(shape[i] for i in order)
            name = maker.add("Transpose", (name,), moved, "sequence", perm=order)
        return name

    def _joined(self, maker: Maker, names: Sequence[str]) -> str:
        """Tensors one after the other along a first dimension of their own."""
        editor = maker.editor
        shape: Shape = (1, *editor.shape(names[0]))
        rows = [maker.reshaped(name, shape, "row") for name in names]
        if self.backwards:
            rows.reverse()
        return maker.add("Concat", rows, (len(rows), *shape[1:]), "sequence", axis=0)

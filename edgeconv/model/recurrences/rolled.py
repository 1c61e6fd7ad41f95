"""Loops whose body is a recurrent cell, as recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, State
from edgeconv.ir.loop import FIRST_STATE, LOOP, Body, body_of
from edgeconv.model.recurrences.cells import Cell, cells
from edgeconv.model.recurrences.columns import Columns, Product, Reading
from edgeconv.model.recurrences.hoisting import hoist, is_certain
from edgeconv.model.recurrences.layers import Maker, Places, Series


def at_loop(position: int, editor: Editor) -> None:
    """Move what can be out of the Loop at ``position``, and write it as a layer if it is one."""
    hoist(position, editor)
    node = editor.nodes[position]
    if node is not None and node.op == LOOP and is_certain(node):
        _Rolled(position, editor, node).replace()


@dataclass(frozen=True)
class _CellOfBody:
    cell: Cell
    states: tuple[State, ...]  # hidden, and of an LSTM the cell's


class _Rolled:
    def __init__(self, position: int, editor: Editor, node: Node) -> None:
        self.position, self.editor, self.node = position, editor, node
        self.body: Body = body_of(node)
        self.graph = self.body.graph
        self.reading = Reading(self.graph.producers(), self.graph.tensors)
        ports = [*self.body.scanned, *self.body.given]
        places = node.inputs[FIRST_STATE + len(self.body.carried) :]
        self.outer = dict(zip(ports, places, strict=True))

    def replace(self) -> None:
        """Write the layer in place of the loop where it is one."""
        found = next(self._cells(), None)
        if found is None:
            return
        new = self.reading.whole(found.states[0].output)
        rows = [name for name in self.body.results if name not in self.body.carried]
        back = {name in self.body.backwards for name in (*self._read(found.cell), *rows)}
        if len(back) != 1 or any(self.reading.whole(name) != new for name in rows):
            return
        hidden = found.cell.gates[0].bias.size
        order = [self.body.carried.index(state.input) for state in found.states]
        series = Series(
            found.cell,
            self.body.trips or 0,
            self.graph[found.states[0].input].size // hidden,
            back.pop(),
            tuple(self.node.inputs[FIRST_STATE + i] for i in order),
            bool(rows),
        )
        maker = Maker(self.editor, self.position, self.node.name, self.node.origin)
        maker.constants = self.graph.tensors
        made = maker.layer(series, self._stacked)
        if made is not None:
            self._results(maker, made, found)

    def _cells(self) -> Iterator[_CellOfBody]:
        """The cells that the body is, with all of its states."""
        states = self.graph.states
        for state in states:
            if self.graph[state.input].dtype != "float32":
                return
            new, hidden = (self.reading.whole(name) for name in (state.output, state.input))
            others = [each for each in states if each is not state]
            for cell in cells(self.reading, new, hidden):
                if cell.cell is None and not others:
                    yield _CellOfBody(cell, (state,))
                elif cell.cell is not None and len(others) == 1:
                    (other,) = others
                    now, after = (self.reading.whole(n) for n in (other.input, other.output))
                    if (cell.cell, cell.after) == (now, after):
                        yield _CellOfBody(cell, (state, other))

    def _read(self, cell: Cell) -> list[str]:
        """The rows that a cell reads."""
        addends = [addend for gate in cell.gates for addend in gate.given]
        of = [addend.of if isinstance(addend, Product) else addend for addend in addends]
        return [each.name for each in of if isinstance(each, Columns)]

    def _stacked(self, columns: Columns) -> Columns | None:
        if columns.name not in self.body.scanned:
            return None
        return columns._replace(name=self.outer[columns.name])

    def _results(self, maker: Maker, made: Places, found: _CellOfBody) -> None:
        hidden = found.states[0].input
        for name, output in zip(self.body.results, self.node.outputs, strict=True):
            shape = self.editor.shape(output)
            if name not in self.body.carried:
                result = maker.result(made, 0, made.series.length, shape)
            else:
                result = maker.result(made, made.last + (name != hidden), 1, shape)
            self.editor.rename_uses(output, result)
            if output in self.editor.outputs:
                named = self.editor.fresh_node(f"{output}/result")
                self.editor.insert(self.position, Node(named, "Identity", (result,), (output,)))
        self.editor.replace(self.position, None)

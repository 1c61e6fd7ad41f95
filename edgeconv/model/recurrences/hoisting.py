"""Work of loops that need not wait for their states, in front of them.

What a trip computes of its row alone is computed of all rows at once: a product has as many rows
then as there are trips, and its weights are read once.  What all trips compute alike is computed
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import CHECK, KEEP, Graph, Node
from edgeconv.ir.loop import CONDITION, FIRST_STATE, LOOP, TRIPS, Body, body_of, with_body
from edgeconv.kernels import ops
from edgeconv.model.recurrences.all_rows import RULES, Rows, shared_constant

_GATHERS = ("Gather", "Pick")
_MOVES = ("Concat", "Expand", "Gather", "Identity", "Pick", "Reshape", "Slice", "Tile", "Transpose")


@dataclass(frozen=True)
class _Value:
    """A value that no state is in.  ``rows``: it differs from trip to trip; ``back``: the first
    trip has the last row of it."""

    rows: bool
    back: bool = False


def is_certain(node: Node) -> bool:
    """Whether a Loop runs as often as its body says, whatever happens."""
    body = body_of(node)
    given = node.inputs[TRIPS], node.inputs[CONDITION]
    return body.trips is not None and not body.condition and not any(given)


def hoist(position: int, editor: Editor) -> bool:
    """Move what can be out of the Loop at ``position``; whether there was anything."""
    return _Hoisting(position, editor).done()


class _Hoisting:
    def __init__(self, position: int, editor: Editor) -> None:
        self.position, self.editor = position, editor
        self.node = editor.node(position)
        self.body: Body = body_of(self.node)
        self.graph: Graph = self.body.graph
        places = self.node.inputs[FIRST_STATE + len(self.body.carried) :]
        ports = [*self.body.scanned, *self.body.given]
        self.outer = dict(zip(ports, places, strict=True))
        self.values = {name: _Value(rows=False) for name in self.body.given}
        if is_certain(self.node):
            for name in self.body.scanned:
                self.values[name] = _Value(rows=True, back=name in self.body.backwards)
        self.numbers = self._numbers()
        self.writers = self.graph.producers()

    def done(self) -> bool:
        """See `hoist`."""
        free = [node for node in self.graph.nodes if self._is_free(node)]
        taken = self._worth(free)
        if not taken:
            return False
        for node in taken:
            self._move(node)
        self._rest(taken)
        return True

    def _numbers(self) -> set[str]:
        """What is the number of the trip, views of it included."""
        found = {self.body.counter} if self.body.counter and is_certain(self.node) else set[str]()
        for node in self.graph.nodes:
            if node.op in ("Identity", "Reshape") and node.inputs[0] in found:
                found.add(node.output)
        return found

    def _is_free(self, node: Node) -> bool:
        """Whether ``node`` can be computed in front of the loop; its result is known then."""
        if node.op in (CHECK, KEEP, LOOP) or len(node.outputs) != 1 or node.epilogue.residual:
            return False
        if node.op in _GATHERS and node.inputs[1] in self.numbers:
            value = _Value(rows=True)
            if not self._is_row(node):
                return False
        else:
            read = [name for name in node.reads() if not self.graph[name].is_constant]
            known = [self.values[name] for name in read if name in self.values]
            rows = {value for value in known if value.rows}
            if not read or len(known) < len(read) or len(rows) > 1:
                return False
            if rows and (node.op not in RULES or not RULES[node.op].takes(node, self._of(node))):
                return False
            value = rows.pop() if rows else _Value(rows=False)
        self.values[node.output] = value
        return True

    def _is_row(self, node: Node) -> bool:
        """Whether a Gather by the number of the trip takes a row of something known."""
        source = self.graph[node.inputs[0]]
        known = self.values.get(node.inputs[0])
        whole = source.is_constant or (known is not None and not known.rows)
        enough = bool(source.shape) and source.shape[0] >= (self.body.trips or 0)
        return whole and enough and node.attrs["axis"] == 0

    def _of(self, node: Node) -> Rows:
        """What a rule is told of ``node``."""
        rows = {name for name in node.reads() if (v := self.values.get(name)) and v.rows}
        return Rows(self.body.trips or 0, self.graph.tensors, frozenset(rows))

    def _worth(self, free: Sequence[Node]) -> list[Node]:
        """What is ``free`` and gains: products, and what is computed once; what these read, and
        what is computed of their results, as long as that is no larger."""
        known = {node.output: node for node in free}
        wanted = {node.output for node in free if self._gains(node)}
        waiting = list(wanted)
        while waiting:
            for name in known[waiting.pop()].reads():
                if name in known and name not in wanted:
                    wanted.add(name)
                    waiting.append(name)
        for node in free:
            made = [name for name in node.reads() if name in wanted]
            ready = all(name in wanted or name not in known for name in node.reads())
            largest = max((self.graph[name].size for name in made), default=0)
            if made and ready and self.graph[node.output].size <= largest:
                wanted.add(node.output)
        return [node for node in free if node.output in wanted]

    def _gains(self, node: Node) -> bool:
        if node.op in _GATHERS and node.inputs[1] in self.numbers:
            return True
        if self.values[node.output].rows:
            return ops.operators()[node.op].macs(node, self.graph) > 0
        return node.op not in _MOVES

    def _move(self, node: Node) -> None:
        """Write ``node`` in front of the loop."""
        value, tensor = self.values[node.output], self.graph[node.output]
        read = [name for name in node.reads() if name not in self.numbers]
        inputs = {name: self._outside(name) for name in read}
        if not value.rows:
            output = self.editor.add_tensor(f"{node.output}/once", tensor.shape, tensor)
            names = tuple(inputs.get(name, "") for name in node.inputs)
            self._write(replace(node, inputs=names, outputs=(output,)))
            self.outer[node.output] = output
            return
        shape = (self.body.trips or 0, *tensor.shape)
        if node.op in _GATHERS and node.inputs[1] in self.numbers:
            self.outer[node.output] = self._first_rows(node, inputs[node.inputs[0]], shape)
            return
        rule = RULES[node.op]
        self.outer[node.output] = rule.write(node, self._of(node), inputs, self._add)

    def _first_rows(self, node: Node, source: str, shape: tuple[int, ...]) -> str:
        """As many rows as there are trips."""
        whole = self.editor.shape(source)
        if whole[0] != shape[0]:
            attrs = {"starts": (0,) * len(whole), "steps": (1,) * len(whole)}
            source = self._add(node, "Slice", (source,), (shape[0], *whole[1:]), attrs)
        if self.editor.shape(source) != shape:
            source = self._add(node, "Reshape", (source,), shape, {})
        return source

    def _outside(self, name: str) -> str:
        tensor = self.graph[name]
        if name in self.outer or tensor.data is None:
            return self.outer[name]
        return shared_constant(self.editor, tensor)

    def _add(
        self,
        node: Node,
        op: str,
        inputs: Sequence[str],
        shape: tuple[int, ...],
        attrs: Mapping[str, object],
    ) -> str:
        """The result of a node in front of the loop that stands for rows of ``node``."""
        like = self.graph[node.output]
        output = self.editor.add_tensor(f"{node.output}/all", shape, like)
        plain = Node(node.name, op, tuple(inputs), (output,), attrs, origin=node.origin)
        if op == node.op:  # what is around it are views
            plain = replace(plain, epilogue=node.epilogue, request=node.request)
        self._write(plain)
        return output

    def _write(self, node: Node) -> None:
        name = self.editor.fresh_node(node.name)
        self.editor.insert(self.position, replace(node, name=name))

    def _rest(self, taken: Sequence[Node]) -> None:
        """Write the loop without what was ``taken`` out of it."""
        body, gone = self.body, {node.output for node in taken}
        nodes = [node for node in self.graph.nodes if node.output not in gone]
        tensors = dict(self.graph.tensors)
        left, outputs = self._results(gone)
        carried = {state.output for state in self.graph.states}
        for name in self.graph.outputs:
            if name in gone and (name in carried or name in left or name == body.condition):
                inner = f"{name}/row"  # the loop still says so itself
                tensors[inner] = replace(tensors[name], name=inner)
                nodes.append(Node(inner, "Identity", (inner,), (name,)))
                self.values[inner], self.outer[inner] = self.values[name], self.outer[name]
        ends = tuple(
            name
            for name in self.graph.outputs
            if name in carried or name in left or name == body.condition
        )
        read = {name for node in nodes for name in node.reads()}
        writes = {name for node in nodes for name in node.outputs}
        # Of what is computed in front, and of what was given before, that which is still read.
        ports = [n for n in self.values if n in read and n in self.outer and n not in writes]
        scanned = [name for name in ports if self.values[name].rows]
        scanned += [n for n in body.scanned if n in read and n not in self.values]
        given = [name for name in ports if not self.values[name].rows]
        counter = body.counter if body.counter in read else ""
        inputs = (*filter(None, [counter]), *body.carried, *scanned, *given)
        named = {*read, *inputs, *ends, *writes}
        graph = replace(
            self.graph,
            nodes=tuple(nodes),
            tensors={name: tensor for name, tensor in tensors.items() if name in named},
            inputs=inputs,
            outputs=ends,
        )
        graph = Editor(graph).finish()
        back = {name for name in scanned if self._is_back(name)}
        back |= {name for name in left if name in body.backwards}
        made = replace(
            body,
            graph=graph,
            scanned=tuple(scanned),
            given=tuple(given),
            results=tuple(left),
            backwards=frozenset(back),
            counter=counter,
        )
        first = self.node.inputs[: FIRST_STATE + len(body.carried)]
        operands = (*first, *(self.outer[name] for name in (*scanned, *given)))
        if not left:
            self.editor.replace(self.position, None)
            return
        self.editor.replace(
            self.position, replace(with_body(self.node, made), inputs=operands, outputs=outputs)
        )

    def _is_back(self, name: str) -> bool:
        value = self.values.get(name)
        return value.back if value else name in self.body.backwards

    def _results(self, gone: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
        """The results that the loop has left, and its outputs; the others are read in front of
        it."""
        gone, left, outputs = set(gone), list[str](), list[str]()
        for name, output in zip(self.body.results, self.node.outputs, strict=True):
            value = self.values.get(name)
            rows = name in gone and name not in self.body.carried and value is not None
            same = value is not None and value.back == (name in self.body.backwards)
            if rows and same and value is not None and value.rows:
                self._stands_for(self.outer[name], output)
                continue
            left.append(name)
            outputs.append(output)
        return left, tuple(outputs)

    def _stands_for(self, made: str, output: str) -> None:
        """Let ``made`` be read for an output of the loop."""
        self.editor.rename_uses(output, made)
        if output in self.editor.outputs:
            name = self.editor.fresh_node(f"{output}/result")
            self.editor.insert(self.position, Node(name, "Identity", (made,), (output,)))

"""States as the layers of a program have them: each put in its place by a node of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from edgeconv.base.names import untaken
from edgeconv.ir.array_types import array_type
from edgeconv.ir.encoding import FLOAT32, Encoding
from edgeconv.ir.graph import KEEP, Array, Graph, Node, State
from edgeconv.ir.layout import Shape
from edgeconv.ir.memory import MemoryMap, Region
from edgeconv.ir.quantisation import integers_of

WINDOW = "window"  # of a Keep node: its state is a part of a window that moves

# Operators whose results may be their inputs, as these lie in memory.
_VIEWS = frozenset(
    {"Convert", "Dequantise", "Identity", "Quantise", "Reshape", "Slice", "Transpose"}
)


def moving_states(graph: Graph) -> frozenset[str]:
    """The inputs of the states of ``graph`` that are parts of windows, which move, as their Keep
    nodes say: their bytes are in use only until the value of the run before is read, and again once
    the new one is there.  Those of others stay their own throughout, and may lie apart."""
    writers = graph.producers()
    keeps = ((state.input, writers[state.output]) for state in graph.states)
    return frozenset(name for name, keep in keeps if keep.op == KEEP and keep.attrs.get(WINDOW))


def with_kept_states(graph: Graph) -> Graph:
    """``graph`` with a Keep node for each state that has none: it writes the state's output, and
    what made that until now writes a tensor of another name, which all others read.

    It runs behind the node that makes the state and all who read the value of the run before.  The
    data flow does not say the latter: who orders nodes anew has to hold to it.  Where the state is
    a part of another tensor, a window that moves, it runs behind the readers of that, which the
    planner may then lay over the state; and it waits for all other windows, the first of which
    moves last.  The row that a window no longer needs lies in front of it then, where the next
    window may end: one row of room is enough for all of them.  Such a node has the attribute
    ``WINDOW``.
    """
    writers, readers = graph.producers(), graph.consumers()
    left = [state for state in graph.states if writers[state.output].op != KEEP]
    if not left:
        return graph
    at = {node.name: position for position, node in enumerate(graph.nodes)}
    tensors, made = dict(graph.tensors), dict[str, str]()
    behind: dict[int, list[Node]] = {}  # by position: the nodes that follow
    windows: dict[int, list[Node]] = {}
    for state in left:
        name = made[state.output] = untaken(f"{state.output}/new", tensors)
        tensors[name] = replace(tensors[state.output], name=name)
        node = Node(untaken(f"keep {state.input}", at), KEEP, (name,), (state.output,))
        users = [writers[state.output], *readers[state.input]]
        found = behind
        while users[0].op in _VIEWS and users[0].inputs[0] in writers:
            window, found = users[0].inputs[0], windows
            node = replace(node, attrs={WINDOW: True})
            users = [writers[window], *_readers(window, readers), *users]
        found.setdefault(max(at[user.name] for user in users), []).append(node)
    for i in sorted(windows, reverse=True):
        behind.setdefault(max(windows), []).extend(reversed(windows[i]))
    nodes = [
        each
        for i, node in enumerate(graph.nodes)
        for each in (_renamed(node, made), *behind.get(i, ()))
    ]
    return replace(graph, nodes=tuple(nodes), tensors=tensors)


def _readers(name: str, readers: Mapping[str, list[Node]]) -> Iterator[Node]:
    """All who read a tensor, or what may be a view of it."""
    for node in readers[name]:
        yield node
        if node.op in _VIEWS:
            yield from _readers(node.output, readers)


def _renamed(node: Node, names: dict[str, str]) -> Node:
    residual = node.epilogue.residual
    return replace(
        node,
        inputs=tuple(names.get(name, name) for name in node.inputs),
        outputs=tuple(names.get(name, name) for name in node.outputs),
        epilogue=replace(node.epilogue, residual=names.get(residual, residual)),
    )


def states_apart(graph: Graph, memory: MemoryMap) -> int:
    """Bytes at the beginning of the arena that hold all states, and nothing that lies partly
    elsewhere: they may be anywhere else.  A multiple of the alignment; 0 where there are no such
    bytes: without states, in several banks, and with an input or output that lies in them, which
    the caller looks for in the arena."""
    used = [bank for bank in memory.banks if bank.bytes]
    if not graph.states or len(used) != 1:
        return 0
    end = 0
    for state in graph.states:
        place = memory.places[state.input]
        end = max(end, place.offset + place.bytes)
    every = [*memory.places.values(), *memory.workspaces.values()]
    inside = [place for place in every if place.region is Region.ARENA and place.bytes]
    for place in sorted(inside, key=lambda place: place.offset):
        end = -(-end // memory.align) * memory.align
        if place.offset >= end:
            break
        end = max(end, place.offset + place.bytes)
    end = -(-end // memory.align) * memory.align
    ports = [memory.places[name] for name in (*graph.input_ports, *graph.output_ports)]
    shared = any(port.region is Region.ARENA and port.offset < end for port in ports)
    return 0 if shared else end


def with_own_layouts(graph: Graph) -> Graph:
    """``graph``, its layouts decided, with each state in the layout in which it is made and read:
    no program has to find it row-major, as inputs and outputs of the caller are, but for those that
    say so."""
    for state in graph.states:
        graph = graph if state.row_major else _in_own_layout(graph, state)
    return graph


def _in_own_layout(graph: Graph, state: State) -> Graph:
    """Without the Convert in front of all readers of the state and the one that makes it, where
    these are to and from one layout that pads nothing.  Integers may be seen as real numbers, or
    real numbers as integers, on the way."""
    readers, writers = graph.consumers(), graph.producers()

    def alone(name: str) -> Node | None:
        found = readers[name]
        return found[0] if len(found) == 1 else None

    front, seen = alone(state.input), [state.input, state.output]
    if front and front.op == "Dequantise":
        seen.append(front.output)
        front = alone(front.output)
    back = writers[state.output]
    if back.op == KEEP and (quantise := writers[back.inputs[0]]).op == "Quantise":
        seen.append(quantise.output)
        back = writers.get(quantise.inputs[0], back)
    if not (front and front.op == back.op == "Convert" and alone(back.inputs[0])):
        return graph
    given = graph[front.output]
    if graph[back.inputs[0]].layout != given.layout or given.elements != given.size:
        return graph
    names = {front.output: front.inputs[0]}
    if back.output == state.output:
        names[back.inputs[0]] = state.output
    elif not alone(back.output):
        return graph
    else:
        names[back.output] = back.inputs[0]
    kept = [_renamed(node, names) for node in graph.nodes if node not in (front, back)]
    changed = {name: replace(graph[name], layout=given.layout) for name in seen}
    tensors = {name: t for name, t in graph.tensors.items() if name not in names}
    return replace(graph, nodes=tuple(kept), tensors={**tensors, **changed})


def with_integer_states(graph: Graph) -> Graph:
    """``graph``, as it is loaded, with each state as the integers that stand for it, where the
    model makes it of these (DequantizeLinear) and all who read it round it to them (QuantizeLinear)
    on one grid of one scale: the numbers of every run are the same."""
    for state in graph.states:
        graph = _in_integers(graph, state)
    return graph


def _in_integers(graph: Graph, state: State) -> Graph:
    readers, writer = graph.consumers()[state.input], graph.producers()[state.output]
    source, kept = writer.inputs[0], {*graph.outputs}
    alike = {(integers_of(node), graph[node.output].dtype) for node in readers if _quantises(node)}
    if writer.op == "Dequantise" and writer.epilogue.is_empty:
        alike.add((integers_of(writer), graph[source].dtype))
    (encoding, dtype), *others = alike or {(FLOAT32, "")}
    rounded = readers and all(_quantises(node) and node.output not in kept for node in readers)
    if not rounded or others or writer.op != "Dequantise" or not encoding.is_per_tensor:
        return graph
    given, made = (f"{name}/integers" for name in (state.input, state.output))
    if {given, made} & graph.tensors.keys():
        return graph
    names = {state.input: given, state.output: made, **{node.output: given for node in readers}}
    keep = Node(f"{made}/Identity", "Identity", (source,), (made,), origin=writer.origin)
    needed = bool(graph.consumers()[state.output])
    nodes = list[Node]()
    for node in graph.nodes:
        if node in readers:
            continue
        if node is not writer or needed:
            nodes.append(_renamed(node, dict.fromkeys((each.output for each in readers), given)))
        if node is writer:
            nodes.append(keep)
    dropped = {*(node.output for node in readers), state.input, *(() if needed else {state.output})}
    tensors = {name: tensor for name, tensor in graph.tensors.items() if name not in dropped}
    like = replace(graph[state.input], dtype=dtype)
    tensors |= {name: replace(like, name=name) for name in (given, made)}
    initial = _quantised(state.initial, graph[state.input].shape, encoding, dtype)
    new = replace(
        state, input=given, output=made, initial=initial, real=(state.input, state.output)
    )
    return replace(
        graph,
        nodes=tuple(nodes),
        tensors=tensors,
        inputs=tuple(names.get(name, name) for name in graph.inputs),
        outputs=tuple(names.get(name, name) for name in graph.outputs),
        states=tuple(new if each is state else each for each in graph.states),
    )


def _quantises(node: Node) -> bool:
    return node.op == "Quantise" and node.epilogue.is_empty


def _quantised(initial: Array | None, shape: Shape, encoding: Encoding, dtype: str) -> Array | None:
    """As QuantizeLinear rounds it; None for zeros."""
    scale, zero = np.float32(encoding.scale[0]), encoding.zero[0]
    real = np.zeros(shape, np.float32) if initial is None else initial.astype(np.float32)
    whole = np.clip(np.rint(real / scale) + zero, encoding.low, encoding.high)
    return whole.astype(array_type(dtype)) if whole.any() else None

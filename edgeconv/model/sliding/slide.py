"""The network of what is new: rows computed in each run, and the states that keep older ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from edgeconv.base.errors import UsageError
from edgeconv.base.names import untaken
from edgeconv.ir.check import check
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph, Node, State, Tensor
from edgeconv.ir.grids import encodings_of
from edgeconv.ir.layout import Shape
from edgeconv.model.sliding.demand import OPTION, Plan, Rows, plan, read_by
from edgeconv.model.sliding.reading import Reading
from edgeconv.model.sliding.recurrences import with_rows_alone
from edgeconv.model.sliding.row_pools import with_row_pools
from edgeconv.model.sliding.track import FAR, ROW, Track


@dataclass(frozen=True, slots=True)
class Slide:
    """A window that moves by ``hop`` rows along ``axis`` from one run to the next."""

    axis: int
    hop: int


@dataclass(frozen=True, slots=True)
class Slid:
    """``graph`` computes what is new.  ``windows``: for each input that slides, how many of its
    rows the results of a run depend on; the first results that mean something are those of the
    run with which so many have come in.  ``carried``: recurrent layers, as the model calls them,
    whose results depend on all rows since the first run.  ``copies``: nodes that compute further
    rows, borders, of one of the model; by name its name."""

    graph: Graph
    windows: Mapping[str, int]
    carried: tuple[str, ...]
    copies: Mapping[str, str]


def slide(graph: Graph, slides: Mapping[str, Slide], *, endless: bool = False) -> Slid:
    """The network that computes ``graph`` over windows that move, from their new rows.

    Each input of ``slides`` becomes its last ``hop`` rows; outputs that have rows in time become
    the newest of them, as many as the window moves by, at least one.  Results are those of
    ``graph`` on the window.  ``endless``: where layers pad the window, they read the rows of the
    stream that lie there instead; results are those of ``graph`` without that padding on a window
    which is larger by so many rows.  Recurrent layers carry their state from run to run then, and
    results are of all rows since the first run.

    Raises EdgeconvError: an input or axis that is not there, more rows than the window has, a layer
    that needs what slides out of sight.
    """
    tracks = {name: _track(graph, name, each, endless) for name, each in slides.items()}
    graph = with_rows_alone(graph, slides)
    graph = with_row_pools(graph, plan(graph, tracks).needs)
    found = plan(graph, tracks)
    windows = {name: len(rows) for name, rows in _windows(graph, tracks).items()}
    carried = (
        node.origin[0] if node.origin else node.name
        for node in graph.nodes
        if node.name in found.readings and found.readings[node.name].carries
    )
    network = _Network(graph, found)
    return Slid(network.graph(), windows, tuple(carried), network.copies)


def extended(graph: Graph, slides: Mapping[str, Slide]) -> Graph:
    """The network without the padding of windows, over windows that are larger by it: what an
    ``endless`` one computes of all the rows that a result depends on."""
    tracks = {name: _track(graph, name, each, endless=True) for name, each in slides.items()}
    graph = with_rows_alone(graph, slides)
    still = {name: replace(track, rate=Fraction(0)) for name, track in tracks.items()}
    return _Network(graph, plan(graph, still)).graph()


def _windows(graph: Graph, tracks: Mapping[str, Track]) -> dict[str, Rows]:
    """For each input that slides all the rows that results depend on."""
    found = plan(graph, {name: replace(track, rate=Fraction(0)) for name, track in tracks.items()})
    return {name: found.needs[name].inner for name in tracks}


def _track(graph: Graph, name: str, given: Slide, endless: bool) -> Track:
    if name not in graph.inputs:
        hint = f"the inputs are {', '.join(map(repr, graph.inputs))}"
        raise UsageError(OPTION, got=repr(name), rule="names an input of the model", hint=hint)
    shape = graph[name].shape
    if not -len(shape) <= given.axis < len(shape):
        rule = f"{name!r} has the shape {list(shape)}"
        raise UsageError(OPTION, got=f"axis {given.axis}", rule=rule)
    axis = given.axis % len(shape)
    if not 1 <= given.hop <= shape[axis]:
        rule = (
            f"the window has {shape[axis]} rows along axis {axis}, and moves by 1 or more of them"
        )
        raise UsageError(OPTION, got=f"{name}:{axis}={given.hop}", rule=rule)
    ends = (-FAR, FAR) if endless else (0, shape[axis])
    return Track(axis, shape[axis], Fraction(given.hop), *ends)


class _Network:
    """The network while it is made: nodes in their order, and where rows of each tensor are."""

    def __init__(self, graph: Graph, found: Plan) -> None:
        self.old, self.plan = graph, found
        self.encodings = encodings_of(graph)
        self.nodes: list[Node] = []
        self.tensors = {t.name: t for t in graph.tensors.values() if t.is_constant}
        self.taken, self.names = {*graph.tensors}, {node.name for node in graph.nodes}
        self.unused = set(self.names)  # names of nodes that are still to come
        self.states: list[State] = []
        self.copies: dict[str, str] = {}
        self._computed: dict[str, list[tuple[Rows, str]]] = {}  # borders, as they are computed
        self._kept: dict[str, str] = {}  # interior rows, kept and fresh ones
        self._views: dict[tuple[str, Rows], str] = {}

    def graph(self) -> Graph:
        """The whole network."""
        for name in self.old.inputs:
            self._add_input(name)
        for node in self.old.nodes:
            self._add(node)
        for name in self.old.outputs:
            if name in self.plan.needs:
                self._add_output(name)
        inputs = (*self.old.inputs, *(state.input for state in self.states))
        outputs = (*self.old.outputs, *(state.output for state in self.states))
        made = replace(
            self.old,
            nodes=tuple(self.nodes),
            tensors=self.tensors,
            inputs=inputs,
            outputs=outputs,
            states=(*self.old.states, *self.states),
        )
        return check(made, "sliding windows")

    def _add_input(self, name: str) -> None:
        needs = self.plan.needs.get(name)
        if needs is None:
            self.tensors[name] = self.old[name]
            return
        shape = _with_rows(self.old[name].shape, needs.track.axis, len(needs.fresh))
        self.tensors[name] = replace(self.old[name], shape=shape)
        self._keep(name, name)

    def _add_output(self, name: str) -> None:
        track = self.plan.needs[name].track
        rows = Rows(max(0, track.rows - track.fresh), track.rows)
        self._emit("Identity", (self.rows(name, rows),), name, name)

    def _add(self, node: Node) -> None:
        found = self.plan.readings.get(node.name)
        if found is None:
            self._add_whole(node)
            return
        if found.carries:
            self._add_recurrent(node)
            return
        needs, name = self.plan.needs[node.output], node.output
        for rows in needs.computed:
            hint = name if rows == needs.fresh else f"{name}.border"
            hint = f"{name}.rows" if hint in self.old.outputs else hint
            made = self._add_rows(node, found, rows, hint)
            if rows == needs.fresh:
                self._keep(name, made)
            else:
                self._computed.setdefault(name, []).append((rows, made))

    def _add_whole(self, node: Node) -> None:
        """A node whose result does not slide, of the whole window."""
        sliding = self.plan.inputs_of(node).values()
        seen = {
            name: self.rows(name, Rows(0, self.plan.needs[name].track.rows)) for name in sliding
        }
        for name in node.outputs:
            if name:
                self.tensors[name] = self.old[name]
        inputs = tuple(seen.get(name, name) for name in node.inputs)
        self.nodes.append(replace(node, name=self._name_of(node), inputs=inputs))

    def _add_recurrent(self, node: Node) -> None:
        """The new steps of a recurrent layer, from the state that the run before has left; of a
        window that stays where it is all steps, from the first state."""
        needs, name, old = self.plan.needs[node.output], node.output, self.old[node.output]
        inputs, steps = list(node.inputs), len(needs.fresh)
        inputs[0] = self.rows(inputs[0], needs.fresh)
        cells = ("h", "c") if node.attrs["cell"] == "LSTM" else ("h",)
        size = _with_rows(old.shape, 0, steps + len(cells))
        every = self._tensor(f"{name}.steps", replace(old, shape=size))

        def cut(hint: str, start: int, count: int) -> str:
            view = replace(old, shape=_with_rows(old.shape, 0, count))
            starts, ones = (start, 0, 0, 0), (1,) * 4
            made = self._tensor(hint, view)
            return self._emit("Slice", (every,), made, name, starts=starts, steps=ones)

        kept: list[State] = []
        for number, cell in enumerate(cells if needs.track.rate else (), 3):
            like = replace(old, shape=old.shape[1:])
            state, after = (self._tensor(f"{name}.{cell}{end}", like) for end in ("", ".next"))
            first, inputs[number] = inputs[number], state
            kept.append(State(state, after, self.old[first].data if first else None))
        given = tuple(inputs)
        made = replace(node, name=self._name_of(node), inputs=given, outputs=(every,))
        self.nodes.append(made)
        self._keep(name, cut(name, 0, steps))
        for number, each in enumerate(kept):
            last = cut(f"{name}.last", steps + number, 1)
            self._emit("Reshape", (last,), each.output, name)
        self.states += kept

    def _add_rows(self, node: Node, found: Reading, rows: Rows, hint: str) -> str:
        """Add a node that computes ``rows`` of the result of ``node``; returns their name."""
        window, inputs, front, back, axis = found.window, list(node.inputs), 0, 0, found.axis
        for number, name in self.plan.inputs_of(node).items():
            track = self.plan.needs[name].track
            begin, end = window.reads(rows.begin, rows.end)
            read, axis = read_by(found, rows, track), track.axis
            front, back = read.begin - begin, max(0, end - read.end)
            spaced = found.dilates and len(rows) == 1 and not (front or back)
            if spaced and track.first <= read.begin and read.end <= track.end:
                inputs[number] = self._spaced(name, read)
                window = replace(window, dilation=window.dilation * track.delay)
            else:
                inputs[number] = self.rows(name, read)
        if len(rows) == 1:
            window = replace(window, stride=1)
        epilogue = node.epilogue
        if epilogue.residual:
            epilogue = replace(epilogue, residual=self.rows(epilogue.residual, rows))
        attrs = node.attrs
        if found.window != ROW:
            attrs = found.restrict(attrs, axis, window, front, back)
        shape = _with_rows(self.old[node.output].shape, found.axis, len(rows))
        out = self._tensor(hint, replace(self.old[node.output], shape=shape))
        self.nodes.append(
            replace(
                node,
                name=self._name_of(node),
                inputs=tuple(inputs),
                outputs=(out,),
                attrs=attrs,
                epilogue=epilogue,
            )
        )
        return out

    def rows(self, name: str, rows: Rows) -> str:
        """A tensor that has ``rows`` of the window of ``name``, and no others."""
        if (name, rows) in self._views:
            return self._views[name, rows]
        needs = self.plan.needs[name]
        places = {
            begun.begin: self._some(border, name, begun.begin, wanted, 1)
            for begun, border in self._computed.get(name, ())
            if len(wanted := rows.within(begun.begin, begun.end))
        }
        inner = rows.within(needs.track.first, needs.track.end)
        if len(inner):
            kept, delay = self._kept[name], needs.track.delay
            oldest = needs.inner.end - 1 - (self._rows_of(kept, name) - 1) // delay
            places[inner.begin] = self._some(kept, name, oldest, inner, delay)
        found = [places[begin] for begin in sorted(places)]
        view = found[0]
        if len(found) > 1:
            shape = _with_rows(self.old[name].shape, needs.track.axis, len(rows))
            view = self._tensor(f"{name}.window", replace(self.old[name], shape=shape))
            self._emit("Concat", found, view, name, axis=needs.track.axis)
        self._views[name, rows] = view
        return view

    def _spaced(self, name: str, rows: Rows) -> str:
        """Interior rows with all that lie between them in memory: those of other runs."""
        needs = self.plan.needs[name]
        kept, delay = self._kept[name], needs.track.delay
        last = self._rows_of(kept, name) - (needs.inner.end - rows.end) * delay
        every = Rows(last - (len(rows) - 1) * delay - 1, last)
        return self._some(kept, name, 0, every, 1)

    def _some(self, source: str, name: str, begin: int, rows: Rows, delay: int) -> str:
        """``rows`` of a tensor whose rows are those from ``begin`` on, with ``delay`` from one to
        the next."""
        axis, tensor = self.plan.needs[name].track.axis, self.tensors[source]
        if len(rows) == self._rows_of(source, name):
            return source
        rank = len(tensor.shape)
        starts, steps = [0] * rank, [1] * rank
        starts[axis], steps[axis] = (rows.begin - begin) * delay, delay
        view = replace(tensor, shape=_with_rows(tensor.shape, axis, len(rows)))
        return self._emit(
            "Slice",
            (source,),
            self._tensor(f"{name}.view", view),
            name,
            starts=tuple(starts),
            steps=tuple(steps),
        )

    def _rows_of(self, source: str, name: str) -> int:
        return self.tensors[source].shape[self.plan.needs[name].track.axis]

    def _keep(self, name: str, fresh: str) -> None:
        """Put the fresh rows of a tensor behind those that a state keeps, as far as any is read
        again."""
        needs = self.plan.needs[name]
        older = (len(needs.inner) - 1) * needs.track.delay + 1 - len(needs.fresh)
        self._kept[name] = fresh
        if older > 0:
            self._kept[name] = self._with_history(name, fresh, older)

    def _with_history(self, name: str, fresh: str, older: int) -> str:
        """All rows: ``older`` ones of a state and the fresh ones.  Channels lie last in the state,
        as convolutions of integers read them, and rows as far out as that allows."""
        axis, tensor, encoding = (
            self.plan.needs[name].track.axis,
            self.tensors[fresh],
            self.encodings.get(name),
        )
        rank = len(tensor.shape)
        last = axis >= 2
        perm = (0, *range(2, rank), 1) if last else tuple(range(rank))
        along = perm.index(axis)
        shape = tuple(tensor.shape[d] for d in perm)
        new = self._cast("Quantise", encoding, self._permuted(name, fresh, perm), name)
        kept = replace(self.tensors[new], shape=_with_rows(shape, along, older))
        state = self._tensor(f"{name}.state", kept)
        whole = _with_rows(shape, along, older + tensor.shape[axis])
        rows = self._tensor(f"{name}.history", replace(kept, shape=whole))
        self._emit("Concat", (state, new), rows, name, axis=along)
        starts = tuple(tensor.shape[axis] if d == along else 0 for d in range(rank))
        following = self._tensor(f"{name}.next", kept)
        self._emit("Slice", (rows,), following, name, starts=starts, steps=(1,) * rank)
        zero = encoding.zero[0] if encoding else 0  # the integer that stands for 0
        initial = np.full(kept.shape, zero, kept.dtype) if zero else None
        self.states.append(State(state, following, initial))
        real = self._cast("Dequantise", encoding, rows, name)
        return self._permuted(name, real, tuple(perm.index(d) for d in range(rank)))

    def _cast(self, op: str, encoding: Encoding | None, source: str, name: str) -> str:
        """The integers of real numbers that are on a grid, or the other way; else they stay."""
        if encoding is None:
            return source
        dtype = f"int{encoding.bits}" if op == "Quantise" else "float32"
        made = Tensor(f"{name}.{op.lower()}d", self.tensors[source].shape, dtype)
        return self._emit(op, (source,), self._tensor(made.name, made), name, encoding=encoding)

    def _permuted(self, name: str, source: str, perm: Shape) -> str:
        if perm == tuple(range(len(perm))):
            return source
        tensor = self.tensors[source]
        moved = replace(tensor, shape=tuple(tensor.shape[d] for d in perm))
        out = self._tensor(f"{name}.transposed", moved)
        return self._emit("Transpose", (source,), out, name, perm=perm)

    def _tensor(self, hint: str, like: Tensor) -> str:
        name = hint if hint not in self.tensors and hint in self.old.tensors else ""
        name = name or untaken(hint, self.taken)
        self.taken.add(name)
        self.tensors[name] = replace(like, name=name)
        return name

    def _name_of(self, node: Node) -> str:
        """What a node that computes rows of ``node`` is called."""
        name = self._node_name(node.name)
        if name != node.name:
            self.copies[name] = node.name
        return name

    def _node_name(self, hint: str) -> str:
        """``hint``, or another name where a node has it."""
        name = hint if hint in self.unused else untaken(hint, self.names)
        self.unused.discard(name)
        self.names.add(name)
        return name

    def _emit(self, op: str, inputs: Iterable[str], out: str, name: str, **attrs: object) -> str:
        """A node of data movement; ``name``: the tensor whose rows it moves."""
        if out not in self.tensors:
            source = self.tensors[next(iter(inputs))]
            self.tensors[out] = replace(source, name=out)
        self.nodes.append(Node(self._node_name(f"{out}/{op}"), op, tuple(inputs), (out,), attrs))
        return out


def _with_rows(shape: Shape, axis: int, rows: int) -> Shape:
    return (*shape[:axis], rows, *shape[axis + 1 :])

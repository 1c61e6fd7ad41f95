"""Which rows of every tensor a run needs, from the outputs back to the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph, Node
from edgeconv.model.sliding.reading import Reading, RefusedError, reading
from edgeconv.model.sliding.track import Track

OPTION = "--stream"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows [``begin``, ``end``) of a window."""

    begin: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.begin)

    def within(self, begin: int, end: int) -> Rows:
        """The rows among them in [``begin``, ``end``)."""
        return Rows(max(self.begin, begin), min(self.end, end))


def hull(ranges: list[Rows]) -> Rows:
    """The smallest range with all of ``ranges``, as far as they have rows."""
    filled = [rows for rows in ranges if len(rows)] or [Rows(0, 0)]
    return Rows(min(rows.begin for rows in filled), max(rows.end for rows in filled))


@dataclass(slots=True)
class Needs:
    """The rows of one tensor that others read."""

    track: Track
    ranges: list[Rows] = field(default_factory=list)

    @property
    def front(self) -> Rows:
        """Rows of the border in front."""
        return hull([rows.within(rows.begin, self.track.first) for rows in self.ranges])

    @property
    def back(self) -> Rows:
        """Rows of the border behind."""
        return hull([rows.within(self.track.end, rows.end) for rows in self.ranges])

    @property
    def inner(self) -> Rows:
        """Interior rows, all of which are fresh or were so in an earlier run."""
        track = self.track
        return hull([rows.within(track.first, track.end) for rows in self.ranges])

    @property
    def fresh(self) -> Rows:
        """The interior rows that are computed in this run."""
        inner = self.inner
        return Rows(inner.end - min(self.track.fresh, len(inner)), inner.end)

    @property
    def computed(self) -> tuple[Rows, ...]:
        """What a run computes, in the order of rows."""
        return tuple(rows for rows in (self.front, self.fresh, self.back) if len(rows))


@dataclass(frozen=True, slots=True)
class Plan:
    """What slides in a network: the rows needed of each tensor that does, and how each node that
    makes one reads its inputs."""

    needs: Mapping[str, Needs]
    readings: Mapping[str, Reading]

    def inputs_of(self, node: Node) -> dict[int, str]:
        """The inputs of ``node`` that slide, by number."""
        return {i: name for i, name in enumerate(node.inputs) if name in self.needs}


def plan(graph: Graph, inputs: Mapping[str, Track]) -> Plan:
    """What must be computed of ``graph`` where ``inputs`` slide.  Raises EdgeconvError with the
    layer and the reason where new rows and states are not enough."""
    needs = {name: Needs(track) for name, track in inputs.items()}
    readings: dict[str, Reading] = {}
    whole = Plan(needs, readings)
    given = {*graph.inputs} - {*inputs}  # known at run time, of this run alone
    for node in graph.nodes:
        sliding = whole.inputs_of(node)
        if not sliding and node.epilogue.residual not in needs:
            if given.intersection(node.reads()):
                given.update(node.outputs)
            continue
        found = _read(node, graph, whole, given)
        if found is None:
            given.update(node.outputs)
            continue
        readings[node.name] = found
        tracks = [needs[name].track for name in sliding.values()]
        rows = found.rows or graph[node.output].shape[found.axis]
        made = _joined(node, [each.through(found.window, found.axis, rows) for each in tracks])
        if node.epilogue.residual:
            made = _joined(node, [made, needs[node.epilogue.residual].track])
        needs[node.output] = Needs(made)
        if found.carries:
            needs[node.output].ranges.append(_carried(node, made))
    for name in graph.outputs:
        if name in needs:
            track = needs[name].track
            needs[name].ranges.append(Rows(max(0, track.rows - track.fresh), track.rows))
    for node in reversed(graph.nodes):
        for name, read in _reads(node, whole):
            needs[name].ranges.append(read)
    for name, track in inputs.items():  # a run brings the last rows, whoever reads them
        newest = max(needs[name].inner.end, track.rows)
        needs[name].ranges.append(Rows(newest - max(1, int(track.rate)), newest))
    for node in graph.nodes:
        if node.output in needs:
            _require_regular(node, needs[node.output])
    return whole


def _read(node: Node, graph: Graph, whole: Plan, given: set[str]) -> Reading | None:
    sliding = whole.inputs_of(node)
    try:
        if len(node.outputs) != 1 or not sliding:
            raise RefusedError(f"{node.op} along the axis needs what lies outside of the new rows")
        found = reading(
            node, graph, {i: whole.needs[name].track.axis for i, name in sliding.items()}
        )
        if found is None and node.epilogue.residual in whole.needs:
            raise RefusedError(
                "a tensor that slides is added to what was computed of the whole window"
            )
        if found and (mixed := given.intersection(node.reads())):
            rule = f"every row depends on {mixed.pop()!r}, which was computed of the whole window"
            raise RefusedError(rule)
    except RefusedError as reason:
        raise refusal(node, str(reason)) from None
    return found


def refusal(node: Node, rule: str, hint: str = "") -> EdgeconvError:
    """The error of a ``node`` that cannot be computed from new rows."""
    where = node.origin[0] if node.origin else node.name
    return EdgeconvError(
        f"{OPTION}: layer cannot slide",
        where=f"{where} ({node.op})",
        rule=rule,
        hint=hint
        or f"compile the part in front of it (--output), or the whole window without {OPTION}",
    )


def _joined(node: Node, tracks: list[Track]) -> Track:
    """The track of rows that are computed from those of several tensors."""
    one = tracks[0]
    same = {(each.axis, each.rows, each.rate) for each in tracks}
    if len(same) > 1:
        rule = "its inputs have other numbers of rows, or move by other numbers of rows"
        raise refusal(node, rule)
    first, end = max(each.first for each in tracks), min(each.end for each in tracks)
    if first >= end:
        first = end = one.rows
    return Track(one.axis, one.rows, one.rate, first, end)


def _carried(node: Node, track: Track) -> Rows:
    """The rows of a result of which each is computed of the one before: all that are new."""
    if not track.endless:
        rule = "it begins anew in each window"
        hint = "--stream-borders stream carries its state from run to run"
        raise refusal(node, rule, hint)
    if track.rate.denominator > 1:
        rule = (
            f"the window moves by {track.rate} of its rows, each of which is computed of the last"
        )
        raise refusal(node, rule, f"k times {track.rate.denominator} would do")
    return Rows(max(0, track.rows - track.fresh), track.rows)


def _reads(node: Node, whole: Plan) -> Iterator[tuple[str, Rows]]:
    """The rows that ``node`` reads of what slides, for all that it computes."""
    sliding = whole.inputs_of(node)
    found = whole.readings.get(node.name)
    if found is None:
        for name in sliding.values():
            yield name, Rows(0, whole.needs[name].track.rows)
        return
    residual = node.epilogue.residual
    for rows in whole.needs[node.output].computed:
        for name in sliding.values():
            yield name, read_by(found, rows, whole.needs[name].track)
        if residual:
            yield residual, rows


def read_by(found: Reading, rows: Rows, track: Track) -> Rows:
    """The rows there are of ``track`` that ``rows`` of a result read; at least one."""
    begin, end = found.window.reads(rows.begin, rows.end)
    if track.endless:
        return Rows(begin, end)
    begin = min(max(begin, 0), track.rows - 1)
    return Rows(begin, max(min(end, track.rows), begin + 1))


def _require_regular(node: Node, needs: Needs) -> None:
    track = needs.track
    if track.regular or len(needs.inner) <= len(needs.fresh):
        return
    rule = f"the window moves by {track.rate} of its rows, so that none is where one was before"
    hint = f"k times {track.rate.denominator} would do"
    raise refusal(node, rule, hint)

"""Where the operands of a layer lie when it begins, in a network that runs again and again.

The caches of a run are warm from the run before: weights are touched once per run, so that they
come from memory only where a whole run does not fit the last cache.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from edgeconv.ir.choice import ArgKind, Choice, Layer
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.search.memory.contents import Contents, Piece
from edgeconv.target.price.operands import Touched, Use

Span = tuple[int, int]  # [begin, end)


def is_free(layer: Layer, index: int, memory: MemoryMap) -> bool:
    """No call is emitted: all that the layer would copy lies in its place already."""
    aliases = range(len(layer.aliases))
    return layer.free_if_aliased and all((index, n) in memory.granted for n in aliases)


def uses(choice: Choice, memory: MemoryMap, others: Sequence[float] = ()) -> list[tuple[Use, ...]]:
    """The operands of every layer, in execution order; none for a layer that needs no code.
    ``others``: bytes that other cores bring into the last cache during each."""
    steps = [_step(choice.layers[index], index, memory) for index in memory.order]
    return list(_History(steps, memory.arena_bytes, others).uses())


@dataclass(frozen=True, slots=True)
class _Operand:
    """A tensor or workspace that a layer touches, without what is granted as a view."""

    kind: ArgKind
    ref: str
    region: str
    bank: int | None
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """What a layer touches: memory that all layers share, and ``weights`` bytes of its own."""

    operands: tuple[_Operand, ...]
    weights: int

    @property
    def shared(self) -> int:
        return sum(_size(operand.spans) for operand in self.operands)


def _step(layer: Layer, index: int, memory: MemoryMap) -> _Step:
    if is_free(layer, index, memory):
        return _Step((), 0)
    views = {
        alias.input
        for number, alias in enumerate(layer.aliases)
        if alias.exact and (index, number) in memory.granted
    }
    covered = sorted(_span(memory.places[name]) for name in views)
    found = []
    for arg in layer.operands:
        if arg.kind is ArgKind.INPUT and arg.ref in views:
            continue
        workspace = arg.kind is ArgKind.WORKSPACE
        place = memory.workspaces[index] if workspace else memory.places[arg.ref]
        spans = [_span(place)]
        if arg.kind is ArgKind.OUTPUT:
            for view in covered:
                spans = list(_without(spans, view))
        bank = place.bank if place.region is Region.ARENA else None
        found.append(_Operand(arg.kind, arg.ref, _region(place), bank, tuple(spans)))
    return _Step(tuple(found), sum(blob.bytes for blob in layer.blobs))


def _region(place: Place) -> str:
    """A name for the addresses that offsets count from."""
    number = place.bank if place.region is Region.ARENA else place.index
    return f"{place.region.value} {number}"


def _span(place: Place) -> Span:
    return place.offset, place.offset + place.bytes


class _History:
    """The steps of one run after another.

    The runs are replayed over intervals of bytes that know the step that touched them last, so that
    a step costs what it touches, however long ago that was made.
    """

    def __init__(self, steps: Sequence[_Step], arena: int, others: Sequence[float] = ()) -> None:
        self._steps, self._arena = steps, arena
        self._during = others or [0.0] * len(steps)
        self._others = [0.0, *accumulate((*self._during, *self._during))]
        self._run = sum(step.weights for step in steps) + arena  # bytes touched by a whole run
        # Steps are numbered through two runs; bytes touched before each, with repetition.
        self._weights = [0, *accumulate(step.weights for step in (*steps, *steps))]
        self._shared = [0, *accumulate(step.shared for step in (*steps, *steps))]
        self._touched: defaultdict[str, Contents[int]] = defaultdict(Contents)

    def uses(self) -> Iterator[tuple[Use, ...]]:
        """The operands of every step."""
        for now, step in enumerate(self._steps):
            self._touch(now, step)
        for now, step in enumerate(self._steps, len(self._steps)):
            yield tuple(self._uses(now, step))
            self._touch(now, step)

    def _touch(self, now: int, step: _Step) -> None:
        for operand in step.operands:
            for begin, end in operand.spans:
                self._touched[operand.region].write(begin, Piece(end - begin, now, begin))

    def _uses(self, now: int, step: _Step) -> Iterator[Use]:
        inputs = {
            (operand.region, operand.spans)
            for operand in step.operands
            if operand.kind is ArgKind.INPUT
        }
        for operand in step.operands:
            output = operand.kind is ArgKind.OUTPUT
            yield Use(
                kind=operand.kind,
                ref=operand.ref,
                bytes=_size(operand.spans),
                ages=tuple(self._ages(now, operand)),
                bank=operand.bank,
                in_place=output and (operand.region, operand.spans) in inputs,
            )
        if step.weights:
            ages = (Touched(step.weights, self._run, sum(self._during)),)
            yield Use(ArgKind.WEIGHTS, "", step.weights, ages)

    def _ages(self, now: int, operand: _Operand) -> Iterator[Touched]:
        """By the step that met the bytes last, the latest first: this one, a run ago, met all."""
        met: Counter[int] = Counter()
        for begin, end in operand.spans:
            for piece in self._touched[operand.region].read(begin, end - begin):
                met[piece.origin] += piece.size
        for then in sorted(met, reverse=True):
            step = self._steps[then % len(self._steps)]
            weights = self._weights[now] - self._weights[then + 1]
            shared = self._shared[now] - self._shared[then + 1]
            # Of what the step touched, half came after these bytes on average.
            between = min(self._arena, shared + step.shared / 2)
            during = self._during[then % len(self._steps)] + self._during[now % len(self._steps)]
            others = self._others[now] - self._others[then + 1] + during / 2
            yield Touched(met[then], weights + step.weights / 2 + between, others)


def _without(spans: Iterable[Span], taken: Span) -> Iterator[Span]:
    for begin, end in spans:
        if begin < min(end, taken[0]):
            yield begin, min(end, taken[0])
        if max(begin, taken[1]) < end:
            yield max(begin, taken[1]), end


def _size(spans: Iterable[Span]) -> int:
    return sum(end - begin for begin, end in spans)

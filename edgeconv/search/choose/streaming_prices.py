"""What layers take one after the other, and what they take where they stream rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from edgeconv.ir.choice import ArgKind, Choice, Layer, divides_of, tensor_bytes
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.step import Divides, Share, calls, least_rings, patches_of
from edgeconv.search.choose.select import lowered
from edgeconv.target.price import Machine
from edgeconv.target.price.operands import Touched, Use, between_neighbours
from edgeconv.target.price.price import Price
from edgeconv.target.price.row_streaming import StreamedLayer, prices
from edgeconv.target.price.sharing import crowded
from edgeconv.target.targets import Target


class SomeRows:
    """Kernel calls for some rows of a layer, as they stream rows; none is planned twice."""

    def __init__(self, graph: Graph, target: Target) -> None:
        self._graph, self._target = graph, target
        self._empty = replace(graph, nodes=(), tensors={}, inputs=(), outputs=())
        self._known: dict[tuple[str, int, int, bool, bool], tuple[Layer, tuple[Use, ...]]] = {}

    def of(
        self, layer: Layer, rows: int, *, from_ring: bool, to_ring: bool, columns: int = 0
    ) -> tuple[Layer, tuple[Use, ...]]:
        """The call that computes so many ``rows`` of ``layer``, and its operands.  Their first
        input is a ring with ``from_ring``, their result with ``to_ring``.  ``columns``: of these
        rows those of a patch, 0 for all."""
        key = layer.node.name, rows, columns, from_ring, to_ring
        if key not in self._known:
            assert layer.divides
            if layer.accumulates:
                self._known[key] = self._of_sums(layer, rows, columns)
                return self._known[key]
            node, tensors = self._of_rows(layer.node, layer.divides, rows, from_ring, to_ring)
            if columns:
                node, tensors = _of_columns(node, tensors, layer.divides, columns)
            graph = replace(self._empty, nodes=(node,), tensors=tensors)
            made = lowered(node, graph, self._target)
            self._known[key] = made, between_neighbours(made, tensors, 0)
        return self._known[key]

    def _of_sums(self, layer: Layer, rows: int, columns: int) -> tuple[Layer, tuple[Use, ...]]:
        """The call that adds up so many ``rows``, or ``columns`` of these, of all that ``layer``
        reads: a part of its work."""
        node, divides = layer.node, layer.divides
        assert divides
        names = dict.fromkeys(name for name in (*node.reads(), *node.outputs) if name)
        tensors = {name: self._graph[name] for name in names}
        x = tensors[node.inputs[0]]
        width = columns or x.shape[-1]
        tensors[x.name] = replace(x, ring=divides.rows, ring_columns=0)
        graph = replace(self._empty, nodes=(node,), tensors=tensors)
        made = lowered(node, graph, self._target)
        part = rows * width / (divides.rows * x.shape[-1])
        made = replace(made, work=made.work.times(part))
        tensors[x.name] = replace(x, ring=rows, ring_columns=width)
        return made, between_neighbours(made, tensors, 0)

    def _of_rows(
        self, node: Node, divides: Divides, rows: int, from_ring: bool, to_ring: bool
    ) -> tuple[Node, dict[str, Tensor]]:
        """``node`` as one of an image that is so small, without a border above and below."""
        read = (rows - 1) * divides.stride + divides.reach
        names = dict.fromkeys(name for name in (*node.reads(), *node.outputs) if name)
        tensors = {name: self._graph[name] for name in names}
        heights = {node.inputs[0]: (read, from_ring), node.output: (rows, to_ring)}
        if residual := node.epilogue.residual:
            heights[residual] = rows, False
        for name, (height, ring) in heights.items():
            shape = tensors[name].shape
            shape = (*shape[:-2], height, shape[-1])
            tensors[name] = replace(tensors[name], shape=shape, ring=height if ring else 0)
        if "pads" not in node.attrs:  # a change of layout
            return node, tensors
        rank = len(tensors[node.output].shape) - 2
        pads = list(node.attrs["pads"])
        pads[rank - 2] = pads[-2] = 0
        return replace(node, attrs={**node.attrs, "pads": tuple(pads)}), tensors


def _of_columns(
    node: Node, tensors: dict[str, Tensor], divides: Divides, columns: int
) -> tuple[Node, dict[str, Tensor]]:
    """``node`` as one of an image that is so narrow, with a border on one side: two patches have
    one each, of more all but two have none."""
    own = divides.columns
    assert own
    read = max(1, (columns - 1) * own.stride + own.reach - own.pad)
    widths = {node.inputs[0]: read, node.output: columns}
    if residual := node.epilogue.residual:
        widths[residual] = columns
    for name, width in widths.items():
        held = tensors[name]
        tensors[name] = replace(held, shape=(*held.shape[:-1], width), ring_columns=0)
    if "pads" in node.attrs:
        pads = list(node.attrs["pads"])
        pads[-1] = 0
        node = replace(node, attrs={**node.attrs, "pads": tuple(pads)})
    return node, tensors


def priced(
    choice: Choice,
    numbers: Sequence[int],
    stream_rows: int,
    whole: Sequence[Sequence[Use]],
    some_rows: SomeRows,
    machine: Machine,
    share: Share | None = None,
    patches: int = 1,
) -> list[Price]:
    """What each of the layers ``numbers`` of ``choice`` takes where they are a step of
    ``stream_rows`` rows per round, all of it or a worker's ``share``, or in so many ``patches``,
    all of which are taken to be as wide as they are on average, rounded up.  ``whole``: their
    operands as they are when the step begins."""
    layers = [choice.layers[i] for i in numbers]
    divides = divides_of(layers)
    count, total = _calls_and_rows(tuple(divides), stream_rows, share)
    widths = [
        sum(each.width for each in of) for of in zip(*patches_of(divides, patches), strict=True)
    ]
    found = []
    for i, (layer, own, operands) in enumerate(zip(layers, divides, whole, strict=True)):
        rows = -(-total[i] // max(1, count[i])) or 1  # none where a share reads padding alone
        columns = -(-widths[i] // patches) if patches > 1 else 0
        rings = {"from_ring": 0 < own.source <= i, "to_ring": i < len(layers) - 1}
        call, each = some_rows.of(layer, rows, **rings, columns=columns)
        read = (rows - 1) * own.stride + own.reach
        fresh = min(1.0, rows * own.stride / read)
        found.append(StreamedLayer(call, each, patches * total[i] / rows, fresh, tuple(operands)))
    return prices(found, machine)


@lru_cache(maxsize=4096)  # searches ask for each number of patches
def _calls_and_rows(
    divides: tuple[Divides, ...], stream_rows: int, share: Share | None
) -> tuple[Counter[int], Counter[int]]:
    """By the number of a layer in a step: its calls, and the rows that these compute."""
    count: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for number, row0, row1 in calls(
        divides, least_rings(divides, stream_rows, share), stream_rows, share
    ):
        count[number] += 1
        total[number] += row1 - row0
    return count, total


def slowest(
    choice: Choice,
    numbers: Sequence[int],
    stream_rows: int,
    whole: Sequence[Sequence[Use]],
    some_rows: SomeRows,
    machine: Machine,
    shares: Sequence[Share],
) -> tuple[float, list[Price]]:
    """Seconds of a step that workers share, from handing it out to the last one's end, and what
    each layer takes the slowest worker."""
    team = machine.team
    assert team
    own = crowded(machine, team, len(shares))
    found = []
    for share, speed in zip(shares, team.speeds, strict=False):
        each = priced(choice, numbers, stream_rows, whole, some_rows, own, share)
        found.append((sum(price.seconds for price in each) / speed, each))
    seconds, each = max(found, key=lambda worker: worker[0])
    return seconds + team.fork_join, each


def streamed_prices(
    choice: Choice, operands: Mapping[int, Sequence[Use]], machine: Machine, target: Target
) -> dict[int, Price]:
    """By layer that streams rows what it takes; ``operands`` by layer, as they are when its step
    begins."""
    some_rows = SomeRows(choice.graph, target)
    found: dict[int, Price] = {}
    for step in choice.steps:
        if step.stream_rows:
            whole = [operands[i] for i in step.layers]
            each = priced(
                choice,
                step.layers,
                step.stream_rows,
                whole,
                some_rows,
                machine,
                patches=step.patches,
            )
            if step.shares and machine.team:
                args = choice, step.layers, step.stream_rows, whole, some_rows, machine, step.shares
                _, each = slowest(*args)
                each[-1] = _handed_out(each[-1], machine.team.fork_join)
            found.update(zip(step.layers, each, strict=True))
    return found


def _handed_out(price: Price, seconds: float) -> Price:
    """With what it takes to hand out the step."""
    duration = replace(price.duration, overhead=price.duration.overhead + seconds)
    return replace(price, duration=duration)


def around(choice: Choice, numbers: Sequence[int], constants: int) -> list[tuple[Use, ...]]:
    """The operands of the layers of a step whose place in memory is not known yet, as
    `between_neighbours` has them of one layer: what is a ring counts for nothing."""
    layers = [choice.layers[i] for i in numbers]
    rings = {layer.node.output for layer in layers[:-1]}
    weights = sum(blob.bytes for layer in layers for blob in layer.blobs)
    names = {name for layer in layers for name in _held(layer)} - rings
    distance = weights + sum(tensor_bytes(choice.graph[name]) for name in names)
    found = []
    for layer in layers:
        uses = between_neighbours(layer, choice.graph.tensors, max(constants, distance))
        found.append(tuple(_aged(use, distance) for use in uses))
    return found


def _held(layer: Layer) -> Iterator[str]:
    """Tensors that a layer reads and writes."""
    for arg in layer.args:
        if arg.kind in (ArgKind.INPUT, ArgKind.OUTPUT):
            yield arg.ref


def _aged(use: Use, distance: int) -> Use:
    if use.kind is ArgKind.WEIGHTS:
        return use
    ages = (Touched(use.bytes, distance),)
    return Use(use.kind, use.ref, use.bytes, ages, use.bank, use.in_place)

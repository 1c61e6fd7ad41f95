"""Layers that stream rows, so that memory holds some rows of what lies between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, pairwise

from edgeconv.ir.choice import Alias, Choice, Layer, divides_of, tensor_bytes
from edgeconv.ir.graph import Graph
from edgeconv.ir.step import (
    Divides,
    Share,
    Step,
    columns_read,
    is_path,
    least_rings,
    overlap,
    patches_of,
)
from edgeconv.search.choose.select import lowered
from edgeconv.target.targets import Target

_overlap = lru_cache(maxsize=4096)(overlap)  # blocks of a network are often alike
PATCHES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)  # of a step, that are tried
MOST_COLUMNS = 32767  # of an image that patches are made of: what ec_columns.h counts


def joins(choice: Choice, *, for_ram: bool = False) -> Iterator[tuple[int, int, str]]:
    """Neighbouring steps that can be one: the first layer, how many there are, and what lies
    between the two steps; none in patches.  With those that accumulate what they read only
    ``for_ram``: that gains no time."""
    reads = readers(choice)
    for step, after in pairwise(choice.steps):
        maker, reader = choice.layers[step.layers[-1]], choice.layers[after.layers[0]]
        name = maker.node.output
        if (reader.accumulates and not for_ram) or max(step.patches, after.patches) > 1:
            continue
        if reader.node.inputs[0] == name and not obstacle(maker, reader, reads[name]):
            yield step.layers[0], len(step.layers) + len(after.layers), name


def readers(choice: Choice) -> Counter[str]:
    """How often each tensor is read, by the caller too."""
    reads = Counter(chain.from_iterable(layer.node.reads() for layer in choice.layers))
    reads.update(choice.graph.outputs)
    return reads


def obstacle(maker: Layer, reader: Layer, reads: int) -> str:
    """Why ``reader`` cannot stream rows from ``maker``, whose result is read so often; "" where it
    can."""
    for layer in (maker, reader):
        if not layer.divides:
            return f"{layer.algorithm} computes all rows of {layer.node.name} at once"
    if maker.accumulates:
        return f"{maker.node.name} reads all rows before it has a result"
    if reads > 1:
        return "more than one reads what lies between"
    if maker.node.epilogue.residual:
        return f"what {maker.node.name} adds lies in memory as a whole, its result would not"
    return ""


def can_stream(layers: Sequence[Layer], reads: Mapping[str, int]) -> bool:
    """Whether these layers, which follow each other, can be a step for RAM: nobody else reads what
    lies between them, and they read it by rows.  ``reads``: how often each tensor is read."""
    inside = {layer.node.output for layer in layers[:-1]}
    by_rows: Counter[str] = Counter()
    for layer in layers:
        residual = layer.node.epilogue.residual
        if not layer.divides or (layer.accumulates and layer is not layers[-1]):
            return False
        is_ring = layer is not layers[-1]
        if residual and (residual in inside) != is_ring and not layer.divides.adds_apart:
            return False
        by_rows.update(name for name in (layer.node.inputs[0], residual) if name)
    return all(by_rows[name] == reads[name] for name in inside)


def one_by_one(choice: Choice, target: Target) -> Choice:
    """``choice`` with every layer a step of its own."""
    whole = {
        name: replace(t, ring=0, ring_columns=0)
        for name, t in choice.graph.tensors.items()
        if t.ring
    }
    if not whole:
        return choice
    graph = choice.graph.with_tensors(whole)
    inside = set(chain.from_iterable(step.layers for step in choice.steps if step.stream_rows))
    layers = (
        lowered(layer.node, graph, target) if i in inside else layer
        for i, layer in enumerate(choice.layers)
    )
    steps = (
        [Step((i,)) for i in step.layers] if step.stream_rows else [step] for step in choice.steps
    )
    return replace(
        choice, graph=graph, layers=tuple(layers), steps=tuple(chain.from_iterable(steps))
    )


def stream_rows_of(
    choice: Choice,
    target: Target,
    first: int,
    count: int,
    stream_rows: int,
    shares: Sequence[Share] = (),
    patches: int = 1,
) -> Choice | None:
    """``choice`` with ``count`` layers from ``first`` on as one step of ``stream_rows`` rows per
    round, its last rows shared by workers, or of so many ``patches``.

    They must be such as `joins` or `can_stream` finds.  None where one of them computes all rows
    at once, or a kernel for rings other sums, where workers would not be `apart`, and where there
    are no such patches (`patches_of`).
    """
    numbers = range(first, first + count)
    own = [choice.layers[i] for i in numbers]
    divides = divides_of(own)
    if len(divides) < count or (shares and not is_path(divides)):
        return None
    stream_rows = min(stream_rows, divides[-1].rows)
    each = (least_rings(divides, stream_rows, share) for share in (None, *shares))
    rings = [max(rows) for rows in zip(*each, strict=True)]
    held = {
        layer.node.output: replace(choice.graph[layer.node.output], ring=rows)
        for layer, rows in zip(own, rings, strict=False)
    }
    if patches > 1:
        most = most_columns(own, patches, choice.graph)
        if shares or not most:
            return None
        held = {
            name: replace(ring, ring_columns=columns)
            for (name, ring), (_, columns) in zip(held.items(), most, strict=False)
        }
        graph = choice.graph.with_tensors(held)
        made = [of_patch(*each, graph, target) for each in zip(own, most, strict=True)]
    else:
        graph = choice.graph.with_tensors(held)
        made = [lowered(layer.node, graph, target) for layer in own]
    # What a patch or a worker has read another one may have yet to read.
    alone = not shares and patches == 1
    if shares and made[-1].accumulates:
        return None
    aliases = aliases_of(made, stream_rows, choice.graph, alone=alone)
    made = [replace(layer, aliases=aliases if layer is made[-1] else ()) for layer in made]
    if not all(map(same_sums, made, own)):
        return None
    if shares and not apart(made):
        return None
    layers = (*choice.layers[:first], *made, *choice.layers[first + count :])
    single = {i: Step((i,)) for i in range(len(layers))}
    single |= {step.layers[0]: step for step in choice.steps if not step.stream_rows}
    others = (step for step in choice.steps if step.stream_rows and step.layers[0] not in numbers)
    several = {step.layers[0]: step for step in others}
    workers = max(1, len(shares))
    several[first] = Step(tuple(numbers), stream_rows, workers, tuple(shares), patches)
    inside = set(chain.from_iterable(step.layers for step in several.values()))
    steps = tuple(several.get(i, single[i]) for i in single if i in several or i not in inside)
    return replace(choice, graph=graph, layers=layers, steps=steps)


MostColumns = tuple[tuple[int, int], ...]  # by layer: of its input, and of its result


def most_columns(layers: Sequence[Layer], patches: int, graph: Graph) -> MostColumns:
    """By layer the most columns of its input, and of its result, that one of so many ``patches`` of
    a step has; none where there are no such patches."""
    widths = (graph[layer.node.inputs[0]].shape[-1] for layer in layers)
    return most_columns_of(divides_of(layers), tuple(widths), patches)


def most_columns_of(divides: Sequence[Divides], widths: Sequence[int], patches: int) -> MostColumns:
    """`most_columns` of layers that divide so, with inputs of so many columns."""
    each = patches_of(divides, patches) if widths[0] <= MOST_COLUMNS else ()
    found = []
    for layer, width, made in zip(divides, widths, zip(*each, strict=True), strict=False):
        read = [columns_read(layer, of, width).width for of in made]
        if min(read) <= 0:
            return ()
        found.append((max(read), max(of.width for of in made)))
    return tuple(found)


@lru_cache(maxsize=4096)  # blocks of a network are often alike
def columns_by_patches(
    divides: tuple[Divides, ...], widths: tuple[int, ...]
) -> tuple[tuple[int, MostColumns], ...]:
    """The numbers of patches that layers which divide so can be computed in, the fewest first, with
    the columns of each; ``widths``: columns of their inputs."""
    found, columns = [], divides[-1].columns
    for patches in (each for each in PATCHES if columns and each <= columns.rows):
        most = most_columns_of(divides, widths, patches)
        if not most:
            break
        found.append((patches, most))
    return tuple(found)


def of_patch(layer: Layer, most: tuple[int, int], graph: Graph, target: Target) -> Layer:
    """``layer`` as it computes the columns of a patch, of at most so many of its input and its
    result; the multiply-accumulates are those of the whole image."""
    request = replace(layer.node.request, patch=most)
    made = lowered(replace(layer.node, request=request), graph, target)
    return replace(made, node=layer.node, macs=layer.macs, divides=layer.divides)


def macs_computed(choice: Choice) -> int:
    """Multiply-accumulates of all layers, those included that patches compute again."""
    total = sum(layer.macs for layer in choice.layers)
    for step in (step for step in choice.steps if step.patches > 1):
        layers = [choice.layers[i] for i in step.layers]
        divides = divides_of(layers)
        for layer, own, made in zip(
            layers, divides, zip(*patches_of(divides, step.patches), strict=True), strict=True
        ):
            assert own.columns
            again = sum(each.width for each in made) - own.columns.rows
            total += layer.macs * again // own.columns.rows
    return total


def apart(layers: Sequence[Layer]) -> bool:
    """Whether workers can stream rows with ``layers``: the workspaces of two of them may share
    bytes, which one worker would need for the one and another for the other."""
    return sum(bool(layer.workspace_bytes) for layer in layers) <= 1


def aliases_of(
    made: Sequence[Layer], stream_rows: int, graph: Graph, *, alone: bool = True
) -> tuple[Alias, ...]:
    """What the last of the layers ``made`` of a step may share of the bytes that the step reads;
    ``alone``: one worker computes everything, once."""
    over = _overlapping(made, stream_rows, graph) if alone else ()
    return (*_overwritten(made), *over)


def _overwritten(own: Sequence[Layer]) -> tuple[Alias, ...]:
    """What the last of the layers ``own`` of a step may overwrite of what the step reads.

    What only that one reads, and not as its first input, is the residual: rows that it also writes,
    where it is no ring.  All else a later round reads again.
    """
    inside = {layer.node.output for layer in own}
    reads = Counter(chain.from_iterable(layer.node.reads() for layer in own))
    return tuple(
        alias
        for alias in own[-1].aliases
        if not (alias.exact or alias.overlaps)
        and reads[alias.input] == 1
        and alias.input != own[-1].node.inputs[0]
        and alias.input not in inside
    )


def _overlapping(own: Sequence[Layer], stream_rows: int, graph: Graph) -> tuple[Alias, ...]:
    """The result of the step of layers ``own`` over its input, behind rows that were read.

    For kernels that may write over what they have read on their own, too.
    """
    source, result = own[0].node.inputs[0], own[-1].node.output
    able = any(alias.overlaps for alias in own[0].aliases)
    able = able and any(alias.overlaps for alias in own[-1].aliases)
    reads = Counter(chain.from_iterable(layer.node.reads() for layer in own))
    added = own[-1].node.epilogue.residual == source
    if not able or reads[source] > 1 + added:
        return ()
    rows = [tensor_bytes(graph[name]) // graph[name].shape[-2] for name in (source, result)]
    apart = _overlap(tuple(divides_of(own)), stream_rows, *rows, added=added)
    return (Alias(source, source, result, apart),) if apart < tensor_bytes(graph[result]) else ()


def same_sums(one: Layer, other: Layer) -> bool:
    """Whether two kernels of a layer add up in the same order."""
    return _sums(one) == _sums(other)


def _sums(layer: Layer) -> tuple[str, int]:
    """What decides in which order a kernel adds up."""
    return layer.algorithm, layer.candidate.summed_apart if layer.candidate else 0

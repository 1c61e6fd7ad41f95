"""Bytes below which no order, plan or choice of storage formats gets a network.

What is live at a layer in every order of execution: what the layer reads and writes, and every
tensor that is written by one of its ancestors and read by one of its descendants.  Each counts in
its smallest format; of tensors that may share bytes only the largest counts.  That takes
milliseconds, where the exact answer takes a plan per format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.names import shortened
from edgeconv.codegen.equal_constants import sample
from edgeconv.codegen.weights import HEADER
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.filters import WEIGHTED, decodes
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.preprocessing import PREPROCESS
from edgeconv.search.budget.infeasible import HOLDERS, NAME_WIDTH, Holder, told
from edgeconv.search.budget.tables import Limits
from edgeconv.search.choose.storage import storable, tensor_formats, weight_formats

# Operators whose kernels read the main input while they write the output elsewhere: at most the
# residual shares bytes with it.  Of all others every input may.
_APART = ("Attention", "Conv", "Dense", "Lrn", "MatMul", "Pool", "Reduce", "Resize")
_BY_COLUMNS = ("Conv", "Pool")  # operators with kernels that compute a pixel of a row alone
_BY_ROWS = (*_BY_COLUMNS, PREPROCESS)  # and with those that compute a whole row alone
_FLOAT_BITS = 32
_IMAGE = 4  # dimensions of what has rows


@dataclass(frozen=True, slots=True)
class Bound:
    """``bytes`` are needed at least; ``where``: at this layer; ``holders``: for these."""

    bytes: int
    where: str
    holders: tuple[Holder, ...]


def minimum_ram(graph: Graph, io: str) -> Bound:
    """The fewest bytes of the arena, and of the inputs and outputs that the caller keeps (``io``
    "caller")."""
    ports = dict.fromkeys((*graph.input_ports, *graph.output_ports))
    bits = _bits(graph)
    pieces = _pieces(graph)
    size = {t.name: -(-t.size * bits[t.name] // 8 // pieces[t.name]) for t in graph.activations()}
    groups = _groups(graph)
    outside = {groups[name] for name in ports} if io == "caller" else set()
    kept = [Holder(name, size[name]) for name in ports if io == "caller"]
    best, where = list[Holder](), ""
    for node, live in _live(graph):
        found: dict[str, Holder] = {}
        for name in live:
            group, holder = groups[name], Holder(name, size[name])
            if group not in outside and holder.bytes > found.get(group, Holder("", 0)).bytes:
                found[group] = holder
        if _sum(found.values()) > _sum(best):
            best, where = list(found.values()), node.name
    holders = sorted((*kept, *best), key=lambda holder: (-holder.bytes, holder.name))
    return Bound(_sum(holders), where, tuple(holders))


def minimum_flash(graph: Graph) -> Bound:
    """The bytes of the weight image: its header, filters, weights of recurrent states and biases,
    those that nodes have in common once."""
    least = min(form.bits for form in weight_formats().values())
    holders, known = [], set[object]()
    for node in graph.nodes:
        if not decodes(node, graph):
            continue
        filters, *others = (graph[name] for name in node.inputs[1:] if name)
        bias = others if node.op in WEIGHTED else ()
        if filters.is_constant:
            same = sample(filters.constant())
            if same in known:
                continue
            known.add(same)
        bits = node.attrs["storage"].bits if "storage" in node.attrs else least
        size = -(-filters.size * bits // 8) + 4 * sum(t.size for t in bias if t.is_constant)
        holders.append(Holder(node.name, size if filters.is_constant else 0))
    holders.sort(key=lambda holder: (-holder.bytes, holder.name))
    return Bound(HEADER.size + _sum(holders), "", tuple(holders))


def _sum(holders: Iterable[Holder]) -> int:
    return sum(holder.bytes for holder in holders)


def _bits(graph: Graph) -> dict[str, int]:
    """The bits of an element of each tensor in its smallest format."""
    least = min(form.bits for form in tensor_formats().values())
    free = frozenset(storable(graph))
    return {
        t.name: t.bits if t.dtype != FLOAT32 else (least if t.name in free else _FLOAT_BITS)
        for t in graph.activations()
    }


def _pieces(graph: Graph) -> Mapping[str, int]:
    """By tensor into how many pieces it divides of which memory may hold one at a time, where all
    layers that write and read it, a residual among them, may stream rows: pixels where they may do
    so in patches of columns, which may be as narrow as that, else rows."""
    producers, consumers = graph.producers(), graph.consumers()
    found = dict.fromkeys((tensor.name for tensor in graph.activations()), 1)
    for tensor in graph.activations():
        read, maker = consumers[tensor.name], producers.get(tensor.name)
        if not read or maker is None or tensor.name in graph.outputs or len(tensor.shape) != _IMAGE:
            continue
        operators = {node.op for node in (maker, *read)}
        if operators <= {*_BY_ROWS}:
            height, width = tensor.shape[-2:]
            found[tensor.name] = height * width if operators <= {*_BY_COLUMNS} else height
    return found


def _groups(graph: Graph) -> Mapping[str, str]:
    """By tensor one that stands for all with which it may share bytes, by way of others too."""
    parent = {t.name: t.name for t in graph.activations()}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for node in graph.nodes:
        sharing = (node.epilogue.residual,) if node.op in _APART else node.reads()
        for source in filter(None, sharing):
            for output in filter(None, node.outputs):
                if source in parent:
                    parent[root(source)] = root(output)
    return {name: root(name) for name in parent}


def _live(graph: Graph) -> Iterator[tuple[Node, set[str]]]:
    """Every node with the tensors that are live at it in any order.  Sets of nodes are integers, a
    bit per node."""
    number = {node.name: i for i, node in enumerate(graph.nodes)}
    producers, consumers = graph.producers(), graph.consumers()
    before, after = [0] * len(number), [0] * len(number)  # a node is its own ancestor
    for i, node in enumerate(graph.nodes):
        before[i] = 1 << i
        for name in node.reads():
            if name in producers:
                before[i] |= before[number[producers[name].name]]
    end = 1 << len(number)  # where the outputs are read
    for i, node in reversed(list(enumerate(graph.nodes))):
        after[i] = 1 << i
        for name in filter(None, node.outputs):
            after[i] |= end if name in graph.outputs else 0
            for reader in consumers[name]:
                after[i] |= after[number[reader.name]]
    written = {name: 1 << number[node.name] for name, node in producers.items()}
    read: dict[str, int] = {}
    for tensor in graph.activations():
        readers = sum(1 << number[node.name] for node in consumers[tensor.name])
        read[tensor.name] = readers | (end if tensor.name in graph.outputs else 0)
    for i, node in enumerate(graph.nodes):
        yield (
            node,
            {
                name
                for name, readers in read.items()
                if readers & after[i] and (name not in written or written[name] & before[i])
            },
        )


def refusal(ram: Bound, flash: Bound, limits: Limits, has: Limits) -> EdgeconvError | None:
    """What to tell the user where a budget of ``limits`` is below its bound; else None.  ``has``:
    what there is at most, whatever the budget."""
    exceeded = [
        (name, bound, budget)
        for name, bound, budget in (("ram", ram, limits.ram), ("flash", flash, limits.flash))
        if budget is not None and bound.bytes > budget
    ]
    if not exceeded:
        return None
    asked = " and ".join(f"{_shown(name)} {budget:,}" for name, _, budget in exceeded)
    least = " and ".join(f"{bound.bytes:,} bytes of {_shown(name)}" for name, bound, _ in exceeded)
    return EdgeconvError(
        "no choice of storage formats fits",
        got=f"a budget of {asked} bytes",
        rule=f"in any formats, order and places this model takes at least {least}",
        hint=_hint(ram, flash, has),
        details=tuple(
            line
            for name, bound, budget in exceeded
            for line in (
                f"at least, {name}: {_of(bound, budget)}",
                f"{_shown(name)}{_at(bound)}: {told(bound.holders[:HOLDERS])}",
            )
        ),
    )


def _shown(name: str) -> str:
    """A kind of memory as prose has it."""
    return name.upper() if name == "ram" else name


def _of(bound: Bound, budget: int) -> str:
    return f"{bound.bytes} bytes needed, {budget} allowed: {bound.bytes - budget} too many"


def _hint(ram: Bound, flash: Bound, has: Limits) -> str:
    beyond = [
        f"the board has {most:,} bytes of {_shown(name)}"
        for name, bound, most in (("ram", ram, has.ram), ("flash", flash, has.flash))
        if most is not None and bound.bytes > most
    ]
    if beyond:
        return f"{' and '.join(beyond)}: no budget helps, but a smaller input or network"
    return f"no budgets below --ram {ram.bytes} --flash {flash.bytes} can do"


def _at(bound: Bound) -> str:
    return f" at {shortened(bound.where, NAME_WIDTH)}" if bound.where else ""

"""What the planner needs to know of a Choice: who reads and writes which bytes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Alias, Choice, element_align, tensor_bytes
from edgeconv.ir.graph import Graph
from edgeconv.ir.memory import Region
from edgeconv.kernels.lowering.splits import pieces_of
from edgeconv.search.memory.step_check import check_steps


@dataclass(frozen=True)
class Program:
    """Layers by index in the model's order, tensors by name; constants are absent.

    ``sizes`` are bytes, unrounded; addresses of elements are multiples of ``itemsizes``.  ``reads``
    holds a tensor once per time it is read.  ``buffers`` says which tensors are a caller's buffer:
    its region and its index.  ``steps``: the layers of each, in the model's order.  ``passing``:
    of a ring of rows, the bytes that pass through it.  ``states``: input and output of each; both
    lie in the same bytes; ``moving``: the inputs of those that are parts of windows, whose bytes
    others may have while neither is there; ``confined``: nothing that shares bytes with a state
    reaches beyond it, nor is it an input or output of the caller.  ``apart``: layers that are
    computed in pieces, since a run may be interrupted between, so that results lie over inputs by
    rows alone.  ``lasting``: layers whose workspace is in use through all of their step.
    ``pinned``: tensors that the user has in a memory of their own; what may lie elsewhere shares
    bytes with them only where a copy would be needed otherwise.
    """

    sizes: Mapping[str, int]
    itemsizes: Mapping[str, int]
    reads: tuple[tuple[str, ...], ...]
    writes: tuple[tuple[str, ...], ...]
    aliases: tuple[tuple[Alias, ...], ...]
    workspaces: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    buffers: Mapping[str, tuple[Region, int]]
    align: int
    steps: tuple[tuple[int, ...], ...]
    passing: Mapping[str, int]
    states: tuple[tuple[str, str], ...] = ()
    moving: frozenset[str] = frozenset()
    confined: bool = False
    apart: frozenset[int] = frozenset()
    lasting: frozenset[int] = frozenset()
    pinned: frozenset[str] = frozenset()

    @cached_property
    def key(self) -> Hashable:
        """What is equal for equal programs alone."""
        ordered = self.reads, self.writes, self.aliases, self.workspaces, self.inputs, self.outputs
        by_name = self.sizes, self.itemsizes, self.buffers, self.passing
        items = tuple(tuple(each.items()) for each in by_name)
        kept = self.states, self.moving, self.confined
        own = self.apart, self.lasting, self.pinned
        return *ordered, *items, self.align, self.steps, *kept, *own

    def offers(self, layer: int) -> Iterator[tuple[int, Alias]]:
        """The aliases that ``layer`` may be granted, by number."""
        for number, alias in enumerate(self.aliases[layer]):
            cut = alias.overlaps and layer in self.apart and not alias.rows
            ends = (alias.input in self.pinned) != (alias.output in self.pinned)
            if alias.input in self.sizes and not cut and (alias.exact or not ends):
                yield number, alias

    @property
    def staying(self) -> frozenset[str]:
        """The inputs of states whose bytes nothing else takes."""
        return frozenset(before for before, _ in self.states) - self.moving

    @cached_property
    def producer(self) -> dict[str, int]:
        """Tensor -> the layer that writes it; graph inputs are absent."""
        return {name: i for i, names in enumerate(self.writes) for name in names}

    @cached_property
    def readers(self) -> dict[str, set[int]]:
        """Tensor -> the layers that read it."""
        found: dict[str, set[int]] = {name: set() for name in self.sizes}
        for i, names in enumerate(self.reads):
            for name in names:
                found[name].add(i)
        return found

    def workspace_of(self, step: Collection[int]) -> int:
        """Bytes of workspace while the layers ``step`` run, which share those that last no longer
        than a call."""
        sizes = {i: self.round_up(self.workspaces[i]) for i in step}
        lasting = sum(sizes.pop(i) for i in step if i in self.lasting)
        return lasting + max(sizes.values(), default=0)

    def round_up(self, size: int) -> int:
        """The bytes that a tensor of ``size`` bytes occupies in the arena."""
        return -(-size // self.align) * self.align

    def round_down(self, offset: int) -> int:
        return offset // self.align * self.align


def of_choice(choice: Choice) -> Program:
    """The planner's view of ``choice``; raises InvariantError when it is inconsistent."""
    if choice.io not in ("caller", "arena"):
        raise InvariantError(f"memory: io is {choice.io!r}, must be 'caller' or 'arena'")
    graph, nodes = choice.graph, [layer.node for layer in choice.layers]
    workspaces = choice.workspaces()
    placed = {*graph.inputs, *(name for node in nodes for name in node.outputs if name)}
    placed = {name for name in placed if not graph[name].is_constant}
    program = Program(
        sizes={name: choice.held_bytes(name) for name in graph.tensors if name in placed},
        itemsizes={name: element_align(graph[name]) for name in graph.tensors if name in placed},
        reads=tuple(
            tuple(name for name in node.reads() if not graph[name].is_constant) for node in nodes
        ),
        writes=tuple(tuple(name for name in node.outputs if name) for node in nodes),
        aliases=tuple(layer.aliases for layer in choice.layers),
        workspaces=tuple(workspaces.get(i, 0) for i in range(len(nodes))),
        inputs=tuple(name for name in graph.inputs if name in placed),
        outputs=tuple(name for name in graph.outputs if not graph[name].is_constant),
        buffers=_caller_buffers(graph) if choice.io == "caller" else {},
        align=choice.align,
        steps=tuple(step.layers for step in choice.steps),
        passing={
            name: tensor_bytes(replace(graph[name], ring=0))
            for name in graph.tensors
            if name in placed and graph[name].ring
        },
        states=tuple((state.input, state.output) for state in graph.states),
        moving=choice.moving_states,
        confined=choice.states_apart,
        apart=_apart(choice) if choice.resumable else frozenset(),
        lasting=frozenset(i for i, layer in enumerate(choice.layers) if layer.accumulates),
        pinned=_pinned(choice),
    )
    check_steps(choice)
    _check_align(program)
    _check_dataflow(program)
    _check_aliases(program)
    return program


def _apart(choice: Choice) -> frozenset[int]:
    """Layers of steps of one that are computed in pieces: a kernel that may write over its input
    may do so in its own order of pixels, which pieces cut elsewhere."""
    single = (step.layers[0] for step in choice.steps if not step.stream_rows)
    return frozenset(i for i in single if pieces_of(choice.layers[i], choice.isa).kind)


def _pinned(choice: Choice) -> frozenset[str]:
    """Inputs and outputs of the arena that do not lie where the rest of it does."""
    placement = choice.placement
    if choice.io == "caller" or placement.io in ("", placement.arena):
        return frozenset()
    return frozenset((*choice.graph.input_ports, *choice.graph.output_ports))


def caller_bytes(choice: Choice) -> int:
    """Bytes of the inputs and outputs that the caller keeps: none when they are in the arena."""
    graph = choice.graph
    ports = (*graph.input_ports, *graph.output_ports) if choice.io == "caller" else ()
    return sum(tensor_bytes(graph[name]) for name in ports)


def _caller_buffers(graph: Graph) -> dict[str, tuple[Region, int]]:
    """Graph inputs and outputs as the caller's buffers; one tensor cannot be two of them."""
    buffers: dict[str, tuple[Region, int]] = {}
    regions = ((Region.INPUT, graph.input_ports), (Region.OUTPUT, graph.output_ports))
    for region, names in regions:
        for index, name in enumerate(names):
            if graph[name].is_constant:
                continue
            if name in buffers:
                raise InvariantError(f"memory: {name!r} is two of the caller's buffers")
            if graph[name].elements != graph[name].size:
                raise InvariantError(f"memory: {name!r} is padded in the caller's buffer")
            buffers[name] = (region, index)
    return buffers


def _check_align(program: Program) -> None:
    for name, size in program.itemsizes.items():
        if program.align < 1 or program.align % size:
            raise InvariantError(f"memory: align {program.align} misaligns {name!r}")


def _check_dataflow(program: Program) -> None:
    known = set(program.inputs)
    for i, (reads, writes) in enumerate(zip(program.reads, program.writes, strict=True)):
        for name in reads:
            if name not in known:
                raise InvariantError(f"memory: layer {i} reads {name!r} before it is written")
        for name in writes:
            if name in known:
                raise InvariantError(f"memory: layer {i} writes {name!r} a second time")
            known.add(name)
    for name in program.outputs:
        if name not in known:
            raise InvariantError(f"memory: graph output {name!r} is never written")
    for before, after in program.states:
        late = max(program.readers[before], default=-1)
        if program.sizes[before] != program.sizes[after] or late >= program.producer[after]:
            raise InvariantError(f"memory: {after!r} cannot take the place of {before!r}")


def _check_aliases(program: Program) -> None:
    starts = {step[-1]: step[0] for step in program.steps}
    for i, aliases in enumerate(program.aliases):
        reads, writes = set(program.reads[i]), set(program.writes[i])
        for alias in aliases:
            of_step = alias.overlaps and alias.input in program.reads[starts.get(i, i)]
            if alias.input not in reads and not of_step:
                continue  # a constant: it lies in the weight image and is never shared
            if alias.input not in (alias.inner, alias.outer) or alias.output not in writes:
                raise InvariantError(f"memory: layer {i}: {alias} is not of an input and an output")
            end = alias.offset + program.sizes[alias.inner]
            if alias.exact and not 0 <= alias.offset <= end <= program.sizes[alias.outer]:
                raise InvariantError(f"memory: layer {i}: {alias} leaves the outer tensor")

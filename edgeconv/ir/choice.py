"""What ``choose`` decides: one kernel call per node, with everything the emitter needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.candidate import FLOAT, Candidate
from edgeconv.ir.encoding import FLOAT16, FLOAT32, FLOAT64, Encoding, integers
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.placement import ANYWHERE, Placement
from edgeconv.ir.states import moving_states
from edgeconv.ir.step import Divides, Step, alone, placed
from edgeconv.ir.straight_line import Routine
from edgeconv.ir.work import CacheTraffic, Work


@dataclass(frozen=True, slots=True)
class Number:
    """A float32 that no loop bound or choice of instructions depends on: a literal of the layer's
    C function or, in programs of very many layers, a parameter."""

    value: float


class Whole(int):
    """A whole number that no loop bound or choice of instructions depends on, as `Number` is of
    floats.  In all else it is the integer that it equals."""


@dataclass(frozen=True, slots=True)
class KernelEpilogue:
    """What ``ec_epilogue`` holds: ``y = after(before(x) + residual)``.

    ``residual``: there is one.  ``residual_as``, ``out_as``: the formats of residual and result,
    as C names them.
    """

    before: Activation = NONE
    residual: bool = False
    after: Activation = NONE
    residual_as: str = "EC_F32"
    out_as: str = "EC_F32"


Scalar = int | float | str | bool
Tuple = tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
Param = Scalar | Tuple | Number | KernelEpilogue


def tensor_bytes(tensor: Tensor) -> int:
    """Bytes of a tensor in memory, layout padding included; of a ring of rows, those."""
    elements = tensor.layout.elements(tensor.held)
    if tensor.dtype == "float32":
        return tensor.storage.bytes_of(elements)
    return elements * tensor.element_bytes


def element_align(tensor: Tensor) -> int:
    """What addresses of a tensor's elements must be multiples of; packed formats lie anywhere."""
    packed = tensor.storage not in (FLOAT32, FLOAT16) and not tensor.storage.affine
    return 1 if packed else tensor.element_bytes


@dataclass(frozen=True, slots=True)
class Blob:
    """A constant of the weight image, already in the order in which its kernel reads it.

    ``pack`` makes the array when the image is written, one blob at a time, so that a network of
    any size needs the memory of its largest tensor only.  ``elements`` counts what it returns.
    ``pieces``: the same numbers in pieces of whole bytes, where these need less memory yet.
    ``storage`` is the format in which floats lie in the image; other types have their own.
    ``arrange``, of filters and of biases without units: brings an array of the shape of the layer's
    own into the blob's order, with zeros where the blob is padded, and does nothing else to its
    values, but for filters in float32 that a kernel wants transformed.  So others can take their
    place as the plan of this layer reads them.
    ``restored``: gives the values that were arranged back where others lie in their place.
    """

    name: str
    elements: int
    pack: Callable[[], npt.NDArray[np.generic]] = field(compare=False, repr=False)
    dtype: str = "float32"
    storage: Encoding = FLOAT32
    arrange: Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]] | None = field(
        default=None, compare=False, repr=False
    )
    restored: Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]] | None = field(
        default=None, compare=False, repr=False
    )
    pieces: Callable[[], Iterable[npt.NDArray[np.generic]]] | None = field(
        default=None, compare=False, repr=False
    )

    @property
    def bytes(self) -> int:
        return self.format.bytes_of(self.elements)

    @property
    def format(self) -> Encoding:
        """The storage format of its elements."""
        if self.dtype == "float32":
            return self.storage
        if self.dtype == "float64":
            return FLOAT64
        if self.dtype == "bool":
            return Encoding(8, affine=True, signed=False)
        return integers(self.dtype).element


class ArgKind(Enum):
    """Where a pointer argument of a kernel function points."""

    INPUT = "input"  # a tensor that is read; ``ref`` is its name
    OUTPUT = "output"  # a tensor that is written
    WEIGHTS = "weights"  # a Blob of this layer; ``ref`` is the blob's name
    WORKSPACE = "workspace"  # inside the arena


@dataclass(frozen=True, slots=True)
class Arg:
    """One pointer argument: its name inside the C function and what the caller passes."""

    kind: ArgKind
    c_name: str
    ref: str = ""
    c_type: str = "float"


@dataclass(frozen=True, slots=True)
class Alias:
    """Permission to let two tensors of a layer share bytes: ``inner`` lies in ``outer``.

    ``inner`` starts ``offset`` bytes after ``outer``.  With ``exact`` the bytes hold the same
    values (a view of a Reshape, a slice, an input of Concat): no code is needed for that part of
    the layer when the planner grants it, and nothing has to be dead.  Without, the output
    overwrites the input, which must have no later reader and must not be a caller's input.
    ``input`` is the layer input concerned; of the last layer of a step also that of the step.
    ``rows``: of one that `overlaps`, it holds too where calls for multiples of so many rows follow
    each other; 0: only where one call computes all.
    """

    input: str
    inner: str
    outer: str
    offset: int = 0
    exact: bool = False
    rows: int = 0

    @property
    def output(self) -> str:
        """The other tensor than ``input``."""
        return self.outer if self.input == self.inner else self.inner

    @property
    def overlaps(self) -> bool:
        """The output overwrites an input that begins ``offset`` bytes behind it, bytes that were
        read for the last time before, and may reach beyond it at either end (Blacker et al.,
        "Diagonal Memory Optimisation for Machine Learning on Micro-controllers", 2020)."""
        return not self.exact and self.input == self.inner


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A constant of integers of ``bits`` bits that a kernel reads as ``c_name``, a pointer to
    ``c_type``, from byte ``at`` of the workspace on: in the weight image it has so many ``bytes``,
    and numbers that are smaller ``times``."""

    c_name: str
    c_type: str
    bits: int
    bytes: int
    at: int
    times: int


@dataclass(frozen=True, slots=True)
class Layer:
    """One call of the emitted program.

    ``template`` (under codegen/templates) renders the body of its C function from ``params``;
    bodies that come out equal share one function.  ``headers`` are the kernel headers it uses.
    ``candidate``: the plan behind it, for convolutions and dense layers.
    A layer whose every alias is exact and granted needs no call at all (``free_if_aliased``).
    ``divides``: its function can compute some rows alone, None where it computes all at once.
    ``routines``: linear functions of vectors that are made for it, beside its headers.
    ``workspace_bytes``: of one worker; they hold nothing between calls, or where the layer
    accumulates (`Divides.accumulates`) its sums from the first call of a step to the last.
    ``scaling``: of sums in integers (``ir.requantisation.scalings``), "" where there are none.
    ``compute``: the type of the vectors of float that it computes on.
    ``unpacked``: what its function unpacks first.  ``body``: the program of a loop's body.
    """

    node: Node
    algorithm: str
    template: str
    params: Mapping[str, Param]
    args: tuple[Arg, ...]
    headers: tuple[str, ...]
    work: Work
    blobs: tuple[Blob, ...] = ()
    aliases: tuple[Alias, ...] = ()
    workspace_bytes: int = 0
    macs: int = 0
    scaling: str = ""
    compute: str = FLOAT
    free_if_aliased: bool = False
    divides: Divides | None = None
    candidate: Candidate | None = None
    routines: tuple[Routine, ...] = ()
    unpacked: Unpacked | None = None
    body: Program | None = None
    plan: Mapping[str, Param] = field(default_factory=dict)  # what explain and report.json show

    @property
    def traffic(self) -> tuple[CacheTraffic, ...]:
        """What a convolution moves behind each of the target's caches; none for other layers."""
        return self.candidate.traffic if self.candidate else ()

    @property
    def accumulates(self) -> bool:
        """Whether its workspace lasts through its step."""
        return self.divides is not None and self.divides.accumulates

    @property
    def operands(self) -> tuple[Arg, ...]:
        """The arguments that are no constants.  What several of them read, such as an input that is
        the residual as well, is there once."""
        found: dict[tuple[ArgKind, str], Arg] = {}
        for arg in self.args:
            if arg.kind is not ArgKind.WEIGHTS:
                found.setdefault((arg.kind, arg.ref), arg)
        return tuple(found.values())


def divides_of(layers: Sequence[Layer]) -> list[Divides]:
    """How the ``layers`` of a step divide, with what each reads of the results of those before it;
    fewer where one of them computes all at once."""
    found, makers = [], dict[str, int]()
    for number, layer in enumerate(layers):
        if layer.divides:
            names = layer.node.inputs[0], layer.node.epilogue.residual
            source, added = (number - makers.get(name, number) for name in names)
            found.append(placed(layer.divides, source, added))
        makers |= dict.fromkeys(filter(None, layer.node.outputs), number)
    return found


@dataclass(frozen=True, slots=True)
class Search:
    """How a choice was found: the program's ``nodes`` and ``edges``, those left after exact
    reductions, and the part of the predicted cost that another choice might save (0: none does).
    ``cost``: what was made small, before it is known where tensors lie."""

    nodes: int
    edges: int
    left_nodes: int
    left_edges: int
    gap: float
    cost: float = 0.0


@dataclass(frozen=True, eq=False)
class Program:
    """The body of a loop, decided: its kernel calls and their ``memory``, an arena that is the
    workspace of the loop."""

    choice: Choice
    memory: MemoryMap

    def __repr__(self) -> str:
        return f"Program({self.choice.graph.name!r}, {id(self)})"


def with_bodies(layers: Iterable[Layer]) -> Iterator[Layer]:
    """``layers``, each loop behind the layers of its body."""
    for layer in layers:
        if layer.body:
            yield from with_bodies(layer.body.choice.layers)
        yield layer


@dataclass(frozen=True, slots=True)
class Choice:
    """The graph with every layout decided and every conversion inserted, and its kernel calls.

    ``steps``: every layer is in one of them, in the model's order; each is a step of its own where
    none are given.  ``search``: how layouts and algorithms were found, None where they were given.
    ``line_bytes``: of the data cache whose lines kernels prefetch, 0 where the core has none.
    ``resumable``: a run may be interrupted between pieces of a layer (`ir.resumable`).
    ``states_apart``: states lie in bytes of their own, of which nothing else has a part.
    ``in_order``: register tiles are those of cores that execute in order.
    ``placement``: where the user has parts of it lie.
    """

    graph: Graph
    layers: tuple[Layer, ...]
    isa: str
    align: int  # bytes: of the arena, of every tensor in it and of every blob
    io: str = "caller"  # or "arena"
    steps: tuple[Step, ...] = ()
    search: Search | None = None
    line_bytes: int = 0
    resumable: bool = False
    states_apart: bool = False
    in_order: bool = False
    placement: Placement = ANYWHERE

    def __post_init__(self) -> None:
        if not self.steps:
            object.__setattr__(self, "steps", alone(len(self.layers)))

    @property
    def threads(self) -> int:
        """The most workers that share a step."""
        return max((step.workers for step in self.steps), default=1)

    @property
    def moving_states(self) -> frozenset[str]:
        """The inputs of states that others may lie over while neither value is in use."""
        return frozenset() if self.states_apart else moving_states(self.graph)

    def on_one_thread(self) -> Choice:
        """The choice of the program for one worker."""
        steps = tuple(replace(step, workers=1, shares=()) for step in self.steps)
        return replace(self, steps=steps)

    def held_bytes(self, name: str) -> int:
        """Bytes of a tensor in memory: all of it, or a ring for every worker."""
        tensor = self.graph[name]
        workers = 1
        if tensor.ring:
            made = ((step, layer) for step in self.steps for layer in step.layers)
            workers = next(s.workers for s, i in made if name in self.layers[i].node.outputs)
        return self._for_each(workers, tensor_bytes(tensor))

    def workspaces(self) -> dict[int, int]:
        """Layer -> bytes of workspace, of all workers; layers without any are absent."""
        return {
            layer: self._for_each(step.workers, self.layers[layer].workspace_bytes)
            for step in self.steps
            for layer in step.layers
            if self.layers[layer].workspace_bytes
        }

    def _for_each(self, workers: int, size: int) -> int:
        """``size`` for each of some workers, who begin at multiples of the alignment."""
        return size if workers == 1 else workers * (-(-size // self.align) * self.align)

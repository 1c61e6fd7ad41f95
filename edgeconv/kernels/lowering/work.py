"""Parts of the work of a kernel call, which every lowering states: operands and epilogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.activations import FUNCTIONS
from edgeconv.kernels.lowering.loops import (
    AROUND,
    function_cycles,
    number_cycles,
    pair_cycles,
    write_slots,
)
from edgeconv.target.targets import Decoding, Target

ADDED = "residual"  # among the functions of an epilogue: a residual


@dataclass(frozen=True, slots=True)
class Call:
    """A node whose layouts and formats are decided, on a target."""

    node: Node
    graph: Graph
    target: Target

    @property
    def output(self) -> Tensor:
        """The only one."""
        return self.graph[self.node.output]

    @property
    def inputs(self) -> list[Tensor]:
        """Tensors read at run time, a residual included."""
        names = dict.fromkeys(self.node.reads())
        return [self.graph[name] for name in names if not self.graph[name].is_constant]

    @property
    def out_vectors(self) -> float:
        """Vectors written."""
        return self.output.elements / self.target.lanes

    @property
    def in_vectors(self) -> float:
        """Vectors of all inputs."""
        return sum(tensor.elements for tensor in self.inputs) / self.target.lanes

    @property
    def in_bytes(self) -> float:
        """Bytes of all inputs."""
        return sum(tensor.elements * tensor.bits / 8 for tensor in self.inputs)

    @property
    def out_bytes(self) -> float:
        """Bytes of the output."""
        return self.output.elements * self.output.bits / 8

    @property
    def streamed(self) -> float:
        """Slots that decode every input once, vector by vector, the residual aside."""
        residual = self.node.epilogue.residual
        return sum(
            tensor.elements / self.target.lanes * self.stored(tensor).vector
            for tensor in self.inputs
            if tensor.name != residual
        )

    @property
    def encoded(self) -> float:
        """Slots that encode the output and decode the residual."""
        residual = self.node.epilogue.residual
        read = self.stored(self.graph[residual]).vector if residual else 0.0
        return self.out_vectors * (write_slots(self.output.storage, self.target) + read)

    @property
    def epilogue(self) -> float:
        """Slots of activations and residual, over all outputs."""
        return finish_slots(functions_of(self.node.epilogue), self.target) * self.out_vectors

    @property
    def epilogue_of_numbers(self) -> float:
        """The epilogue's work where what it begins with is not NaN."""
        first = self.node.epilogue.before.kind
        if first == "none" or not self.target.is_scalar:
            return self.epilogue
        saved = function_cycles(first, self.target) - number_cycles(first, self.target)
        return self.epilogue - saved / self.target.slot_cycles * self.out_vectors

    def elementwise(self, function: str = "") -> Work:
        """One instruction per output beside the activations; every operand is loaded once.  On a
        core without vectors what ``function`` takes, where the node's is no activation."""
        work = self.streams(self.out_vectors)
        if not self.target.is_scalar:
            return work
        cycles = pair_cycles(function, self.target) if function else AROUND.on(self.target)
        moves = cycles * self.output.elements
        return replace(work, slots=work.slots - self.out_vectors, moves=moves)

    def in_integers(
        self, cycles: float, portable: float, slots: float, moved: float | None = None
    ) -> Work:
        """The work of a kernel in integers: ``cycles`` of a core without vectors, those of
        ``portable`` C that compilers do not vectorise, ``slots`` of vectors; ``moved`` bytes, each
        operand once if none are given."""
        moved = self.in_bytes + self.out_bytes if moved is None else moved
        if self.target.is_scalar or self.target.single_issue:
            return Work(0.0, cycles if self.target.is_scalar else portable, 0.0, moved)
        return Work(slots, 0.0, 0.0, moved)

    def copies(self) -> Work:
        """Every operand is copied: as bytes, where it has the format of the output."""
        others = [tensor for tensor in self.inputs if tensor.storage != self.output.storage]
        encoded = write_slots(self.output.storage, self.target)
        decoded = sum(
            tensor.elements / self.target.lanes * (self.stored(tensor).vector + encoded)
            for tensor in others
        )
        return replace(self.streams(), slots=self.epilogue + decoded, decoding=decoded)

    def stored(self, tensor: Tensor) -> Decoding:
        """What the format of ``tensor`` costs."""
        return self.target.decoding(tensor.storage)

    def streams(self, slots: float = 0.0, times: float = 1.0) -> Work:
        """``slots`` beside the epilogue; every operand is read so many ``times``.

        None for copies, transpositions included.
        """
        decoded = times * self.streamed + self.encoded
        return Work(
            slots=slots + self.epilogue + decoded,
            moves=times * self.in_vectors + self.out_vectors,
            weight_bytes=0.0,
            data_bytes=times * self.in_bytes + self.out_bytes,
            decoding=decoded,
        )


def width(storage: Encoding) -> float:
    """Bytes of an element in a storage format."""
    return storage.bits / 8


def functions_of(epilogue: Epilogue) -> tuple[str, ...]:
    """The kinds of what it computes, without what computes nothing."""
    kinds = (epilogue.before.kind, epilogue.after.kind, *((ADDED,) if epilogue.residual else ()))
    return tuple(kind for kind in kinds if kind != "none")


def finish_slots(functions: Sequence[str], target: Target) -> float:
    """Slots of these functions (`functions_of`) per vector of results."""
    if target.is_scalar:
        cycles = (
            pair_cycles("add", target) if kind == ADDED else function_cycles(kind, target)
            for kind in functions
        )
        return sum(cycles) / target.slot_cycles
    return sum(1 if kind == ADDED else FUNCTIONS[kind].slots for kind in functions)

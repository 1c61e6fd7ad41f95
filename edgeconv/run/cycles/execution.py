"""Executes T32 machine code on data that is unknown, and keeps the most cycles that it may take.

Registers and words of memory are numbers or unknown.  Control flow of a network depends on its
sizes, which are constants of the image, so that loops end by themselves and no bound of them is
needed from anybody.  Where a condition is unknown both paths are executed up to where they meet:
there the cycles are those of the longer, and what differs is unknown.

Lundqvist, Stenström, "An Integrated Path and Timing Analysis Method based on Cycle-Level Symbolic
Execution", Real-Time Systems 17, 1999; Gustafsson et al., "Automatic Derivation of Loop Bounds and
Infeasible Paths for WCET Analysis Using Abstract Execution", RTSS 2006.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.code import Code
from edgeconv.run.cycles.block import Block, Ends
from edgeconv.run.cycles.graph import reaches
from edgeconv.run.cycles.induction import State
from edgeconv.run.cycles.library import arguments_of
from edgeconv.run.cycles.memory import Constants, Region
from edgeconv.run.cycles.operation import LR, REGISTERS, SP
from edgeconv.run.cycles.program import Program
from edgeconv.run.cycles.semantics import UNKNOWN_FLAGS, Flags
from edgeconv.run.cycles.switches import ADDRESS, Probe
from edgeconv.target.cycles import CycleTable

_RETURN = 0xFFFF_FFFE  # where the first function returns to
_NESTED = 300  # branches on data, one within the other


@dataclass(slots=True)
class _Kept:
    """The state of the machine but for its memory."""

    registers: list[int | None]
    flags: Flags
    cycles: int
    executed: int
    by_layer: dict[int, int]
    layer: int
    since: int


@dataclass(frozen=True, slots=True)
class _Once:
    """What a function of the library takes of any arguments.  ``visits``: of blocks; ``calls``: of
    other such functions that had been executed before."""

    cycles: int
    executed: int
    extra: int
    visits: Counter[int]
    calls: Counter[int]


class Machine(State):
    """``cycles``: at most so far, those of `Memory.extra` left out; ``executed``: instructions.

    ``layer_starts``: the
    layers that begin at addresses of the first function.
    ``most``: blocks that are executed before it is given up.
    """

    def __init__(
        self,
        code: Code,
        constants: Sequence[Constants],
        regions: Sequence[Region],
        table: CycleTable,
        layer_starts: Mapping[int, int],
        most: int,
    ) -> None:
        super().__init__(constants, regions, table.misaligned)
        self.registers = [None] * REGISTERS
        self.flags: Flags = UNKNOWN_FLAGS
        self.cycles = self.executed = 0
        probe = Probe(constants, regions, table.misaligned)
        self._program = Program(code, table, probe, layer_starts, self._none)
        self._layer_starts, self._left = layer_starts, most
        self._open: Counter[int] = Counter()  # branches whose paths are followed, by their blocks
        self._returns: list[int] = []
        self._pure: dict[int, _Once] = {}
        self._calls: Counter[int] = Counter()  # of these, after the first
        self.by_layer: dict[int, int] = {}
        self._layer, self._since = -1, 0
        self.visits = Counter()

    def call(self, address: int, arguments: Sequence[int | None], stack: int) -> None:
        """Executes the function at ``address`` until it returns.  Raises EdgeconvError where there
        is no bound, naming function and address."""
        words = arguments[4:]
        bottom = stack - 4 * len(words) & -8
        for position, word in enumerate(words):
            self.store(bottom + 4 * position, word, 4)
        self.extra = 0
        self.registers[: len(arguments[:4])] = arguments[:4]
        self.registers[SP], self.registers[LR] = bottom, _RETURN | 1
        self._returns.append(_RETURN)
        self._run(address & ~1, 0, ())
        self._attribute(-1)

    def executions(self) -> Mapping[int, int]:
        """How often each instruction has been executed at most, on all paths, by its address."""
        found: Counter[int] = Counter()
        blocks, calls = Counter(self.visits), Counter(self._calls)
        while calls:
            address, times = calls.popitem()
            once = self._pure[address]
            for pieces, each in ((blocks, once.visits), (calls, once.calls)):
                pieces.update({key: times * count for key, count in each.items()})
        for address, visits in blocks.items():
            for operation in self._program.blocks[address].operations:
                found[operation.address & ~1] += visits
        return found

    @property
    def total(self) -> int:
        """Cycles, all of them."""
        return self.cycles + self.extra

    def _run(self, pc: int, depth: int, stops: Sequence[int]) -> int:
        """Executes from ``pc`` until as many calls as ``depth`` are left, or control is at one of
        ``stops`` with one more; the address."""
        returns, visits, program = self._returns, self.visits, self._program
        blocks, loops = program.blocks, program.loops
        while True:
            if len(returns) == depth or (pc in stops and len(returns) == depth + 1):
                return pc
            block = blocks.get(pc) or program.block(pc)
            if len(returns) == 1:
                self._enter(pc)
            self._left -= 1
            if self._left < 0:
                raise self._none(pc, "takes too long to follow", "more than --limit cycle-steps")
            loop = loops[pc]
            if loop is not None:
                loop.forward(self)
            following = block.run(self)
            visits[pc] += 1
            if following is None:
                pc = self._unknown(block)
            elif block.ends is Ends.CALL:
                returns.append(block.following)
                pc = self._called(following)
            elif block.ends is Ends.INDIRECT and following == returns[-1]:
                returns.pop()
                pc = following
            else:
                pc = following

    def _called(self, address: int) -> int:
        """Executes a function of the compiler's library whose arguments are not known once, of any
        arguments; its successor."""
        registers = self.registers
        arguments = arguments_of(self._program.named(address))
        if arguments is None or None not in registers[:arguments]:
            return address
        known = self._pure.get(address)
        if known is None:
            registers[:4] = (None,) * 4
            before, extra = self._kept(), self.extra
            visits, calls = Counter(self.visits), Counter(self._calls)
            pc = self._run(address, len(self._returns) - 1, ())
            self._pure[address] = _Once(
                self.cycles - before.cycles,
                self.executed - before.executed,
                self.extra - extra,
                self.visits - visits,
                self._calls - calls,
            )
        else:
            self.cycles += known.cycles
            self.executed += known.executed
            self.extra += known.extra
            self._calls[address] += 1
            pc = self._returns.pop()
        # What these functions may change (Arm, Procedure Call Standard, 6.1.1).
        registers[:4] = (None,) * 4
        registers[12] = registers[LR] = None
        self.flags = UNKNOWN_FLAGS
        return pc

    def _enter(self, pc: int) -> None:
        layer = self._layer_starts.get(pc)
        if layer is not None and layer != self._layer:
            self._attribute(layer)

    def _attribute(self, layer: int) -> None:
        """What follows is that of another layer."""
        total = self.total
        self.by_layer[self._layer] = self.by_layer.get(self._layer, 0) + total - self._since
        self._layer, self._since = layer, total

    def _unknown(self, block: Block) -> int:
        """Executes all paths behind a block whose successor is unknown."""
        program = self._program
        if (branch := program.switch(block)) is not None:
            return branch
        if block.ends is not Ends.BRANCH or block.taken is None:
            raise self._none(block.operations[-1].address, "goes where is not known", block.text)
        pc = block.address
        self._open[pc] += 1
        if self._open[pc] > (program.rounds(pc) or _NESTED):
            end = self._ended(block)
            self._open[pc] -= 1
            return end
        where, again = program.meets(pc)
        stops = where, again
        depth = len(self._returns) - 1
        returns = list(self._returns)
        before, extra, outer = self._kept(), self.extra, self.log
        first_log: dict[int, int | None] = {}
        self.log = first_log
        self.cycles += 0 if block.taken & 1 else program.taken[pc]
        end = self._run(block.taken, depth, stops)
        first, first_extra = self._kept(), self.extra
        first_returns = list(self._returns)
        first_words = self.rolled_back(first_log)
        self._restore(before)
        self.extra = extra
        self._returns[:] = returns
        second_log: dict[int, int | None] = {}
        self.log = second_log
        second_end = self._run(block.following, depth, stops)
        if second_end != end == again:  # only the second path has left the loop
            second, second_extra, second_returns = self._kept(), self.extra, list(self._returns)
            second_words = self.rolled_back(second_log)
            self._restore(first)
            self.write_all(first_words)
            self.extra, self.log = first_extra, first_log
            self._returns[:] = first_returns
            end = self._run(end, depth, (where,))
            first, first_extra = self._kept(), self.extra
            first_returns = list(self._returns)
            first_words = self.rolled_back(first_log)
            self._restore(second)
            self.write_all(second_words)
            self.extra, self.log = second_extra, second_log
            self._returns[:] = second_returns
        elif second_end != end and second_end == again:
            second_end = self._run(second_end, depth, (where,))
        if second_end != end or self._returns != first_returns:
            raise self._none(pc, "has paths that do not meet", block.text)
        self._open[pc] -= 1
        self.log = outer
        self._merge(first, first_extra)
        self.merge(first_words, first_log, second_log)
        return end

    def _ended(self, block: Block) -> int:
        """Leaves a loop that data end, when it has gone round as often as it can."""
        pc, program = block.address, self._program
        assert block.taken is not None
        left = [
            at for at in (block.taken, block.following) if not reaches(at, pc, program.successors)
        ]
        if program.rounds(pc) is None or len(left) != 1:
            raise self._none(pc, "has a loop of which only data say when it ends", block.text)
        self.cycles += program.taken[pc] if left == [block.taken] else 0
        return left[0]

    def _merge(self, other: _Kept, extra: int) -> None:
        """Both may have happened."""
        if other.cycles + extra > self.total:
            self.cycles, self.extra = other.cycles, extra
            self.by_layer, self._layer, self._since = other.by_layer, other.layer, other.since
        self.executed = max(self.executed, other.executed)
        if self.registers != other.registers:
            self.registers[:] = [
                a if a == b else None for a, b in zip(self.registers, other.registers, strict=True)
            ]
        if self.flags != other.flags:
            self.flags = UNKNOWN_FLAGS

    def _kept(self) -> _Kept:
        return _Kept(
            self.registers[:],
            self.flags,
            self.cycles,
            self.executed,
            dict(self.by_layer),
            self._layer,
            self._since,
        )

    def _restore(self, kept: _Kept) -> None:
        self.registers[:] = kept.registers
        self.flags, self.cycles, self.executed = kept.flags, kept.cycles, kept.executed
        self.by_layer = dict(kept.by_layer)
        self._layer, self._since = kept.layer, kept.since

    def _none(self, pc: int, why: str, what: str) -> EdgeconvError:
        path = [self._program.named(each) for each in (*self._returns[1:], pc)]
        return EdgeconvError(
            "no bound in cycles",
            where=f"{path[-1]}, address {pc & ADDRESS:#x}",
            got=what,
            rule=f"{path[-1].partition('+')[0]} {why}",
            hint=f"reached by {' > '.join(each.partition('+')[0] for each in path)}",
        )

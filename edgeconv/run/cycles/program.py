"""The basic blocks of an image, decoded where control comes to them, and where their paths meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.code import Code, Function
from edgeconv.run.build.instructions import Flow
from edgeconv.run.cycles.block import Block, Ends, end_of
from edgeconv.run.cycles.graph import EXIT, meeting, meeting_again, reaches
from edgeconv.run.cycles.induction import InductionLoop, induction_loop
from edgeconv.run.cycles.library import rounds_of
from edgeconv.run.cycles.operation import Decoder, Operation
from edgeconv.run.cycles.pricing import cost_of
from edgeconv.run.cycles.switches import ADDRESS, Probe, chain, is_switch, targets_of
from edgeconv.run.cycles.translation import translated
from edgeconv.target.cycles import CycleTable

_LONGEST = 400  # instructions of a block


class Program:
    """``blocks``: those that were decoded, by address; ``taken``: cycles more of a branch that is
    taken, by its block; ``loops``: what each block is as a loop.  ``probe``: knows the constants of
    the image.  ``failed``: the error of what cannot be bounded, of an address, why, and the text of
    an instruction.
    """

    def __init__(
        self,
        code: Code,
        table: CycleTable,
        probe: Probe,
        layer_starts: Mapping[int, int],
        failed: Callable[[int, str, str], EdgeconvError],
    ) -> None:
        self._code, self._table, self._probe, self._failed = code, table, probe, failed
        self._targets = _targets(code) | layer_starts.keys()
        self._decoder = Decoder()
        self._operations: dict[int, Operation] = {}
        self._meetings: dict[int, tuple[int, int]] = {}
        self._switches: dict[int, int | None] = {}  # the first branch instead of it, by its block
        self.blocks: dict[int, Block] = {}
        self.taken: dict[int, int] = {}
        self.loops: dict[int, InductionLoop | None] = {}

    def block(self, pc: int) -> Block:
        """The block that begins at an address, which is translated.  Raises EdgeconvError where
        there is an instruction that is not known."""
        operations = self._straight(pc)
        cost = cost_of(operations, self._table, self._probe.region(pc))
        try:
            block = translated(pc, operations, cost)
        except NotImplementedError as error:
            raise self._failed(pc, "has an instruction that is not known", str(error)) from error
        if block.ends is Ends.CALL and block.taken is not None and self._inside(pc, block.taken):
            block = replace(block, ends=Ends.JUMP)
        self.blocks[pc] = block
        self.taken[pc] = cost.taken
        self.loops[pc] = induction_loop(block, cost)
        return block

    def _straight(self, pc: int) -> list[Operation]:
        """The instructions from ``pc`` to the end of its block."""
        if pc & 1:
            return [replace(self._operation(pc & ~1), address=pc, condition="", size=0)]
        found: list[Operation] = []
        while len(found) < _LONGEST:
            operation = self._operation(pc)
            found.append(operation)
            pc = operation.following
            if end_of(operation) or pc in self._targets:
                break
        return found

    def _operation(self, pc: int) -> Operation:
        if pc not in self._operations:
            function = self._code.containing(pc)
            if function is None:
                raise self._failed(pc, "is no function of the image", "")
            self._decode(function)
        if pc not in self._operations:
            raise self._failed(pc, "has no instruction that is known", "")
        return self._operations[pc]

    def _decode(self, function: Function) -> None:
        """All instructions of a function, each piece from its start: what is conditional is said by
        an instruction before it."""
        end = -1
        for instruction in self._code.body(function).values():
            if instruction.address < end:
                continue
            data = (
                self._probe.constant(instruction.address, function.end - instruction.address) or b""
            )
            known = self._code.body(function)
            for each in self._decoder.decode(data, instruction.address):
                if each.address not in known:
                    break  # constants
                self._operations[each.address] = each
                end = each.following

    def successors(self, pc: int) -> Sequence[int]:
        """Where a block may go to within its function."""
        block = self.blocks.get(pc) or self.block(pc)
        if block.ends is Ends.BRANCH:
            assert block.taken is not None
            return (block.taken, block.following)
        if block.ends is Ends.JUMP:
            return (block.following if block.taken is None else block.taken,)
        if block.ends is Ends.CALL:
            return (block.following,)
        branch = self.switch(block)
        return (EXIT if branch is None else branch,)

    def named(self, address: int) -> str:
        """The function that has an address, and how far behind its start."""
        address &= ADDRESS
        function = self._code.containing(address)
        if function is None:
            return f"{address:#x}"
        behind = address - function.address
        return f"{function.name}+{behind:#x}" if behind else function.name

    def _inside(self, address: int, target: int) -> bool:
        """Whether a call stays in its function: a far jump of Thumb-1, or a subroutine of
        assembly."""
        function = self._code.containing(address & ~1)
        return function is not None and function.address < target < function.end

    def switch(self, block: Block) -> int | None:
        """The first of the branches that a switch on data is followed as, or where it goes; None:
        it is no switch, or it is not known where it goes."""
        if not is_switch(block):
            return None
        pc = block.address
        if pc not in self._switches:
            self._switches[pc] = self._branches(block)
        return self._switches[pc]

    def _branches(self, block: Block) -> int | None:
        function = self._code.containing(block.address)
        own = {
            at: each
            for at, each in self._operations.items()
            if function and function.address <= at < function.end
        }
        targets = targets_of(block, own, self._targets, self._probe)
        if len(targets) < 2:
            return targets[0] if targets else None
        branches = list(chain(block, targets))
        for each in branches:
            self.blocks[each.address] = each
            self.taken[each.address], self.loops[each.address] = 0, None
        return branches[0].address

    def meets(self, pc: int) -> tuple[int, int]:
        """Where all paths from a block meet, and of one in a loop that they meet behind where those
        that stay in it do: of a loop's end there may be copies."""
        if pc not in self._meetings:
            where = meeting(pc, self.successors)
            inside = where != EXIT and reaches(where, pc, self.successors)
            self._meetings[pc] = where, EXIT if inside else meeting_again(pc, self.successors)
        return self._meetings[pc]

    def rounds(self, pc: int) -> int | None:
        """How often a loop at an address goes round at most; None: it is not known."""
        function = self._code.containing(pc & ADDRESS)
        return rounds_of(function.name) if function else None


def _targets(code: Code) -> frozenset[int]:
    """Addresses that branches go to: there blocks begin."""
    found = set()
    for function in code.functions:
        for instruction in code.body(function).values():
            target = instruction.meaning.target
            if target is not None and instruction.meaning.flow is not Flow.NEXT:
                found.add(target)
    return frozenset(found)

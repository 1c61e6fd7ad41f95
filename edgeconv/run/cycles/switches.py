"""Switches on data: jumps through a table whose index is unknown, but compared with a constant.

A compiler compares the index of a table with its last entry just before, and goes elsewhere where
it is larger, so that the jump goes to one of the table's entries up to that.  It is followed as a
chain of branches on unknown data, which take no cycles.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from edgeconv.run.cycles.block import Block, Ends, end_of
from edgeconv.run.cycles.induction import State
from edgeconv.run.cycles.operation import REGISTERS, Operation, Register
from edgeconv.run.cycles.semantics import UNKNOWN_FLAGS, Flags

ADDRESS = 0xFFFF_FFFE  # bits of an address of code; those above tell branches of one switch apart
_NEXT = 1 << 32  # from a branch of the chain to the next
_JUMPS = ("mov", "add", "ldr")  # to PC, of what was loaded or computed
# What an index compared with n is less than where the condition holds.
_ABOVE = {"ls": 1, "lo": 0}
_OPPOSITE = {"hi": "ls", "hs": "lo"}
_MOST = 4096  # entries


class Probe(State):
    """A machine that knows the constants of an image and nothing else."""

    cycles = executed = 0
    flags: Flags

    def behind(self, block: Block, index: int, value: int) -> int | None:
        """Where a block goes if register ``index`` has a value; None: others decide."""
        self.registers = [None] * REGISTERS
        self.registers[index], self.flags = value, UNKNOWN_FLAGS
        return block.run(self)


def is_switch(block: Block) -> bool:
    """Whether a block may end with a jump through a table."""
    return block.ends is Ends.TABLE or (
        block.ends is Ends.INDIRECT and block.operations[-1].name in _JUMPS
    )


def targets_of(
    block: Block, operations: Mapping[int, Operation], targets: frozenset[int], probe: Probe
) -> Sequence[int]:
    """Where a switch may go to, in order; empty where that is not known.

    ``operations``: of its function.  ``targets``: addresses that branches go to.
    """
    to = block.address
    found = [_index(each, operations, targets, to) for each in _before(to, operations)]
    registers = {each[0] for each in found if each}
    if None in found or len(registers) != 1:
        return ()
    (index,) = registers
    entries = max(each[1] for each in found if each)
    if entries > _MOST:
        return ()
    goes_to = {probe.behind(block, index, value) for value in range(entries)}
    known = [each for each in operations if each in goes_to]
    return sorted(known) if len(known) == len(goes_to) else ()


def _before(to: int, operations: Mapping[int, Operation]) -> Iterator[Operation]:
    """The instructions from which control comes to an address."""
    for each in operations.values():
        ends = end_of(each)
        runs_into = each.following == to and ends in (None, Ends.BRANCH, Ends.CALL)
        if runs_into or (ends in (Ends.BRANCH, Ends.JUMP) and to in each.operands):
            yield each


def _index(
    branch: Operation, operations: Mapping[int, Operation], targets: frozenset[int], to: int
) -> tuple[int, int] | None:
    """The register that ``branch`` on the way ``to`` a switch finds less than a number, and that
    number."""
    condition = branch.condition if end_of(branch) is Ends.BRANCH else ""
    if to not in branch.operands:  # the condition does not hold
        condition = _OPPOSITE.get(condition, "")
    if condition not in _ABOVE:
        return None
    addresses = sorted(operations)
    at = bisect_left(addresses, branch.address)
    written: set[int] = set()
    while at and operations[addresses[at - 1]].following == addresses[at]:
        if addresses[at] in targets:
            return None
        at -= 1
        each = operations[addresses[at]]
        match each.operands:
            case (Register(index=index, shift=""), int(number)) if each.name == "cmp":
                return None if index in written else (index, number + _ABOVE[condition])
        if each.sets_flags or each.condition or end_of(each):
            return None
        written |= each.written
    return None


def chain(block: Block, targets: Sequence[int]) -> Iterator[Block]:
    """Blocks without instructions: branches to each of ``targets``, of which there are several, the
    first one behind ``block``."""
    for position, target in enumerate(targets[:-1]):
        address = block.address + _NEXT * (position + 1)
        last = position + 2 == len(targets)
        following = targets[-1] if last else address + _NEXT
        yield Block(address, (), Ends.BRANCH, target, following, lambda _: None)

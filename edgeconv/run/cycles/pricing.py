"""Most cycles of a basic block on a core, wait states of fetching it included."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.cycles.block import Cost, Ends, access_bytes, end_of
from edgeconv.run.cycles.memory import Region
from edgeconv.run.cycles.operation import PC, Operation
from edgeconv.target.cycles import CycleTable

_MOVE = "vmov"


def cost_of(operations: Sequence[Operation], table: CycleTable, region: Region | None) -> Cost:
    """The cost of instructions one after the other; ``region``: that they are fetched from.

    What came before the first is not known: the worst is taken.  Raises EdgeconvError for an
    instruction that the table does not have.
    """
    cycles = sum(_alone(operation, table) for operation in operations)
    cycles += _stalls(None, operations[0], table)
    cycles += sum(_stalls(before, each, table) for before, each in pairwise(operations))
    last = operations[-1]
    if last.name in table.late_result:
        cycles += 1
    taken = _taken(last, table)
    if region and region.waits:
        first, end = operations[0].address & ~1, last.following
        lines = (end - 1) // region.line - first // region.line + 1
        cycles += lines * region.waits
        if end_of(last):
            taken += -(-table.fetched_ahead // region.line) * region.waits
    return Cost(cycles, taken)


def _alone(operation: Operation, table: CycleTable) -> int:
    cycles = table.cycles.get(operation.name)
    if cycles is None:
        raise EdgeconvError(
            "no bound in cycles",
            where=f"address {operation.address & ~1:#x}",
            got=operation.text,
            rule=f"no worst case is known of it: {table.source}",
        )
    size, count = access_bytes(operation)
    if size and operation.place and operation.place.base == PC:
        cycles += table.literal
    if operation.name == _MOVE and operation.text.count(",") > 1:  # a pair: a cycle each
        cycles += 1
    return cycles + count


def _stalls(before: Operation | None, operation: Operation, table: CycleTable) -> int:
    """Cycles that it waits for a result of the instruction before it."""
    found = 0
    if before and before.name in table.late_result and before.written & operation.read:
        found += 1
    if access_bytes(operation)[0]:
        place = operation.place
        of_place = {operation.registers[0]} if place is None else {place.base, place.index}
        of_place -= {PC, None}
        if of_place and (
            before is None or (not access_bytes(before)[0] and before.written & of_place)
        ):
            found += table.address_stall
    return found


def _taken(last: Operation, table: CycleTable) -> int:
    """Cycles more where the last instruction branches."""
    ends = end_of(last)
    if ends is None:
        return 0
    if ends is Ends.CALL:
        return table.call
    return table.returns if last.name in ("pop", "ldm") else table.refill

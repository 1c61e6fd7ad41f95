"""Jumps through tables whose index is unknown: every entry that a comparison leaves is followed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.unit.test_cycle_execution import AS, called, error, image

pytestmark = pytest.mark.skipif(not shutil.which(AS), reason=f"needs {AS}")

# The index of libgcc's division on a Cortex-M0, entries as addresses; the last one is not reached.
ADDRESSES = """FUNCTION f
 cmp r0, #2
 bls 1f
 b 9f
1: ldr r2, 5f
 lsls r0, r0, #2
 ldr r0, [r2, r0]
 mov pc, r0
 .align 2
5: .word table
2: movs r1, #2
 b 9f
3: movs r1, #3
 nop
 nop
4: movs r4, #4
9: movs r3, #7
 bx lr
7: movs r4, #5
 nop
 nop
 nop
 nop
 b 9b
 .section .rodata
 .align 2
table: .word 2b + 1, 3b + 1, 4b + 1, 7b + 1
"""
DISTANCES = """FUNCTION f
 cmp r0, #1
 bhi 9f
 tbb [pc, r0]
6: .byte (2f - 6b) / 2, (3f - 6b) / 2
2: movs r1, #2
 b 9f
3: movs r1, #3
 nop
 nop
9: movs r3, #7
 bx lr
"""


@pytest.mark.parametrize(
    ("text", "cpu", "entries"), [(ADDRESSES, "Cortex-M0", 3), (DISTANCES, "Cortex-M4", 2)]
)
def test_the_longest_entry_counts(text: str, cpu: str, entries: int, tmp_path: Path) -> None:
    """Every index, known, takes no longer than an unknown one, and one of them as long."""
    path = image(tmp_path, text, cpu=cpu.lower())
    unknown = called(path, None, cpu=cpu)
    known = [called(path, index, cpu=cpu) for index in (*range(entries), 9)]
    assert unknown.total == max(each.total for each in known)
    assert unknown.executed == max(each.executed for each in known)
    assert unknown.registers[3] == 7
    assert unknown.registers[1] is None
    most = unknown.executions()
    for each in known:
        assert all(count <= most[at] for at, count in each.executions().items())


# A loop behind an entry of a table, of ROUNDS rounds.
LOOP = """FUNCTION f
 cmp r0, #1
 bhi 9f
 mov r2, #ROUNDS
 tbb [pc, r0]
6: .byte (2f - 6b) / 2, (3f - 6b) / 2
2: movs r1, #2
 b 9f
3: subs r2, #1
 bne 3b
9: movs r3, #7
 bx lr
"""


@pytest.mark.parametrize("entry", ["switch", "known"])
def test_a_longer_loop_behind_a_table_is_noticed(entry: str, tmp_path: Path) -> None:
    """The bound of a program of 20 rounds lies below what one of 21 executes, and is right of its
    own, whether the index is data or known."""
    index = 1 if entry == "known" else None
    found = []
    for rounds in (20, 21):
        text = LOOP.replace("ROUNDS", str(rounds))
        folder = tmp_path / f"{rounds}"
        folder.mkdir()
        path = image(folder, text)
        found.append((called(path, index), called(path, 1)))
    (short, _), (long, executed) = found
    assert executed.executed == long.executed > short.executed
    assert long.total > short.total
    most, less = long.executions(), short.executions()
    ran = executed.executions()
    assert all(count <= most[at] for at, count in ran.items())
    beyond = {at: count for at, count in ran.items() if count > less[at]}
    assert set(beyond.values()) == {21}
    assert len(beyond) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" cmp r0, #2\n bls 1f\n b 9f\n", " movs r1, #1\n"),  # nothing is compared
        (" bls 1f", " bne 1f"),
        (" bls 1f", " adds r1, #1\n bls 1f"),  # the flags are another's
        (" bls 1f", " adds r0, r0, r1\n cmp r1, #2\n bls 1f"),  # another register's
        (" b 9f\n1:", " add r0, r1\n1:"),  # comes from elsewhere, too
        (" cmp r0, #2\n", " cmp r0, #4\n"),  # behind the table's end
    ],
)
def test_an_index_without_a_bound_is_refused(old: str, new: str, tmp_path: Path) -> None:
    text = ADDRESSES.replace(old, new, 1)
    assert text != ADDRESSES
    assert "goes where is not known" in error(image(tmp_path, text, cpu="cortex-m0"), None)


def test_soft_floats_of_a_core_without_division_are_bounded(tmp_path: Path) -> None:
    """libgcc's division, which jumps by the kinds of both operands."""
    text = "FUNCTION f\n push {r4, lr}\n bl __aeabi_fdiv\n bl __aeabi_fdiv\n pop {r4, pc}\n"
    path = image(tmp_path, text, cpu="cortex-m0", library=True)
    unknown = called(path, None, None, cpu="Cortex-M0")
    most = unknown.executions()
    for a in (0x4049_0FDB, 0x0000_0001, 0x7FC0_0000):
        for b in (0xBF80_0000, 0x0000_0003, 0):
            known = called(path, a, b, cpu="Cortex-M0")
            assert known.total <= unknown.total
            assert known.executed <= unknown.executed
            assert all(count <= most[at] for at, count in known.executions().items())

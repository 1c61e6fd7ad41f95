"""Machine code that is executed on unknown data: what it computes, its cycles, and its errors."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.code import Code
from edgeconv.run.cycles import execution
from edgeconv.run.cycles.execution import Machine
from edgeconv.run.cycles.memory import Region, constants_of
from edgeconv.target.cycles import TABLES, table_of

AS = "arm-none-eabi-gcc"
STACK = 0x2001_0000
NO_WAITS = (Region("flash", 0, 1 << 28), Region("ram", 0x2000_0000, 1 << 20))
STEPS = 100_000

pytestmark = pytest.mark.skipif(not shutil.which(AS), reason=f"needs {AS}")


def image(folder: Path, text: str, *, cpu: str = "cortex-m4", library: bool = False) -> Path:
    """Functions in assembly, linked to address 0x1000; each begins by FUNCTION NAME.  ``library``:
    with what they call of the compiler's."""
    lines = [".syntax unified", ".thumb", ".text"]
    for line in text.splitlines():
        word, _, name = line.strip().partition(" ")
        if word == "FUNCTION":
            lines += [f".globl {name}", f".type {name}, %function", ".thumb_func", f"{name}:"]
        else:
            lines.append(line)
    source, path = folder / "code.s", folder / "code.elf"
    source.write_text("\n".join(lines) + "\n")
    flags = [
        f"-mcpu={cpu}",
        "-mthumb",
        "-nostdlib",
        "-Wl,-Ttext=0x1000",
        "-Wl,--no-warn-rwx-segments",
    ]
    last = ["-lgcc"] if library else []
    subprocess.run([AS, *flags, "-Wl,-e,f", str(source), *last, "-o", str(path)], check=True)
    return path


def machine(path: Path, *, cpu: str = "Cortex-M4", regions: Sequence[Region] = NO_WAITS) -> Machine:
    table = table_of(cpu)
    assert table
    return Machine(Code(path), constants_of(path), regions, table, {}, STEPS)


def called(path: Path, *arguments: int | None, name: str = "f", cpu: str = "Cortex-M4") -> Machine:
    found = machine(path, cpu=cpu)
    found.call(Code(path).named(name).address, arguments, STACK)
    return found


def error(path: Path, *arguments: int | None) -> str:
    with pytest.raises(EdgeconvError) as caught:
        called(path, *arguments)
    return caught.value.one_line()


COUNTED = "FUNCTION f\n movs r0, #100\n1: subs r0, #1\n bne 1b\n bx lr\n"


@pytest.mark.parametrize(
    ("cpu", "cycles"),
    [
        # By the tables of the manuals: MOVS, SUBS and BNE 1 each, a branch that is taken 1 + P.
        ("Cortex-M0", 1 + 100 * (1 + 1) + 99 * 2 + 3),
        ("Cortex-M0+", 1 + 100 * (1 + 1) + 99 * 1 + 2),
        ("Cortex-M3", 1 + 100 * (1 + 1) + 99 * 3 + 4),
        ("Cortex-M4", 1 + 100 * (1 + 1) + 99 * 3 + 4),
    ],
)
def test_a_loop_of_known_length(cpu: str, cycles: int, tmp_path: Path) -> None:
    found = called(image(tmp_path, COUNTED, cpu="cortex-m0"), cpu=cpu)
    assert (found.executed, found.total) == (202, cycles)


def test_the_longer_of_two_paths_counts(tmp_path: Path) -> None:
    text = """FUNCTION f
 movs r1, #7
 cmp r0, #5
 bgt 1f
 movs r2, #1
 movs r3, #9
 b 2f
1: movs r2, #2
 movs r3, #9
 sdiv r1, r1, r2
2: adds r4, r3, #1
 bx lr
"""
    path = image(tmp_path, text)
    unknown, large, small = called(path, None), called(path, 6), called(path, 5)
    assert unknown.total == max(large.total, small.total)
    assert large.total != small.total
    assert unknown.registers[1:5] == [None, None, 9, 10]  # of R3 both are the same
    assert large.registers[1:5] == [3, 2, 9, 10]


def test_memory_that_differs_behind_two_paths_is_unknown(tmp_path: Path) -> None:
    text = """FUNCTION f
 movs r1, #1
 movs r2, #2
 push {r1, r2}
 cbz r0, 1f
 str r2, [sp]
1: pop {r3, r4}
 bx lr
"""
    found = called(image(tmp_path, text), None)
    assert found.registers[3:5] == [None, 2]
    assert found.registers[13] == STACK


EARLY = """FUNCTION f
 movs r2, #20
1: ldrb r3, [r0], #1
 cbz r3, 2f
 subs r2, #1
 bne 1b
2: bx lr
"""


def test_paths_meet_in_a_loop_of_which_the_end_is_copied(tmp_path: Path) -> None:
    """Not only behind it, where they would be 2^600; the last round leaves by either end."""
    text = """FUNCTION f
 mov r1, #600
 movs r2, #0
1: adds r2, #1
 ldr r3, [r0, r1]
 cbz r3, 2f
 subs r1, #1
 bne 1b
 b 3f
2: movs r4, #0
 subs r1, #1
 bne 1b
3: bx lr
"""
    found = called(image(tmp_path, text), None)
    assert found.registers[1:3] == [0, 600]
    assert found.executed == 2 + 600 * 6 + 1


def test_a_loop_that_data_may_end_early(tmp_path: Path) -> None:
    path = image(tmp_path, EARLY)
    assert called(path, 0x2000_0000).executed == 1 + 20 * 4 + 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1: lsls r0, #1\n bpl 1b\n bx lr", "f has a loop of which only data say when it ends"),
        ("1: adds r1, #1\n cmp r1, r0\n bne 1b\n bx lr", "only data say when it ends"),
        ("1: b 1b", "f takes too long to follow"),
        (" bx r0", "f goes where is not known"),
        (" ldr r1, [r0]\n blx r1\n bx lr", "f goes where is not known"),
        (" svc #0\n bx lr", "svc #0"),
        (" movs r1, #0\n push {r1, lr}\n str r1, [r0]\n pop {r1, pc}", "goes where is not known"),
    ],
)
def test_what_has_no_bound_names_function_and_address(text: str, what: str, tmp_path: Path) -> None:
    message = error(image(tmp_path, f"FUNCTION f\n{text}\n"), None)
    assert what in message
    assert "address 0x10" in message


@pytest.mark.parametrize("end", ["bne", "bgt", "bge", "bhi", "bhs", "bpl"])
@pytest.mark.parametrize("step", [1, 3, 4])
def test_iterations_at_once_are_those_one_by_one(
    end: str, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In cycles, registers and memory; misaligned accesses and stores among them."""
    text = f"""FUNCTION f
 push {{r4, r5}}
 movs r2, #0
1: ldr r3, [r0], #3
 str r3, [r1, #4]!
 strh r3, [r4, r2, lsl #1]
 add r5, r2, #7
 adds r2, #1
 subs r6, #{step}
 {end} 1b
 pop {{r4, r5}}
 bx lr
"""
    path = image(tmp_path, text)
    results = []
    for least in (4, 1 << 20):
        monkeypatch.setattr("edgeconv.run.cycles.induction._LEAST", least)
        found = machine(path)
        found.registers[4:7] = [0x2000_0800, 0, 60 * step if end != "bne" else 61 * step]
        for at in range(0x2000_0000, 0x2000_0200, 4):
            found.store(at, at, 4)
        found.call(Code(path).named("f").address, [0x2000_0401, 0x2000_0000], STACK)
        known = {at: found.known(at, 4) for at in found.words if at < 0x2000_1000}
        state = found.executed, found.total, found.registers[:3], found.registers[5:7], known
        results.append((state, sum(found.visits.values())))
    (at_once, visits), (one_by_one, all_visits) = results
    assert at_once == one_by_one
    assert visits == all_visits


def test_a_structure_that_is_copied_stays_known(tmp_path: Path) -> None:
    text = """FUNCTION f
 sub sp, #32
 adr r1, 3f
 mov r2, sp
 movs r3, #6
1: ldr r0, [r1], #4
 str r0, [r2], #4
 subs r3, #1
 bne 1b
 ldr r3, [sp, #20]
2: subs r3, #1
 bne 2b
 add sp, #32
 bx lr
 .align 2
3: .word 1, 2, 3, 4, 5, 60
"""
    assert called(image(tmp_path, text)).executed == 4 + 6 * 4 + 1 + 60 * 2 + 2


def test_bytes_that_are_copied_stay_known(tmp_path: Path) -> None:
    """As the last ones of a structure are, by a memcpy of words and bytes."""
    text = """FUNCTION f
 sub sp, #8
 adr r1, 3f
 mov r2, sp
 movs r3, #6
1: ldrb r0, [r1], #1
 strb r0, [r2], #1
 subs r3, #1
 bne 1b
 ldrh r3, [sp, #4]
2: subs r3, #1
 bne 2b
 ldr r3, [sp, #4]
 add sp, #8
 bx lr
 .align 2
3: .byte 1, 2, 3, 4, 60, 0
"""
    found = called(image(tmp_path, text))
    assert found.executed == 4 + 6 * 4 + 1 + 60 * 2 + 3
    assert found.registers[3] is None  # two of its bytes nobody has written


def test_what_is_known_of_a_word_by_bytes(tmp_path: Path) -> None:
    memory = machine(image(tmp_path, "FUNCTION f\n bx lr\n"))
    at = 0x2000_0000
    memory.store(at, 0x11223344, 4)
    memory.store(at + 1, None, 1)
    assert [memory.known(at + i, 1) for i in range(4)] == [0x44, None, 0x22, 0x11]
    assert [memory.known(at, 2), memory.known(at + 2, 2), memory.known(at, 4)] == [
        *(None, 0x1122, None)
    ]
    memory.store(at + 1, 0x133, 1)  # of a register the lowest byte
    assert memory.known(at, 4) == 0x11223344
    memory.store(at + 4, 0x55667788, 4)
    memory.forget(at + 3, 3)
    assert [memory.known(at, 2), memory.known(at + 3, 1)] == [0x3344, None]
    assert [memory.known(at + 4, 2), memory.known(at + 6, 2)] == [None, 0x5566]
    memory.store(at + 3, 7, 2)  # of two words
    assert memory.known(at + 2, 1) == 0x22
    assert memory.known(at + 3, 1) is None
    for place in range(4):
        memory.store(at + 8 + place, place, 1)
        assert memory.known(at + 8 + place, 1) == place
    assert memory.known(at + 8, 4) == 0x03020100
    assert memory.known(at + 10, 4) is None
    memory.forget_all()
    assert not memory.words


def test_wait_states_of_code_and_constants(tmp_path: Path) -> None:
    text = "FUNCTION f\n ldr r0, 1f\n adds r0, #1\n bx lr\n .align 2\n1: .word 41\n"
    path = image(tmp_path, text)
    fast = called(path)
    assert fast.registers[0] == 42
    flash = replace(NO_WAITS[0], waits=5, line=16, has_code=True)
    slow = machine(path, regions=(flash, NO_WAITS[1]))
    slow.call(0x1000, (), STACK)
    # One line with all the code, one that the branch throws away; the constant, and the line anew.
    assert slow.total == fast.total + 5 + 5 + 2 * 5


def test_every_table_names_its_document() -> None:
    assert all("Technical Reference Manual" in table.source for table in TABLES)
    names = [core for table in TABLES for core in table.cores]
    assert len(set(names)) == len(names)


def test_branches_on_data_that_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_NESTED", 10)
    assert "only data say when it ends" in error(image(tmp_path, EARLY), 0x2000_0000)


# Instructions of random operands: registers, amounts n, m, width w, constant k and conditions.
OPERATIONS = """adds {a}, {b}, {c}|subs {a}, {b}, {c}|ands {a}, {a}, {b}|orrs {a}, {a}, {b}
eors {a}, {a}, {b}|bics {a}, {a}, {b}|mvns {a}, {b}|lsls {a}, {b}, #{n}|lsrs {a}, {b}, #{m}
asrs {a}, {b}, #{m}|lsls {a}, {a}, {b}|lsrs {a}, {a}, {b}|asrs {a}, {a}, {b}|rors {a}, {a}, {b}
muls {a}, {b}, {a}|mul {a}, {b}, {c}|adcs {a}, {a}, {b}|sbcs {a}, {a}, {b}|negs {a}, {b}
cmp {a}, {b}|cmn {a}, {b}
tst {a}, {b}|mla {a}, {b}, {c}, {d}|mls {a}, {b}, {c}, {d}|umull {a}, {e}, {b}, {c}
smull {a}, {e}, {b}, {c}|sdiv {a}, {b}, {c}|udiv {a}, {b}, {c}|ubfx {a}, {b}, #{n}, #{w}
sbfx {a}, {b}, #{n}, #{w}|bfi {a}, {b}, #{n}, #{w}|bfc {a}, #{n}, #{w}|clz {a}, {b}|rev {a}, {b}
uxtb {a}, {b}|sxtb {a}, {b}|uxth {a}, {b}|sxth {a}, {b}|uxtab {a}, {b}, {c}|sxtah {a}, {b}, {c}
add.w {a}, {b}, {c}, lsl #{n}|sub.w {a}, {b}, {c}, asr #{m}|orn {a}, {b}, {c}|rsb.w {a}, {b}, {c}
movw {a}, #{k}|movt {a}, #{k}|eor.w {a}, {b}, {c}, ror #{m}|it {cc}; add{cc} {a}, {b}, #{n}
ite {cc}; mov{cc} {a}, {b}; sub{not} {a}, {c}, #{n}|it {cc}; cmp{cc} {a}, {b}
smulbb {a}, {b}, {c}|bic.w {a}, {b}, {c}, lsr #{m}|teq {a}, {b}|mvn.w {a}, {b}, lsl #{n}"""
CONDITIONS = ("eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le")
FUNCTIONS, LENGTH = 300, 8


def random_functions() -> str:
    """Functions of random instructions on numbers near the ends of ranges, and a program that
    calls them and writes R0 to R7 of each to its standard output (Linux)."""
    rng = np.random.default_rng(11)
    operations = OPERATIONS.replace("\n", "|").split("|")
    edges = [0, 1, 2, 31, 32, 127, 128, 255, 256, 0x7FFF, 0x8000, 0x7FFF_FFFF, 0x8000_0000, -1, -2]
    text = ""
    for number in range(FUNCTIONS):
        text += f"FUNCTION f{number}\n"
        for register in range(8):
            value = int(rng.choice(edges)) if rng.random() < 0.6 else int(rng.integers(1 << 32))
            text += f" ldr r{register}, =0x{value & 0xFFFF_FFFF:x}\n"
        text += " cmp r0, r1\n"
        for _ in range(LENGTH):
            a, b, c, d, e = (f"r{i}" for i in rng.choice(8, 5, replace=False))
            n, m, k = (int(rng.integers(1, most)) for most in (31, 32, 1 << 16))
            cc = int(rng.integers(14))
            operands = {"a": a, "b": b, "c": c, "d": d, "e": e, "n": n, "m": m, "k": k}
            operands |= {"w": int(rng.integers(1, 33 - n)), "cc": CONDITIONS[cc]}
            operands |= {"not": CONDITIONS[cc ^ 1]}
            text += f" {str(rng.choice(operations)).format(**operands)}\n"
        text += " bx lr\n .ltorg\n"
    text += "FUNCTION f\n"
    for number in range(FUNCTIONS):
        text += f" bl f{number}\n push {{r0-r7}}\n mov r1, sp\n movs r0, #1\n movs r2, #32\n"
        text += " movs r7, #4\n svc #0\n add sp, #32\n"
    return text + " movs r0, #0\n movs r7, #1\n svc #0\n"


@pytest.mark.skipif(not shutil.which("qemu-arm"), reason="needs qemu-arm")
def test_what_instructions_compute(tmp_path: Path) -> None:
    path = image(tmp_path, random_functions())
    done = subprocess.run(["qemu-arm", str(path)], capture_output=True, check=True)
    expected = np.frombuffer(done.stdout, "<u4").reshape(FUNCTIONS, 8)
    found = machine(path)
    code = Code(path)
    known = 0
    for number, row in enumerate(expected):
        found.call(code.named(f"f{number}").address, (), STACK)
        for index, value in enumerate(row):
            register = found.registers[index]
            assert register in (None, value), f"f{number}: r{index}"
            known += register is not None
    assert known > 0.9 * expected.size


def test_a_pair_of_registers_moves_in_two_cycles(tmp_path: Path) -> None:
    """Cortex-M4 Technical Reference Manual, Table 7-1: VMOV of two registers."""
    cycles = []
    for number, move in enumerate(("vmov s0, r0", "vmov s0, s1, r0, r1")):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = image(folder, f".fpu fpv4-sp-d16\nFUNCTION f\n{move}\nbx lr")
        cycles.append(called(path, 1, 2).cycles)
    assert cycles[1] == cycles[0] + 1

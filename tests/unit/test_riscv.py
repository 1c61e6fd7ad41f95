"""Microcontrollers of RISC-V: what their instructions do, what their boards say, and what starts
their firmware."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.abi import check_object
from edgeconv.run.build.instructions import MACHINES, Effect, Flow, Move
from edgeconv.target import board as boards
from tests import onnx_models
from tests.tools import available

BOARD = "generic-riscv32"
MACHINE = MACHINES["EM_RISCV", 32]
AT = 0x8000_1000


@pytest.mark.parametrize(
    ("code", "flow", "target"),
    [
        ("ef f0 1f ff", Flow.CALL, AT - 0x10),  # jal ra, -16
        ("e5 3f", Flow.CALL, AT - 8),  # c.jal -8
        ("e5 bf", Flow.JUMP, AT - 8),  # c.j -8
        ("63 84 b5 00", Flow.BRANCH, AT + 8),  # beq a1, a1, 8
        ("82 80", Flow.STOP, None),  # ret
        ("02 83", Flow.JUMP_INDIRECT, None),  # c.jr t1
        ("02 93", Flow.CALL_INDIRECT, None),  # c.jalr t1
        ("67 00 83 00", Flow.JUMP_INDIRECT, None),  # jr 8(t1)
        ("17 03 10 00 67 00 83 00", Flow.JUMP, AT + 0x10_0008),  # auipc t1; jr 8(t1)
        ("97 00 10 00 e7 80 80 00", Flow.CALL, AT + 0x10_0008),  # auipc ra; jalr 8(ra)
        ("37 13 00 80 67 00 83 00", Flow.JUMP, AT + 8),  # lui t1, 0x80001; jr 8(t1)
        ("17 03 10 00 82 93", Flow.CALL_INDIRECT, None),  # auipc t1; c.jalr t2
    ],
)
def test_where_control_goes(code: str, flow: Flow, target: int | None) -> None:
    *_, last = MACHINE.decode(bytes.fromhex(code), AT)
    assert (last.meaning.flow, last.meaning.target) == (flow, target), last.text


@pytest.mark.parametrize(
    ("code", "effect"),
    [
        ("41 11", Effect(Move.GROW, 16)),  # c.addi sp, -16
        ("79 71", Effect(Move.GROW, 48)),  # c.addi16sp sp, -48
        ("13 01 01 3b", Effect(Move.GROW, -0x3B0)),  # addi sp, sp, 0x3b0
        ("00 08", Effect(Move.SAVE, -16, "s0")),  # c.addi4spn s0, sp, 16
        ("13 01 04 ff", Effect(Move.RESTORE, 16, "s0")),  # addi sp, s0, -16
        ("16 91", Effect(Move.UNKNOWN)),  # c.add sp, t0
        ("06 c6", None),  # c.swsp ra, 12(sp)
    ],
)
def test_what_happens_to_the_stack_pointer(code: str, effect: Effect | None) -> None:
    (only,) = MACHINE.decode(bytes.fromhex(code), AT)
    assert only.meaning.effect == effect, only.text


@pytest.mark.parametrize("line", ['fpu = "none"', 'float_abi = "soft"'])
def test_the_architecture_says_whether_there_is_an_fpu(line: str, tmp_path: Path) -> None:
    text = boards.load(BOARD).path.read_text()
    path = tmp_path / f"{BOARD}.toml"
    path.write_text(text.replace('os = "none"', f'os = "none"\n{line}'))
    with pytest.raises(EdgeconvError, match="the arch says it: rv32imc"):
        boards.check(path)


@pytest.mark.parametrize(("arch", "has_fpu"), [("rv32imc", False), ("rv32imafc", True)])
def test_an_fpu_comes_with_the_extension_f(arch: str, has_fpu: bool, tmp_path: Path) -> None:
    path = tmp_path / f"{BOARD}.toml"
    path.write_text(boards.load(BOARD).path.read_text().replace('"rv32imc"', f'"{arch}"'))
    assert boards.check(path).has_fpu == has_fpu


def test_firmware_is_emitted_without_a_toolchain(tmp_path: Path) -> None:
    """It starts with code, where a core that knows no vector table starts."""
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    pipeline.compile_model(CompileOptions(model, BOARD), tmp_path / "net")
    startup, main, script = (
        (tmp_path / "net" / name).read_text() for name in ("startup.c", "main.c", f"{BOARD}.ld")
    )
    assert script.index("KEEP(*(.reset))") < script.index(".text :")
    assert "mtvec" in startup
    for of_arm in ("VTOR", "msr ", "SysTick", "firmware_vectors", "bkpt", "0xe000"):
        assert of_arm not in startup + main
    # The ABI of RV32I: a multiple of 16.
    assert "(firmware_stack_reserved + 15) / 16 * 16" in script


@pytest.mark.parametrize(
    ("flags", "wrong"),
    [
        (("-march=rv32im", "-mabi=ilp32"), ""),
        (("-march=rv32imac", "-mabi=ilp32"), "uses a, which rv32imc does not have"),
        (("-march=rv32imfc", "-mabi=ilp32f"), "uses f, which rv32imc does not have"),
        (("-march=rv64imc", "-mabi=lp64"), "is for EM_RISCV with 64 bits"),
    ],
)
def test_objects_of_other_cores_are_refused(
    flags: tuple[str, ...], wrong: str, tmp_path: Path
) -> None:
    board = available(BOARD, to_run=False)
    source, out = tmp_path / "code.c", tmp_path / "code.o"
    source.write_text("int f(int n) { return n * n; }\n")
    command = [board.toolchain.cc[0], *flags, "-c", str(source), "-o", str(out)]
    subprocess.run(command, check=True)
    if wrong:
        with pytest.raises(EdgeconvError, match=wrong):
            check_object(out, board)
    else:
        check_object(out, board)

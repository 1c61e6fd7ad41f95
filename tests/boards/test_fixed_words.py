"""What chips look for in flash before they start an image: it is what their manuals say."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.link import vector_align
from edgeconv.target import board as boards
from edgeconv.target.board import Block
from tests.board_example import FOLDER, changed, message

I_MX_RT = ("teensy-40", "teensy-41", "imxrt1060-evk", "imxrt1010-evk", "imxrt1170-evk")
SECOND_STAGE = 256  # bytes, the last word a CRC of the others


def blocks(name: str) -> dict[str, Block]:
    firmware = boards.load(name).firmware
    assert firmware
    return {block.name: block for block in firmware.blocks}


def bits_at_a_time(data: bytes) -> int:
    """CRC-32 of the RP2040's boot ROM: data sheet, flash second stage."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte << 24
        for _ in range(8):
            register = register << 1 ^ (0x04C11DB7 if register >> 31 else 0)
            register &= 0xFFFFFFFF
    return register


def test_the_crc_of_the_second_stage() -> None:
    assert bits_at_a_time(b"123456789") == 0x0376E6E7, "CRC-32/MPEG-2, whose check value this is"
    stage, crc = blocks("rp2040").values()
    image = struct.pack(f"<{len(stage.words)}I", *stage.words).ljust(SECOND_STAGE - 4, b"\0")
    assert (stage.at, crc.at) == (0, SECOND_STAGE - 4)
    assert crc.words == (bits_at_a_time(image),)


def test_the_second_stage_is_what_its_source_assembles_to(tmp_path: Path) -> None:
    assembler, copy = "arm-none-eabi-as", "arm-none-eabi-objcopy"
    if not shutil.which(assembler):
        pytest.skip(f"{assembler} is not installed")
    source = FOLDER / "classes" / "rp2040-second-stage.S"
    subprocess.run([assembler, source, "-o", tmp_path / "o"], check=True)
    subprocess.run([copy, "-O", "binary", tmp_path / "o", tmp_path / "bin"], check=True)
    stage = blocks("rp2040")["second stage"]
    assert (tmp_path / "bin").read_bytes() == struct.pack(f"<{len(stage.words)}I", *stage.words)


@pytest.mark.parametrize(("name", "kind"), [("rp2350", 0x1021), ("rp2350-riscv", 0x1101)])
def test_the_image_definition_of_an_rp2350(name: str, kind: int) -> None:
    """Data sheet, 5.9.5: a block of two items that is linked to itself, in the first 4 KiB."""
    (block,) = blocks(name).values()
    start, item, last, link, end = block.words
    assert (start, link, end) == (0xFFFFDED3, 0, 0xAB123579)
    assert (item & 0xFF, item >> 8 & 0xFF, item >> 16) == (0x42, 1, kind)
    assert (last & 0xFF, last >> 8) == (0xFF, 1), "the last item: one word of items before it"
    assert block.end <= 4096


@pytest.mark.parametrize("name", I_MX_RT)
def test_what_the_boot_rom_of_an_i_mx_rt_reads(name: str) -> None:
    board, found = boards.load(name), blocks(name)
    assert board.firmware
    flash = board.flash[0]
    assert flash.base is not None
    tag, *_ = found["FlexSPI configuration"].words
    assert struct.pack("<I", tag) == b"FCFB"
    assert found["FlexSPI device"].words[-1] == flash.size
    table = found["image vector table"]
    header, entry, _, _, data, own, *_ = table.words
    assert header & 0xFFFFFF == 0x2000D1, "tag, and length, big-endian"
    assert entry == flash.base + board.firmware.start
    assert own == flash.base + table.at
    assert data == flash.base + found["boot data"].at
    assert found["boot data"].words[:2] == (flash.base, flash.size)


def test_a_chip_that_could_be_locked_is_not() -> None:
    """K64 reference manual, flash configuration field: SEC of FSEC is 2 where it is unsecured."""
    field = blocks("frdm-k64f")["flash configuration field"]
    assert field.at == 0x400
    assert field.words[3] & 3 == 2


@pytest.mark.parametrize("name", boards.names())
def test_starts_are_aligned_for_their_vector_tables(name: str) -> None:
    firmware = boards.load(name).firmware
    assert firmware is None or firmware.start % vector_align(firmware.interrupts) == 0


BLOCK = '\n[[firmware.block]]\nname = "key"\nat = {}\nwords = [1, 2]\n'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "interrupts = 150",
            "interrupts = 150\nstart = 0x100",
            ": firmware.start: got 0x100; what starts the core is aligned to 1024, as a vector",
        ),
        (
            "interrupts = 150",
            "interrupts = 150" + BLOCK.format("0x200"),
            ": firmware.block[0].at: got 0x200; it overlaps what starts the core, at 0x0 to 0x297",
        ),
        (
            "interrupts = 150",
            "interrupts = 150" + BLOCK.format("0x400") + BLOCK.format("0x404"),
            ": firmware.block[1].at: got 0x404; it overlaps 'key', at 0x400 to 0x407",
        ),
        (
            'size = "2MiB"',
            'size = "2KiB"',
            "",
        ),
    ],
)
def test_places_that_cannot_be(tmp_path: Path, old: str, new: str, expected: str) -> None:
    if expected:
        assert message(tmp_path, changed(old, new)).startswith(expected)
        return
    text = changed(old, new).replace("interrupts = 150", "interrupts = 150" + BLOCK.format("0x7fc"))
    path = tmp_path / "tiny.toml"
    path.write_text(text)
    with pytest.raises(EdgeconvError, match="it ends at 0x804, 'flash' has 2KiB"):
        boards.check(path)

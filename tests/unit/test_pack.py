"""Board files of microcontrollers that a CMSIS-Pack describes."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.run.machine import pack
from edgeconv.run.machine.pack_board import board_of_device
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from tests.command import Command

PDSC = """\
<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="1.7.36">
  <vendor>Packer</vendor>
  <name>Chips_DFP</name>
  <releases>
    <release version="1.2.3">New</release>
    <release version="1.0.0">Old</release>
  </releases>
  <devices>
    <family Dfamily="F" Dvendor="Maker:13">
      <processor Dcore="Cortex-M4" Dfpu="SP_FPU" Dclock="80000000"/>
      <memory name="BACKUP" access="rw" start="0x40024000" size="0x200" default="1"/>
      <description>memory here is no memory</description>
      <subFamily DsubFamily="F1">
        <processor Dclock="100000000"/>
        <memory name="SRAM" access="rwx" start="0x20000000" size="0x8000" default="1"/>
        <memory name="CCM" access="rw" start="0x10000000" size="0x4000" default="0"/>
        <device Dname="F101">
          <memory name="FLASH" access="rx" start="0x08000000" size="0x40000" default="1"
                  startup="1"/>
          <memory name="OTP" access="r" start="0x1fff7000" size="0x400"/>
          <memory name="SRAM_2" access="rwx" start="0x20008000" size="0x4000" default="1"/>
        </device>
        <device Dname="F102A">
          <memory name="FLASH" access="rx" start="0x08000000" size="0x20000" default="1"/>
        </device>
        <device Dname="F102B">
          <memory name="FLASH" access="rx" start="0x08000000" size="0x20000" default="1"/>
        </device>
        <device Dname="F103">
          <memory id="IROM1" start="0x08000000" size="0x20000" default="1"/>
          <memory id="IRAM1" start="0x30000000" size="0x20000" default="1"/>
          <variant Dvariant="F103X"><processor Dfpu="NO_FPU"/></variant>
          <variant Dvariant="F103Y"/>
        </device>
      </subFamily>
    </family>
    <family Dfamily="G" Dvendor="Maker:13">
      <device Dname="G1">
        <processor Dclock="150000000"/>
        <processor Pname="big" Dcore="Cortex-M7" Dfpu="SP_FPU" Dclock="300000000"/>
        <processor Pname="small" Dcore="Cortex-M0+"/>
        <memory name="ROM" access="rx" start="0x0" size="0x10000" default="1"/>
        <memory name="RAM" access="rwx" start="0x20000000" size="0x10000" default="1"/>
        <memory name="OWN" Pname="small" access="rwx" start="0x10000000" size="0x10000"
                default="1"/>
      </device>
      <device Dname="G2">
        <processor Dcore="Cortex-M33" Dfpu="1"/>
        <memory name="S" access="rxs" start="0x0c000000" size="0x10000" default="1"/>
        <memory name="NS" access="rxn" start="0x08000000" size="0x10000" default="1"/>
        <memory name="RAM_S" access="rwxs" start="0x30000000" size="0x10000" default="1"/>
        <memory name="RAM_NS" access="rwxn" start="0x20000000" size="0x10000" default="1"/>
        <memory name="X" access="rwx" alias="RAM_NS" start="0x0" size="0x10000" default="1"/>
      </device>
      <device Dname="G3"><processor Dcore="ARM9"/></device>
      <device Dname="G4"><memory name="R" access="rx" start="0" size="0x10000"/></device>
      <device Dname="G5">
        <processor Dcore="Cortex-M3"/>
        <memory name="R" access="rx" start="zero" size="0x10000" default="1"/>
      </device>
    </family>
  </devices>
</package>
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "Packer.Chips_DFP.pdsc"
    path.write_text(PDSC)
    return path


def made(device: str, file: Path, name: str = "mine") -> Board:
    return board_of_device(name, device, file, file.parent)


def regions(board: Board) -> list[tuple[str, str, int | None, int]]:
    return [(each.name, each.kind, each.base, each.size) for each in board.memory]


def test_a_device_has_what_its_family_states(file: Path) -> None:
    board = made("f101", file)
    assert board.description == "Maker F101: Cortex-M4"
    assert (board.clock_hz, board.fpu, board.cpu) == (100_000_000, "fpv4-sp-d16", "Cortex-M4")
    assert board.run.siblings == ("mps2-an386",)
    assert regions(board) == [
        ("flash", "flash", 0x0800_0000, 256 << 10),
        ("RAM", "sram", 0x2000_0000, 48 << 10),  # two neighbours
    ]
    text = board.path.read_text()
    assert "CMSIS-Pack Packer Chips_DFP 1.2.3" in text.replace("\n# ", " ")
    assert "# Left out, as not meant for every program: BACKUP, CCM, OTP." in text
    assert boards.check(board.path) == board


def test_identifiers_of_older_packs(file: Path) -> None:
    assert regions(made("F103Y", file))[1] == ("RAM1", "sram", 0x3000_0000, 128 << 10)


def test_a_variant_changes_its_device(file: Path) -> None:
    assert made("F103X", file).fpu == "none"
    assert made("F103Y", file, "other").fpu == "fpv4-sp-d16"
    assert "F103" not in {device.name for device in pack.read(file).devices}


def test_the_first_of_several_cores(file: Path) -> None:
    board = made("G1", file)
    assert (board.cpu, board.fpu, board.clock_hz) == ("Cortex-M7", "fpv5-sp-d16", 300_000_000)
    assert [each.name for each in board.ram] == ["RAM"], "not what the other core has alone"
    text = board.path.read_text().replace("\n# ", " ")
    assert "the others are small" in text
    assert "Nor of caches" in text


def test_memory_at_secure_addresses_is_left_to_secure_firmware(file: Path) -> None:
    assert [each.base for each in made("G2", file).memory] == [0x0800_0000, 0x2000_0000]


def test_a_packed_description(file: Path) -> None:
    packed = file.with_suffix(".pack")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "no description")
        archive.write(file, file.name)
    assert pack.read(packed) == pack.read(file)


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (
            "F10",
            "unknown device: got 'F10'; 5 devices of several kinds begin so: F101, F102A, F102B",
        ),
        (
            "F110",
            "unknown device: got 'F110'; no device of Packer Chips_DFP 1.2.3; did you mean F1",
        ),
        (
            "G3",
            "no board can be made of this device: got G3; there is no class of boards with ARM9",
        ),
        ("G4", "no board can be made of this device: got G4; the pack states no processor of it"),
        ("G5", "mine.toml: memory: is missing"),
    ],
)
def test_parts_that_are_none(file: Path, device: str, expected: str) -> None:
    with pytest.raises(EdgeconvError) as caught:
        made(device, file)
    assert caught.value.code is Exit.USAGE
    assert expected in str(caught.value)
    assert not (file.parent / "mine.toml").exists()


def test_parts_of_one_kind_may_be_named_in_short(file: Path) -> None:
    assert made("F102", file).description == "Maker F102A: Cortex-M4"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "no element found"),
        (b"<package/>", "it describes no devices"),
        (b"<package><devices>", "no element found"),
        (b'<!DOCTYPE p [<!ENTITY a "b">]><package>&a;</package>', "it has a document type"),
        (b"PK\x03\x04", "syntax error|not well-formed"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "some.pdsc"
    path.write_bytes(content)
    with pytest.raises(EdgeconvError, match=expected) as caught:
        pack.read(path)
    assert caught.value.code is Exit.USAGE


def test_what_is_deep_or_large_is_refused(edgeconv: Command, file: Path, tmp_path: Path) -> None:
    deep = tmp_path / "deep.pdsc"
    deep.write_bytes(b"<package>" + b"<a>" * 1000)
    with pytest.raises(EdgeconvError, match="board-depth"):
        pack.read(deep)
    given = ("boards", "new", "mine", "--mcu", "F101", "--pack", file)
    done = edgeconv(*given, "--limit", "pack-bytes=1000")
    assert done.status == Exit.UNSATISFIED
    assert "pack-bytes" in done.stderr


def test_the_command(edgeconv: Command, file: Path, tmp_path: Path) -> None:
    given = ("boards", "new", "mine", "-o", tmp_path)
    done = edgeconv.ok(*given, "--mcu", "F101", "--pack", file)
    assert "mine.toml is a valid board file" in " ".join(done.stdout.split())
    again = edgeconv(*given, "--mcu", "F101", "--pack", file)
    assert "the board file exists" in again.stderr
    alone = edgeconv(*given, "--mcu", "F101")
    assert alone.status == Exit.USAGE
    assert "--mcu and --pack go together" in alone.stderr
    missing = edgeconv("boards", "new", "other", "--mcu", "F101", "--pack", tmp_path / "none.pack")
    assert (missing.status, "cannot read the pack" in missing.stderr) == (Exit.USAGE, True)

"""Firmware of boards that no emulator boots, on a sibling that runs the same machine code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.link import LinkPlan, Section
from edgeconv.run.build.project import Project
from edgeconv.run.build.sibling import runs_somewhere
from edgeconv.search.memory.sibling import CODE_BYTES, DATA_BYTES, sibling_plan
from edgeconv.target import board as boards
from tests.command import Command
from tests.tools import available

BOARD, SIBLING = "teensy-41", "mps2-an500"  # flash above RAM, three regions of RAM
PLAN = LinkPlan(
    regions=(
        Section("FLASH", "flash, flash", 0x60000000, 8 << 20, True),
        Section("DTCM", "DTCM, tcm", 0x20000000, 128 << 10, False),
        Section("OCRAM", "OCRAM, sram", 0x20200000, 768 << 10, False),
        Section("ITCM", "ITCM, tcm", 0x40, 4096, False),
    ),
    code="FLASH",
    weights={"": "FLASH"},
    data="DTCM",
    io="OCRAM",
    banks={"arena": "OCRAM"},
    stack=4096,
    interrupts=160,
    setup=(("REGISTER", 0x400, 1),),
    offset=0x2000,
)


def test_regions_move_and_nothing_else() -> None:
    there = boards.load(SIBLING)
    plan = sibling_plan(PLAN, {"FLASH": 5000, "OCRAM": 20000}, there)
    assert plan
    assert there.firmware
    assert (plan.code, plan.data, plan.io, plan.banks) == ("FLASH", "DTCM", "OCRAM", PLAN.banks)
    assert (plan.offset, plan.fixed, plan.setup) == (0, (), ())
    assert plan.interrupts == there.firmware.interrupts
    sizes = {region.name: region.size for region in plan.regions}
    assert sizes.keys() == {"FLASH", "DTCM", "OCRAM"}, "what nothing lies in is left out"
    assert sizes["FLASH"] >= 5000 + CODE_BYTES
    assert sizes["DTCM"] >= DATA_BYTES
    assert sizes["OCRAM"] >= 20000
    for one in plan.regions:
        kind = there.flash if one.is_flash else there.ram
        homes = [r for r in kind if r.base is not None and 0 <= one.base - r.base < r.size]
        assert homes
        for other in plan.regions:
            apart = one.base + one.size <= other.base or other.base + other.size <= one.base
            assert one is other or apart


def test_no_region_is_larger_than_on_the_board() -> None:
    small = replace(PLAN.regions[1], size=2048)
    regions = (PLAN.regions[0], small, *PLAN.regions[2:])
    plan = sibling_plan(replace(PLAN, regions=regions), {}, boards.load(SIBLING))
    assert plan
    assert {r.name: r.size for r in plan.regions}["DTCM"] == 2048


def test_what_finds_no_room_has_no_plan() -> None:
    large = replace(PLAN.regions[2], size=1 << 30)
    regions = (*PLAN.regions[:2], large)
    plan = replace(PLAN, regions=regions)
    assert sibling_plan(plan, {"OCRAM": 1 << 29}, boards.load(SIBLING)) is None
    assert sibling_plan(plan, {}, boards.load("host")) is None


def test_the_network_is_the_same_to_the_byte(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    available(BOARD)
    folder = tmp_path / "net"
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", folder, "--build")
    done = edgeconv.ok("verify", folder, "--model", residual_model, "--json")
    assert f'"ran": "qemu-system-arm as {SIBLING}, which runs the same machine code"' in done.stdout
    project = Project.open(folder)
    own, there = project.build(), project.build(run_here=True)
    assert there.board.name == SIBLING
    name = project.sources[0]
    assert own.objects[name].read_bytes() == there.objects[name].read_bytes()
    weights = project.sources[1]
    assert own.objects[weights].read_bytes() == there.objects[weights].read_bytes()
    again = project.build(run_here=True)
    assert all(path.is_file() for path in again.objects.values()), "found again, not built"


def test_a_program_without_room_says_so(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "net"
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", folder)
    (folder / "sibling" / f"{SIBLING}.ld").unlink()
    with pytest.raises(EdgeconvError, match=f"more memory than {SIBLING} has") as caught:
        Project.open(folder).place()
    assert caught.value.code is Exit.MISSING_TOOL


def test_where_a_board_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    available(BOARD)
    assert runs_somewhere(boards.load(BOARD)).name == SIBLING
    assert runs_somewhere(boards.load(SIBLING)).name == SIBLING
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EdgeconvError, match="needs qemu-system-arm") as caught:
        runs_somewhere(boards.load(BOARD))
    assert caught.value.code is Exit.MISSING_TOOL


def test_an_own_board_behind_a_probe_runs_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'schema = 1\nextends = "{BOARD}"\nname = "mine"\ndescription = "On the desk"\n'
    run = '[run]\nkind = "probe"\ncommand = ["pyocd", "{image}"]\n'
    (tmp_path / "mine.toml").write_text(text + run)
    monkeypatch.setenv("EDGECONV_BOARDS", str(tmp_path))
    with pytest.raises(EdgeconvError, match="needs pyocd"):
        runs_somewhere(boards.load("mine"))

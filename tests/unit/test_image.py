"""Images and hosted programs against what their reports promise."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.allocation import allocated, program_headers
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.elf import read_sections, symbols
from edgeconv.run.build.image import check_image, check_network
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from tests.tiny_firmware import ARM, M4, MEMORY, SCRIPT, Firmware, binary, board, run

REPORT: dict[str, Any] = {
    "program": {"name": "net"},
    "ram": {
        "stack_bound": 100,
        "regions": [
            {"name": "TCM", "kind": "tcm", "arena": 2048, "io": 0, "data": 8, "stack": 256},
            {"name": "SRAM", "kind": "sram", "arena": 1024, "io": 0, "data": 0, "stack": 0},
        ],
    },
    "flash": {
        "weights": 5000,
        "regions": [{"name": "Flash", "weights": 5000, "code": None, "rodata": 4}],
    },
}


@pytest.fixture
def firmware(tmp_path: Path) -> Firmware:
    return Firmware(tmp_path)


def contradictions(image: Path, report: Any = REPORT, on: Board | None = None) -> tuple[str, ...]:
    """What ``check_image`` finds."""
    try:
        check_image(binary(image, on or board()), report)
    except EdgeconvError as error:
        return error.details
    return ()


def changed(*path: str | int, to: object) -> dict[str, Any]:
    """REPORT with another value."""
    report = deepcopy(REPORT)
    entry: Any = report
    for key in path[:-1]:
        entry = entry[key]
    entry[path[-1]] = to
    return report


def test_an_image_as_promised(firmware: Firmware) -> None:
    image = firmware()
    assert contradictions(image) == ()
    code = read_sections(image).text
    assert contradictions(image, changed("flash", "regions", 0, "code", to=code)) == ()
    assert symbols(image)["net_arena"].size == 2048


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (changed("flash", "weights", to=4999), "net_weights: 5,000 bytes, reported are 4,999"),
        (changed("ram", "regions", 0, "arena", to=2064), "net_arena: 2,048 bytes, reported"),
        (
            changed("ram", "regions", 1, "arena", to=0),
            "net_arena_sram: 1,024 bytes, reported are 0",
        ),
        (changed("ram", "regions", 0, "data", to=12), "data in TCM: 8 bytes, reported are 12"),
        (changed("ram", "regions", 0, "stack", to=248), "the stack: 256 bytes, reported are 248"),
        (changed("ram", "stack_bound", to=257), "the stack has 256 bytes, its bound is 257"),
        (changed("flash", "regions", 0, "code", to=1), "code in Flash: "),
        (
            changed("flash", "regions", 0, "rodata", to=0),
            "rodata in Flash: 4 bytes, reported are 0",
        ),
    ],
)
def test_sizes_other_than_reported(report: Any, message: str, firmware: Firmware) -> None:
    found = contradictions(firmware(), report)
    assert any(line.startswith(message) for line in found), found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "net_weights)) } > FLASH",
            "net_weights)) } > SRAM",
            "net_weights lies in SRAM, planned was Flash",
        ),
        (
            "net_weights)) } > FLASH",
            "net_weights)) } > SRAM",
            ".weights has contents at start, which SRAM (sram) loses",
        ),
        ("net_arena)) } > TCM", "net_arena)) } > SRAM", "no part of the arena lies in TCM"),
        ("} > TCM AT > FLASH", "} > TCM", ".data has contents at start, which TCM (tcm) loses"),
        ("COMMON) } > TCM", "COMMON) } > FLASH", ".bss is written to, Flash is flash"),
        (
            "net_arena)) } > TCM AT > TCM",
            "net_arena)) } > TCM",
            "the header of 0x20000100 has 2,060 bytes filled with zeros in Flash, which is flash",
        ),
        ("firmware_stack_top", "other_top", "firmware_stack_top is not defined"),
        ("0x24000000", "0x25000000", ".net_arena_sram at 0x25000000, 1,024 bytes, lies in no"),
        (". += 256", ". += 128", "the stack: 128 bytes, reported are 256"),
    ],
)
def test_places_other_than_planned(old: str, new: str, message: str, firmware: Firmware) -> None:
    assert old in SCRIPT
    found = contradictions(firmware(SCRIPT.replace(old, new)))
    assert any(line.startswith(message) for line in found), found


def test_contents_are_loaded_by_the_segment_that_has_them(firmware: Firmware) -> None:
    """Flash lies above RAM, so that a segment without bytes in the file comes first; it runs from
    the stack to the variables and has the addresses of the initial values, too."""
    headers = "PHDRS { ram PT_LOAD; flash PT_LOAD; data PT_LOAD; }\nSECTIONS"
    script = SCRIPT.replace("ORIGIN = 0x00000000", "ORIGIN = 0x60000000")
    script = script.replace("SECTIONS", headers, 1)
    ends = {"> FLASH\n": "flash", "AT > FLASH\n": "data", "> TCM\n": "ram", "> SRAM\n": "ram"}
    for end, segment in sorted(ends.items(), key=lambda item: len(item[0]), reverse=True):
        script = script.replace(end, f"{end[:-1]} :{segment}\n")
    image = firmware(script)
    (data,) = (section for section in allocated(image) if section.name == ".data")
    first = program_headers(image)[0]
    assert first.stored == 0
    assert first.address <= data.address < first.address + first.size
    assert data.load is not None
    assert data.load >= 0x6000_0000


def test_a_region_that_is_smaller_than_the_script_says(firmware: Firmware) -> None:
    small = (MEMORY[0], replace(MEMORY[1], size=2100), MEMORY[2])
    found = contradictions(firmware(), on=board(small))
    assert any("runs past the end of TCM" in line for line in found), found


def test_an_undefined_symbol(firmware: Firmware) -> None:
    """A strong one fails the link; what is weak becomes a call to nowhere."""
    image, out = firmware(SCRIPT, "-DCALLS"), firmware.folder / "code.o"
    run(ARM, *M4, "-DCALLS", "-c", firmware.folder / "code.c", "-o", out)
    with pytest.raises(EdgeconvError, match="got elsewhere is undefined; 1 contradiction to"):
        check_image(binary(image, board(), code=out), REPORT)


def network(tmp_path: Path, text: str) -> Binary:
    source, out = tmp_path / "net.c", tmp_path / "net.o"
    source.write_text(text)
    run("gcc", "-O1", "-c", source, "-o", out)
    return replace(binary(out, boards.load("host")), objects={"net.c": out})


def test_a_network_of_a_hosted_program(tmp_path: Path) -> None:
    text = "#include <string.h>\nvoid f(char *p, char *q, size_t n) { memcpy(p, q, n); }\n"
    built = network(tmp_path, text)
    sizes = built.sections(["net.c"])
    report = {
        "program": {"name": "net"},
        "flash": {"weights": 0, "code": sizes.text, "rodata": sizes.rodata},
    }
    check_network(built, report, "net.c")
    report["flash"] = {"weights": 0, "code": sizes.text + 1, "rodata": None}
    with pytest.raises(EdgeconvError, match=r"code of net.c: \d+ bytes, reported are \d+"):
        check_network(built, report, "net.c")


@pytest.mark.parametrize("threads", [1, 2])
def test_atomic_operations_may_be_the_compilers(threads: int, tmp_path: Path) -> None:
    """GCC asks its own library for those of AArch64, where a program has threads."""
    text = "unsigned __aarch64_ldadd4_acq_rel(unsigned, void *);\n"
    text += "void f(void *p) { (void)__aarch64_ldadd4_acq_rel(1, p); }\n"
    report: dict[str, Any] = {"program": {"name": "net"}, "threads": threads}
    report |= {"flash": {"code": None, "rodata": None}, "ram": {"data": None}}
    built = network(tmp_path, text)
    if threads > 1:
        check_network(built, report, "net.c")
        return
    with pytest.raises(EdgeconvError, match="__aarch64_ldadd4_acq_rel is called"):
        check_network(built, report, "net.c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('int puts(const char *); void f(void) { puts(""); }', "puts is called, which is none of"),
        ("float sqrtf(float); float f(float x) { return 1 + sqrtf(x); }", "sqrtf is called"),
        ("int counter[10];", "variables of net.c: 40 bytes, reported are 0"),
    ],
)
def test_what_a_network_may_not_need(text: str, message: str, tmp_path: Path) -> None:
    report = {"program": {"name": "net"}, "flash": {"code": None, "rodata": None}}
    with pytest.raises(EdgeconvError, match=message):
        check_network(network(tmp_path, f"{text}\n"), report, "net.c")

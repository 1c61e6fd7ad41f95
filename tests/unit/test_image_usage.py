"""Who takes what of a memory, and what is said when something does not fit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.usage import does_not_fit, overflows, region_usage, usage_table
from tests.tiny_firmware import SCRIPT, Firmware


@pytest.fixture
def firmware(tmp_path: Path) -> Firmware:
    return Firmware(tmp_path)


def test_who_takes_what(firmware: Firmware) -> None:
    image = firmware()
    flash, tcm, sram = region_usage(image, image.with_name("net.ld"))
    assert (flash.name, flash.base, flash.size) == ("FLASH", 0, 0x10000)
    assert flash.shares[0].what == "net_weights"
    assert flash.shares[0].bytes == 5000
    assert {s.section: s.bytes for s in tcm.shares} | {"": 0} == {
        ".net_arena": 2048, ".stack": 256, ".data": 4, ".bss": 4, "": 0,
    }  # fmt: skip
    assert tcm.used == 256 + 4 + 12 + 2048 + 4  # 12 to align the arena
    assert sram.free == 8192 - 1024
    table = usage_table([flash, tcm, sram])
    assert table[0].startswith("FLASH: ")
    assert "         5,000  net_weights" in table[1]
    assert "TCM: 2,324 of 4,096 bytes, 1,772 free" in table


def linker(firmware: Firmware, script: str, *flags: str) -> Callable[[Sequence[str]], None]:
    def link(arguments: Sequence[str]) -> None:
        try:
            firmware(script, *flags, *arguments)
        except subprocess.CalledProcessError as error:
            raise EdgeconvError(error.stderr.decode()) from error

    return link


@pytest.mark.parametrize(
    ("old", "new", "region", "excess"),
    [
        ("LENGTH = 0x1000", "LENGTH = 0x800", "TCM", 2324 - 2048),
        ("LENGTH = 8192", "LENGTH = 1000", "SRAM", 24),
    ],
)
def test_what_does_not_fit_is_a_table(
    old: str, new: str, region: str, excess: int, firmware: Firmware
) -> None:
    link = linker(firmware, SCRIPT.replace(old, new))
    with pytest.raises(EdgeconvError) as caught:
        link(())
    log, image = str(caught.value), firmware.folder / "net.elf"
    assert overflows(log) == {region: excess}
    error = does_not_fit(link, image, firmware.folder / "net.ld", log)
    assert error
    assert f"{region} {excess:,} bytes too many" in str(error)
    assert any(
        line.startswith(f"{region}: ") and line.endswith(f", {excess:,} too many")
        for line in error.details
    ), error.details
    assert any("net_weights" in line for line in error.details)
    assert not image.exists()


def test_a_link_that_fails_for_another_reason(firmware: Firmware) -> None:
    link = linker(firmware, SCRIPT, "-DMISSES")
    with pytest.raises(EdgeconvError, match="undefined reference") as caught:
        link(())
    script = firmware.folder / "net.ld"
    assert does_not_fit(link, firmware.folder / "net.elf", script, str(caught.value)) is None


def test_the_words_of_both_linkers() -> None:
    gnu = "ld: region `RAM' overflowed by 1234 bytes\nld: region `FLASH' overflowed by 8 bytes"
    lld = "ld.lld: error: section '.bss' will not fit in region 'RAM': overflowed by 99 bytes"
    assert overflows(gnu) == {"RAM": 1234, "FLASH": 8}
    assert overflows(lld) == {"RAM": 99}

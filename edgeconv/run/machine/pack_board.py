"""``edgeconv boards new NAME --mcu DEVICE --pack FILE``: a board file from a CMSIS-Pack."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import NamedTuple

from edgeconv.base import sizes
from edgeconv.base.errors import UsageError
from edgeconv.run.machine import pack
from edgeconv.run.machine.pack import Attributes, Device, Pack
from edgeconv.run.machine.paths import path_of, write_new
from edgeconv.run.machine.probe import printable
from edgeconv.target import board as boards
from edgeconv.target.board import Board

_NO_FPU, _SINGLE = ("", "0", "NO_FPU"), ("SP_FPU",)
# Core, as Dcore names it -> the class without and with an FPU; "" for none.
_CLASSES = {
    "Cortex-M0": ("cortex-m0", ""),
    "Cortex-M0+": ("cortex-m0plus", ""),
    "Cortex-M3": ("cortex-m3", ""),
    "Cortex-M4": ("cortex-m4", "cortex-m4f"),
    "Cortex-M7": ("", "cortex-m7"),
    "Cortex-M23": ("cortex-m23", ""),
    "Cortex-M33": ("", "cortex-m33f"),
    "Cortex-M55": ("", "cortex-m55"),
    "Cortex-M85": ("", "cortex-m85"),
}
_WITH_CACHES = ("Cortex-M7", "Cortex-M55", "Cortex-M85")
_FLASH, _SRAM = "flash", "sram"  # kinds of memory
_LEAST = 1024  # bytes of a region: what is smaller are registers and one-time memories
_WIDTH = 100


class _Region(NamedTuple):
    """``names``: of the neighbours that it is made of."""

    names: str
    start: int
    size: int
    is_flash: bool


def board_of_device(name: str, device: str, file: Path, output: Path | None = None) -> Board:
    """Write the board ``name`` to ``output`` (NAME.toml, also where it is a folder): that device of
    the pack ``file``.

    Raises EdgeconvError (exit status 2): as `paths.path_of`; the pack cannot be read; there is no
    such device, or edgeconv has no kernels for its core; what the pack says makes no board.
    """
    path = path_of(name, output)
    found = pack.read(file)
    text = _render(name, found, found.device(device), file)
    with TemporaryDirectory(prefix="edgeconv-") as folder:
        draft = Path(folder) / path.name
        draft.write_text(text, encoding="utf-8")
        boards.check(draft)
    write_new(path, text)
    return boards.check(path)


def _render(name: str, found: Pack, device: Device, file: Path) -> str:
    if not device.processors:
        raise _unusable(device, "the pack states no processor of it")
    processor, *others = device.processors
    core, unit = processor.get("Dcore", ""), processor.get("Dfpu", "")
    has_fpu = unit not in _NO_FPU
    base = _CLASSES.get(core, ("", ""))[has_fpu]
    if not base:
        kind = f"{core or 'its core'} {'with' if has_fpu else 'without'} an FPU"
        raise _unusable(device, f"there is no class of boards with {kind}")
    lines = [
        *_head(name, found.title, device, file, core, [each.get("Pname", "") for each in others]),
        "schema = 1",
        f"extends = {_text(base)}",
        f"name = {_text(name)}",
        f"description = {_text(f'{_vendor(found.vendor)}{device.name}: {core}')}",
    ]
    clock = _number(processor.get("Dclock", ""))
    if clock:
        lines += [f'clock = "{clock / 1e6:g}MHz" # the pack, Dclock: the most']
    if core == "Cortex-M7" and unit in _SINGLE:
        lines += ['fpu = "fpv5-sp-d16" # the pack, Dfpu: single precision']
    kept, left = _regions(device, processor.get("Pname", ""))
    for region in kept:
        lines += [
            *(
                "",
                "[[memory]]",
                f"name = {_text(_name_of(region, kept))}",
                f"kind = {_text(_FLASH if region.is_flash else _SRAM)}",
            ),
            f"base = 0x{region.start:08x} # the pack: {printable(region.names)}",
            f"size = {_text(_size(region.size))} # the same",
        ]
    if left:
        lines += ["", f"# Left out, as not meant for every program: {printable(', '.join(left))}."]
    return "\n".join(lines) + "\n"


def _head(
    name: str, title: str, device: Device, file: Path, core: str, others: list[str]
) -> Iterator[str]:
    """What the file is made of, and what it lacks."""
    text = (
        f"Written by `edgeconv boards new {name} --mcu {device.name} --pack {file.name}` from the "
        f"CMSIS-Pack {title}. A pack says nothing of wait states, energy, interrupts, or which RAM "
        "is the fastest: state bandwidths of the memories, [energy] and firmware.interrupts from "
        "the data sheet, and list the fastest RAM first."
    )
    if core in _WITH_CACHES:
        text += " Nor of caches: add tables [[cache]]."
    if any(others):
        text += f" Of several cores this is the first; the others are {', '.join(others)}."
    for line in wrap(printable(text), width=_WIDTH - 2):
        yield f"# {line}"


def _regions(device: Device, processor: str) -> tuple[list[_Region], list[str]]:
    """The memories of the device, flash first, neighbours joined, the largest RAM first; and the
    names of those that are left out."""
    own = [each for each in device.memories if each.get("Pname", processor) == processor]
    usable = [each for each in own if not each.get("alias")]
    # Where a device has memory at secure addresses too, firmware without TrustZone uses the others.
    open_kinds = {_is_flash(each) for each in usable if "s" not in each.get("access", "")}
    usable = [
        each
        for each in usable
        if "s" not in each.get("access", "") or _is_flash(each) not in open_kinds
    ]
    meant = {_is_flash(each) for each in usable if each.get("default") == "1"}
    kept, left = [], []
    for each in usable:
        start, size = _number(each.get("start", "")), _number(each.get("size", ""))
        is_default = each.get("default") == "1" or _is_flash(each) not in meant
        if start is None or size is None or size < _LEAST or not is_default:
            left.append(each["name"])
        else:
            first = each.get("startup") == "1"
            kept.append((not first, _Region(each["name"], start, size, _is_flash(each))))
    flash = [region for _, region in sorted(kept, key=lambda row: row[0]) if region.is_flash]
    ram = [region for _, region in kept if not region.is_flash]
    joined = sorted(_joined(ram), key=lambda region: -region.size)
    return [*_joined(flash), *joined], left


def _joined(regions: Iterable[_Region]) -> list[_Region]:
    """Neighbours as one; of those that overlap the first."""
    found: list[_Region] = []
    for region in regions:
        end = region.start + region.size
        if any(o.start < end and region.start < o.start + o.size for o in found):
            continue
        for at, other in enumerate(found):
            if other.start + other.size == region.start:
                names = f"{other.names}, {region.names}"
                found[at] = _Region(names, other.start, other.size + region.size, other.is_flash)
                break
        else:
            found.append(region)
    return found


def _is_flash(memory: Attributes) -> bool:
    """Code can be run from it, and nothing written."""
    access = memory.get("access", "")
    return "w" not in access if access else memory["name"].startswith("IROM")


def _name_of(region: _Region, among: list[_Region]) -> str:
    """A name as board files have it, each once."""
    alike = [each for each in among if each.is_flash == region.is_flash]
    number = alike.index(region) + 1
    kind = "flash" if region.is_flash else "RAM"
    return f"{kind}{number}" if len(alike) > 1 else kind


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _size(size: int) -> str:
    text = sizes.exact(size)
    return text if text.endswith("iB") else f"{text}B"


def _vendor(vendor: str) -> str:
    return f"{vendor} " if vendor else ""


def _text(text: str) -> str:
    return json.dumps(printable(text), ensure_ascii=False)


def _unusable(device: Device, rule: str) -> UsageError:
    return UsageError(
        "no board can be made of this device",
        got=device.name,
        rule=rule,
        hint="copy a file of boards/ and edit it",
    )

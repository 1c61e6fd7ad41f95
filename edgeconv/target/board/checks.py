"""What has to hold in a board file and its schema cannot say."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from edgeconv.base.names import did_you_mean
from edgeconv.base.quantities import parse
from edgeconv.base.sizes import exact
from edgeconv.ir.link import LEAST_VECTOR_ALIGN, SYSTEM_VECTORS, vector_align
from edgeconv.target.board import arch, exactness

BARE_METAL = "none"
FLASH = "flash"
IMAGE = "{image}"  # in the command of a probe: the path of what it loads

# -mfpu and -mfloat-abi follow from `fpu` and `float_abi`: stated twice they could differ.
_DERIVED_FLAGS = ("-mfpu", "-mfloat-abi")
_ADDRESSES = 1 << 32  # of a microcontroller
_SMALLEST = 64  # bytes of a region: what is left out where one starts at address 0
_RAM_ALIGN = 8  # the stack's, by the procedure call standard of Arm

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a board file.  ``field``: its path in the file, such as
    ``memory[1].base``.  ``hint``: the way out."""

    field: str
    got: str
    rule: str
    hint: str


def problems(data: Data) -> Iterator[Problem]:
    """All that is wrong with ``data``, which is valid by the schema.

    Each problem presumes that those before it are solved: take the first one.
    """
    for check in _CHECKS:
        yield from check(data)


def _size(entry: Data) -> int:
    return int(parse(entry["size"], "size"))


_RATES = {
    "macs_per_cycle": "the core's best instruction does, such as 4.0",
    "loads_per_cycle": "register tiles load, such as 1.0",
    "load_cycles": "a vector load takes from multiply-adds, such as 2.0",
}


def _numbers(data: Data) -> Iterator[Problem]:
    """TOML has ``nan`` and ``inf``, which pass any bound that JSON schema knows."""
    for name, what in _RATES.items():
        rate = data.get(name, 1)
        if not math.isfinite(rate):
            hint = f"write what {what}, or leave it out"
            yield Problem(name, str(rate), "must be finite", hint)
    if "clock" in data and parse(data["clock"], "frequency") < 1:
        rule = "a clock has at least 1Hz"
        yield Problem("clock", repr(data["clock"]), rule, "write it like '480MHz'")


def _levels(data: Data) -> Iterator[Problem]:
    levels = [cache["level"] for cache in data.get("cache", ())]
    for number, level in enumerate(levels):
        field = f"cache[{number}].level"
        if level in levels[:number]:
            rule = "another cache is of this level"
            yield Problem(field, str(level), rule, "correct one of the two, or leave it out")
        if level > 1 and level - 1 not in levels:
            rule = f"there is no cache of level {level - 1}"
            yield Problem(field, str(level), rule, "describe that one too, or count from 1")


def _cache_shapes(data: Data) -> Iterator[Problem]:
    """A cache is sets of ``ways`` lines."""
    for number, cache in enumerate(data.get("cache", ())):
        field = f"cache[{number}]"
        size, line, ways = _size(cache), int(parse(cache["line"], "size")), cache.get("ways", 1)
        if line & (line - 1):
            rule = "the size of a line is a power of two"
            yield Problem(f"{field}.line", repr(cache["line"]), rule, "most have 32B, 64B or 128B")
        if size % line:
            rule = f"it is no whole number of lines of {cache['line']}"
            yield Problem(f"{field}.size", repr(cache["size"]), rule, "correct size or line")
        if size // line % ways:
            rule = f"it does not divide the {size // line} lines of the cache into sets"
            yield Problem(f"{field}.ways", str(ways), rule, "correct ways, size or line")


def _caches_grow(data: Data) -> Iterator[Problem]:
    caches = sorted(enumerate(data.get("cache", ())), key=lambda entry: int(entry[1]["level"]))
    for (_, near), (number, far) in pairwise(caches):
        if _size(far) < _size(near):
            rule = f"level {far['level']} is smaller than level {near['level']}, of {near['size']}"
            hint = "correct one of the two, or leave out what is no larger than the level before"
            yield Problem(f"cache[{number}].size", repr(far["size"]), rule, hint)


def _names_once(data: Data) -> Iterator[Problem]:
    names = [region["name"] for region in data.get("memory", ())]
    for number, name in enumerate(names):
        if name in names[:number]:
            rule = "another region has this name"
            yield Problem(f"memory[{number}].name", repr(name), rule, "rename one of them")


def _apart(data: Data) -> Iterator[Problem]:
    """Regions with an address share no byte."""
    placed = [
        (region["base"], region["base"] + _size(region), repr(region["name"]), number)
        for number, region in enumerate(data.get("memory", ()))
        if "base" in region
    ]
    for base, end, name, number in placed:
        for other_base, other_end, other, earlier in placed:
            if earlier < number and base < other_end and other_base < end:
                rule = f"{name} overlaps {other} at {other_base:#x} to {other_end - 1:#x}"
                hint = "correct base or size of one of the two"
                yield Problem(f"memory[{number}].base", f"{base:#x}", rule, hint)


def _architecture(data: Data) -> Iterator[Problem]:
    """Firmware is for cores that there is start-up code for."""
    if data.get("os") == BARE_METAL:
        found = arch.find(data["arch"])
        if found is None or not found.start:
            rule = "no architecture of a microcontroller that edgeconv knows"
            hint = did_you_mean(data["arch"], arch.MICROCONTROLLERS)
            yield Problem("arch", repr(data["arch"]), rule, hint)


def _can_start(data: Data) -> Iterator[Problem]:
    """Firmware needs somewhere to start from, and somewhere for its variables."""
    if data.get("os") != BARE_METAL:
        if "firmware" in data:
            rule = f'a board has firmware when its os is "{BARE_METAL}"'
            yield Problem("firmware", "", rule, f'add os = "{BARE_METAL}", or remove the table')
        return
    kinds = {region["kind"] for region in data["memory"]}
    listed = ", ".join(sorted(kinds)) or "no region"
    if FLASH not in kinds:
        rule = f"firmware starts from a region of kind {FLASH}"
        yield Problem("memory", listed, rule, "describe it in a table [[memory]]")
    if kinds <= {FLASH}:
        rule = "firmware needs RAM: a region of kind tcm, sram or dram"
        yield Problem("memory", listed, rule, "describe it in a table [[memory]]")


def _addresses(data: Data) -> Iterator[Problem]:
    """Where a microcontroller can have its memory."""
    if data.get("os") != BARE_METAL:
        return
    first_flash = next(n for n, region in enumerate(data["memory"]) if region["kind"] == FLASH)
    vectors = vector_align(data["firmware"].get("interrupts", 0))
    for number, region in enumerate(data["memory"]):
        field, base, size = f"memory[{number}]", region["base"], _size(region)
        if size < _SMALLEST:
            rule = f"a region has at least {_SMALLEST} bytes"
            yield Problem(f"{field}.size", repr(region["size"]), rule, "correct it or leave it out")
        if base + size > _ADDRESSES:
            rule = f"with a size of {region['size']} it ends beyond 4 GiB, at {base + size - 1:#x}"
            yield Problem(f"{field}.base", f"{base:#x}", rule, "correct base or size")
        if region["kind"] != FLASH:
            align, why = _RAM_ALIGN, "RAM starts at a multiple of"
        elif number != first_flash:
            align, why = LEAST_VECTOR_ALIGN, "flash starts at a multiple of"
        else:
            align, why = vectors, "the vector table is here, at a multiple of"
        if base % align:
            up = base + -base % align
            hint = f"correct it, or start at {up:#x} with a size {up - base} bytes smaller"
            yield Problem(f"{field}.base", f"{base:#x}", f"{why} {align}", hint)


def _fixed_places(data: Data) -> Iterator[Problem]:
    """What starts the core and what the chip looks for lie apart, in the first flash."""
    if data.get("os") != BARE_METAL:
        return
    firmware = data["firmware"]
    start, interrupts = firmware.get("start", 0), firmware.get("interrupts", 0)
    aligned = vector_align(interrupts)
    if start % aligned:
        rule = f"what starts the core is aligned to {aligned}, as a vector table of this size is"
        yield Problem("firmware.start", f"{start:#x}", rule, "correct it, or interrupts")
    flash = next(region for region in data["memory"] if region["kind"] == FLASH)
    taken = [(start, start + 4 * (SYSTEM_VECTORS + interrupts), "what starts the core")]
    for number, block in enumerate(firmware.get("block", ())):
        field, at = f"firmware.block[{number}]", block["at"]
        end = at + 4 * len(block["words"])
        for other, other_end, what in taken:
            if at < other_end and other < end:
                rule = f"it overlaps {what}, at {other:#x} to {other_end - 1:#x}"
                yield Problem(f"{field}.at", f"{at:#x}", rule, "correct one of the two")
        if end > _size(flash):
            rule = f"it ends at {end:#x}, {flash['name']!r} has {flash['size']}"
            yield Problem(f"{field}.at", f"{at:#x}", rule, "correct it, or the size")
        taken.append((at, end, repr(block["name"])))


def _stack_fits(data: Data) -> Iterator[Problem]:
    """Stack and variables share the first region of RAM."""
    if data.get("os") != BARE_METAL:
        return
    region = next(region for region in data["memory"] if region["kind"] != FLASH)
    stack, size = data["firmware"]["stack"], _size(region)
    if parse(stack, "size") >= size:
        rule = (
            f"with variables beside it, it lies in the first region of RAM, "
            f"{region['name']!r}, which has {exact(size)}"
        )
        hint = "correct one of the two, or list a larger region first"
        yield Problem("firmware.stack", repr(stack), rule, hint)


def _stated_once(data: Data) -> Iterator[Problem]:
    for number, flag in enumerate(data["toolchain"].get("flags", ())):
        if flag.partition("=")[0] in _DERIVED_FLAGS:
            rule = "the keys fpu and float_abi of the board say this"
            yield Problem(f"toolchain.flags[{number}]", repr(flag), rule, "remove it here")


def _exact(data: Data) -> Iterator[Problem]:
    """Neither options nor the arguments of a compiler's command change arithmetic."""
    toolchain = data["toolchain"]
    for number, flag in enumerate(toolchain.get("flags", ())):
        if exactness.inexact([flag]):
            field = f"toolchain.flags[{number}]"
            yield Problem(field, repr(flag), exactness.RULE, exactness.HINT)
    for number, command in enumerate(toolchain["cc"]):
        if found := exactness.inexact(shlex.split(command)):
            field = f"toolchain.cc[{number}]"
            yield Problem(field, repr(found), exactness.RULE, exactness.HINT)


def _commands(data: Data) -> Iterator[Problem]:
    """Compilers are command lines."""
    for number, command in enumerate(data["toolchain"]["cc"]):
        field = f"toolchain.cc[{number}]"
        try:
            if not shlex.split(command):
                yield Problem(
                    field, repr(command), "names no program", "write one, or leave it out"
                )
        except ValueError as error:
            yield Problem(field, repr(command), str(error), "quote it as in a shell")


def _reached(data: Data) -> Iterator[Problem]:
    """Linux is reached over ssh, firmware through a probe that is told which image."""
    run, bare = data["run"], data.get("os") == BARE_METAL
    kind = run["kind"]
    if kind == "ssh" and bare:
        rule, hint = "it has no operating system", 'a debugger reaches it: kind = "probe"'
        yield Problem("run.kind", repr(kind), rule, hint)
    if kind == "probe" and not bare:
        rule = "probes are for boards without an operating system"
        yield Problem("run.kind", repr(kind), rule, 'write "ssh", or add os = "none"')
    if kind == "probe" and not any(IMAGE in word for word in run["command"]):
        rule = f"no word of it names {IMAGE}, which the path of the image takes the place of"
        yield Problem("run.command", repr(run["command"]), rule, "write it where the path goes")
    for key in ("folder", "before") if kind != "ssh" else ():
        if key in run:
            rule = f'of boards whose run.kind is "ssh", here "{kind}"'
            yield Problem(f"run.{key}", repr(run[key]), rule, "correct the kind, or leave it out")


def _float_abi_fits(data: Data) -> Iterator[Problem]:
    """An FPU is used only when compilers are told how floats are passed to functions."""
    fpu, abi = data.get("fpu"), data.get("float_abi")
    if fpu == "none" and abi not in (None, "soft"):
        rule = 'a core whose fpu is "none" has "soft" only'
        yield Problem("float_abi", repr(abi), rule, "correct one of the two")
    if fpu not in (None, "none") and abi is None:
        rule = f'an fpu, here "{fpu}", needs it'
        yield Problem("float_abi", "", rule, 'write float_abi = "hard" or "softfp"')
    if fpu not in (None, "none") and abi == "soft":
        rule = 'the fpu would not be used; it needs "hard" or "softfp"'
        yield Problem("float_abi", repr(abi), rule, 'correct it, or write fpu = "none"')


def _fpu_named_once(data: Data) -> Iterator[Problem]:
    """Names of RISC-V's architectures say whether there is an FPU, -march and -mabi which one."""
    found = arch.find(data["arch"])
    for key in ("fpu", "float_abi") if found and found.is_riscv else ():
        if key in data:
            rule = f"the arch says it: {found.name if found else ''}"
            hint = "leave it out; toolchain.flags have -march and -mabi"
            yield Problem(key, repr(data[key]), rule, hint)


def _energy_once(data: Data) -> Iterator[Problem]:
    """The power of a running board has everything in it: prices would be counted twice."""
    energy = data.get("energy", {})
    for key in ("mac", "byte", "idle") if "run" in energy else ():
        if key in energy:
            rule = "run of the same table has it in it already"
            yield Problem(f"energy.{key}", repr(energy[key]), rule, "keep one of the two")


_CHECKS: tuple[Callable[[Data], Iterator[Problem]], ...] = (
    _numbers,
    _architecture,
    _levels,
    _cache_shapes,
    _caches_grow,
    _names_once,
    _apart,
    _can_start,
    _addresses,
    _fixed_places,
    _stack_fits,
    _commands,
    _exact,
    _stated_once,
    _reached,
    _float_abi_fits,
    _fpu_named_once,
    _energy_once,
)

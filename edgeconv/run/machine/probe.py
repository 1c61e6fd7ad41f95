"""What Linux tells of the machine beyond ``edgeconv.target.host``: its name, its cores, its memory.

Some machines have cores of several kinds, such as the two clusters of a big.LITTLE processor.  A
board is one kind; this one is that of the fastest processor the calling process may run on, so that
``taskset`` selects another.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from edgeconv.target.host import Host, detect, read

_CPUS = "sys/devices/system/cpu"
_ARM, _NVIDIA, _APPLE = "0x41", "0x4e", "0x61"
# MIDR_EL1 as /proc/cpuinfo prints it: implementer, part -> core.  Source: Linux,
# arch/arm64/include/asm/cputype.h and arch/arm/include/asm/cputype.h.
_CORES: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        (_ARM, "0xc05"): "Cortex-A5",
        (_ARM, "0xc07"): "Cortex-A7",
        (_ARM, "0xc08"): "Cortex-A8",
        (_ARM, "0xc09"): "Cortex-A9",
        (_ARM, "0xc0d"): "Cortex-A12",
        (_ARM, "0xc0e"): "Cortex-A17",
        (_ARM, "0xc0f"): "Cortex-A15",
        (_ARM, "0xd03"): "Cortex-A53",
        (_ARM, "0xd04"): "Cortex-A35",
        (_ARM, "0xd05"): "Cortex-A55",
        (_ARM, "0xd07"): "Cortex-A57",
        (_ARM, "0xd08"): "Cortex-A72",
        (_ARM, "0xd09"): "Cortex-A73",
        (_ARM, "0xd0a"): "Cortex-A75",
        (_ARM, "0xd0b"): "Cortex-A76",
        (_ARM, "0xd0c"): "Neoverse-N1",
        (_ARM, "0xd0d"): "Cortex-A77",
        (_ARM, "0xd40"): "Neoverse-V1",
        (_ARM, "0xd41"): "Cortex-A78",
        (_ARM, "0xd42"): "Cortex-A78AE",
        (_ARM, "0xd44"): "Cortex-X1",
        (_ARM, "0xd46"): "Cortex-A510",
        (_ARM, "0xd47"): "Cortex-A710",
        (_ARM, "0xd48"): "Cortex-X2",
        (_ARM, "0xd49"): "Neoverse-N2",
        (_ARM, "0xd4d"): "Cortex-A715",
        (_ARM, "0xd4e"): "Cortex-X3",
        (_ARM, "0xd4f"): "Neoverse-V2",
        (_ARM, "0xd80"): "Cortex-A520",
        (_ARM, "0xd81"): "Cortex-A720",
        (_NVIDIA, "0x003"): "Denver 2",
        (_NVIDIA, "0x004"): "Carmel",
        (_APPLE, "0x022"): "Apple M1 Icestorm",
        (_APPLE, "0x023"): "Apple M1 Firestorm",
    }
)
_NO_NAMES = frozenset(
    {"", "to be filled by o.e.m.", "system product name", "default string", "none", "not specified"}
)


@dataclass(frozen=True, slots=True)
class Machine:
    """What Linux tells of the machine.  ``host``: as seen from processor ``cpu``.  ``measured``:
    the processors of its kind that may be measured, itself among them.  ``name``: of the machine,
    "" where nothing tells it.  ``core``:  micro-architecture or model of the processor.  ``cores``:
    how many of this kind there are, hardware threads of one core counted once.  ``others``: the
    cores of other kinds.  ``available``: bytes of memory that are free, None unknown."""

    host: Host
    name: str
    core: str
    cpu: int
    measured: frozenset[int]
    cores: int
    others: tuple[str, ...]
    available: int | None

    @property
    def description(self) -> str:
        """One line for people."""
        return f"{self.name}: {self.core}" if self.name else self.core


def probe(
    root: Path = Path("/"), machine: str | None = None, allowed: Collection[int] | None = None
) -> Machine:
    """Read ``root``/proc and ``root``/sys; ``allowed`` are the processors to choose from.

    The arguments are for tests; the defaults describe the running machine.
    """
    processors = _processors(read(root / "proc/cpuinfo"))
    usable = set(os.sched_getaffinity(0) if allowed is None else allowed) & processors.keys()
    cpu = max(usable or {0}, key=lambda number: (_speed(root, number), -number))
    host = detect(root, machine, cpu)
    kinds = {number: _kind(root, number, fields) for number, fields in processors.items()}
    alike = [number for number, kind in kinds.items() if kind == kinds[cpu]]
    other = {kind: number for number, kind in kinds.items() if kind != kinds[cpu]}
    return Machine(
        host=host,
        name=_machine_name(root),
        core=_core(processors.get(cpu, {})) or printable(host.cpu),
        cpu=cpu,
        measured=frozenset(usable.intersection(alike)) or frozenset({cpu}),
        cores=max(1, len({_siblings(root, number) for number in alike})),
        others=tuple(sorted(_core(processors[number]) or kind for kind, number in other.items())),
        available=available(root),
    )


def printable(text: str) -> str:
    """One line without control characters, as firmware strings may have them."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _processors(cpuinfo: str) -> dict[int, dict[str, str]]:
    """/proc/cpuinfo: number of a processor -> its fields."""
    found: dict[int, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, colon, value = (part.strip() for part in line.partition(":"))
        if key == "processor" and value.isdigit():
            fields = found.setdefault(int(value), {})
        elif colon:
            fields[key] = value
    return found or {0: {}}


def _speed(root: Path, cpu: int) -> tuple[int, int]:
    """Capacity as the scheduler sees it, then the highest clock; 0 where the kernel has none."""
    folder = root / f"{_CPUS}/cpu{cpu}"
    capacity, khz = read(folder / "cpu_capacity"), read(folder / "cpufreq/cpuinfo_max_freq")
    return int(capacity) if capacity.isdigit() else 0, int(khz) if khz.isdigit() else 0


def _kind(root: Path, cpu: int, fields: Mapping[str, str]) -> str:
    """Equal for cores that are alike: Arm states the part, Intel's hybrids have one unit of
    performance counters per kind."""
    if "CPU part" in fields:
        return f"{fields.get('CPU implementer', '')} {fields['CPU part']}"
    for unit in ("cpu_core", "cpu_atom"):
        if cpu in _cpu_list(read(root / f"sys/devices/{unit}/cpus")):
            return unit
    return ""


def _cpu_list(text: str) -> frozenset[int]:
    """``0-3,8`` as the kernel writes sets of processors."""
    spans = re.findall(r"(\d+)(?:-(\d+))?", text)
    return frozenset(n for low, high in spans for n in range(int(low), int(high or low) + 1))


def _siblings(root: Path, cpu: int) -> str:
    """The hardware threads of the core of ``cpu``, the same text for each of them."""
    return read(root / f"{_CPUS}/cpu{cpu}/topology/thread_siblings_list") or str(cpu)


def _core(fields: Mapping[str, str]) -> str:
    if "CPU part" in fields:
        key = (fields.get("CPU implementer", _ARM), fields["CPU part"])
        return _CORES.get(key, f"Arm core {key[0]} {key[1]}")
    if "cpu" in fields:  # POWER: "POWER10 (architected), altivec supported"
        return re.split(r"[ (,]", printable(fields["cpu"]), maxsplit=1)[0]
    name = re.sub(r"\((?:R|TM)\)|\bCPU\b|@.*", " ", fields.get("model name", ""), flags=re.I)
    return printable(name)


def _machine_name(root: Path) -> str:
    """The device tree's model, or what a PC's firmware calls itself."""
    for path in ("proc/device-tree/model", "sys/class/dmi/id/product_name"):
        name = printable(read(root / path).replace("\0", " "))
        if name.lower() not in _NO_NAMES:
            return name
    return ""


def available(root: Path = Path("/")) -> int | None:
    """Bytes of memory that are free, None unknown."""
    found = re.search(r"^MemAvailable:\s*([0-9]+) kB$", read(root / "proc/meminfo"), re.M)
    return int(found[1]) * 1024 if found else None

"""What the machine that runs edgeconv is: architecture, instruction sets, clock, data caches.

Read from the kernel's files (Linux ``/proc/cpuinfo`` and ``/sys``); what cannot be read is absent
from the result, never guessed.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from edgeconv.base import sizes
from edgeconv.target.backends import TARGETS
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target

# uname -m spells some architectures differently by operating system; armv8l is a 64-bit processor
# that runs 32-bit programs, to which a 64-bit kernel describes the 64-bit state.
_ARCH_ALIASES = {"arm64": "aarch64", "amd64": "x86_64", "AMD64": "x86_64", "armv8l": "armv7l"}
# Mandatory there, beside what backends say, and /proc/cpuinfo exists on Linux only.
_BASELINE_WORDS = {"aarch64": frozenset({"fp"}), "x86_64": frozenset({"sse2"})}


@dataclass(frozen=True, slots=True)
class Host:
    """The running machine.  ``words``: every word of /proc/cpuinfo in lower case, which is where
    the feature flags of all architectures are; RISC-V names its extensions in one, whose letters
    are words, too: rv64v of rv64imafdcv_zba.  ``clock_hz`` and ``memory``, in bytes, are
    None where they are not known."""

    arch: str
    cpu: str
    words: frozenset[str]
    clock_hz: int | None
    cores: int
    caches: tuple[Cache, ...]
    memory: int | None = None

    def has(self, words: tuple[str, ...]) -> bool:
        """Every one of ``words`` is in /proc/cpuinfo (compared without case)."""
        return {word.lower() for word in words} <= self.words


def widest(host: Host) -> Target:
    """The instruction set with the longest vectors that ``host`` has, of those whose length is
    known: how long the vectors are that a core chooses is not in /proc/cpuinfo.  Of equally long
    ones that which asks most of the CPU: it has the rows of the others, and prices choose."""
    fits = (row for row in TARGETS.values() if row.arch in (host.arch, "any"))
    known = (row for row in fits if host.has(row.cpu_flags) and not row.scalable)
    return max(known, key=lambda row: (row.lanes, len(row.cpu_flags)))


def detect(root: Path = Path("/"), machine: str | None = None, cpu: int = 0) -> Host:
    """Read ``root``/proc and ``root``/sys of a machine that calls itself ``machine``.

    These arguments are for tests; the defaults describe the running machine.  ``cpu``: the number
    of the processor whose clock and caches are meant, where they differ.
    """
    name = machine or _machine()
    arch = _ARCH_ALIASES.get(name, name)
    text = read(root / "proc/cpuinfo")
    words = frozenset(re.findall(r"[a-z0-9_.+-]+", text.lower()))
    named = (re.match(r"(rv\d+)([a-z]+)", word) for word in words)
    words |= {f"{found[1]}{letter}" for found in named if found for letter in found[2]}
    baseline = _BASELINE_WORDS.get(arch, frozenset()).union(
        *(row.cpu_flags for row in TARGETS.values() if row.mandatory in (arch, name))
    )
    return Host(
        arch=arch,
        cpu=_cpu_name(text) or arch,
        words=words | baseline,
        clock_hz=_clock(root, text, cpu),
        cores=max(1, len(re.findall(r"^processor\s*:", text, re.M))),
        caches=tuple(sorted(_caches(root, cpu), key=lambda cache: cache.level)),
        memory=_memory(root),
    )


@cache
def running() -> Host:
    """The running machine, read once, without what the system does not let a process have."""
    host = detect()
    for row in TARGETS.values():
        if row.granted and host.has(row.cpu_flags) and not row.granted():
            others = (other.cpu_flags for other in TARGETS.values() if other is not row)
            host = replace(host, words=host.words - {*row.cpu_flags}.difference(*others))
    return host


def _machine() -> str:
    """What uname -m prints, but for a 32-bit system on a 64-bit Arm kernel, which it leaves out."""
    name = platform.machine()
    return "armv8l" if name == "aarch64" and sys.maxsize < 2**32 else name


def read(path: Path) -> str:
    """The text of a file of the kernel, "" when it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _cpu_name(cpuinfo: str) -> str:
    match = re.search(r"^(?:model name|cpu)\s*:\s*(.+)$", cpuinfo, re.M)
    return match[1].strip() if match else ""


def _clock(root: Path, cpuinfo: str, cpu: int) -> int | None:
    """The highest clock the kernel may set, else the one it reports."""
    khz = read(root / f"sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq")
    if khz.isdigit():
        return int(khz) * 1000
    mhz = re.search(r"^(?:cpu MHz|clock)\s*:\s*([0-9.]+)(?:MHz)?\s*$", cpuinfo, re.M)
    return round(float(mhz[1]) * 1e6) if mhz else None


def _caches(root: Path, cpu: int) -> Iterator[Cache]:
    for folder in sorted((root / f"sys/devices/system/cpu/cpu{cpu}/cache").glob("index*")):
        level, kind = read(folder / "level"), read(folder / "type")
        size, line = read(folder / "size"), read(folder / "coherency_line_size")
        ways = read(folder / "ways_of_associativity")
        if kind in ("Data", "Unified") and level.isdigit() and size and line.isdigit():
            known = int(ways) if ways.isdigit() and int(ways) > 0 else None
            yield Cache(int(level), sizes.parse(size), int(line), ways=known)


def _memory(root: Path) -> int | None:
    """All that the kernel has to give, which is a little less than what is fitted."""
    total = re.search(r"^MemTotal:\s*([0-9]+) kB$", read(root / "proc/meminfo"), re.M)
    return int(total[1]) * 1024 if total else None

"""What is read of a machine: its cores, caches and memory, from texts of real kernels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from edgeconv.run.machine.probe import probe
from edgeconv.target.cache import Cache

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

X86 = """\
processor\t: {}
vendor_id\t: GenuineIntel
model name\t: 12th Gen Intel(R) Core(TM) i5-12500H CPU @ 2.50GHz
cpu MHz\t\t: 2500.000
flags\t\t: fpu sse2 fma avx2

"""
PI = """\
processor\t: {}
BogoMIPS\t: 108.00
Features\t: fp asimd evtstrm crc32 cpuid
CPU implementer\t: 0x41
CPU architecture: 8
CPU part\t: 0xd08
CPU revision\t: 3

"""
ODROID = """\
processor\t: {}
model name\t: ARMv7 Processor rev 3 (v7l)
Features\t: half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt vfpd32 lpae
CPU implementer\t: 0x41
CPU architecture: 7
CPU part\t: {}

"""
POWER = """\
processor\t: {}
cpu\t\t: POWER10 (architected), altivec supported
clock\t\t: 3900.000000MHz
revision\t: 2.0 (pvr 0080 0200)

"""
MEMINFO = "MemTotal:        {} kB\nMemFree:  1 kB\nMemAvailable:    {} kB\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def put(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def cpu_files(cpus: Collection[int], files: Mapping[str, str]) -> dict[str, str]:
    return {
        f"sys/devices/system/cpu/cpu{n}/{name}": text for n in cpus for name, text in files.items()
    }


def cache_files(index: int, level: int, size: str, ways: int, line: int = 64) -> dict[str, str]:
    kind = "Data" if level == 1 else "Unified"
    files = {"level": level, "type": kind, "size": size, "coherency_line_size": line}
    files["ways_of_associativity"] = ways
    return {f"cache/index{index}/{name}": str(text) for name, text in files.items()}


def test_hybrid_pc(root: Path) -> None:
    """Two performance cores with two threads each, and four efficient cores."""
    put(root, {"proc/cpuinfo": "".join(X86.format(n) for n in range(8))})
    put(root, {"proc/meminfo": MEMINFO.format(16 * MIB, 8 * MIB)})
    put(root, {"sys/devices/cpu_core/cpus": "0-3", "sys/devices/cpu_atom/cpus": "4-7"})
    put(root, {"sys/class/dmi/id/product_name": "Example Laptop"})
    for pair in ((0, 1), (2, 3)):
        put(root, cpu_files(pair, {"topology/thread_siblings_list": f"{pair[0]}-{pair[1]}"}))
    put(root, cpu_files(range(4), {"cpufreq/cpuinfo_max_freq": "4500000"}))
    put(root, cpu_files(range(4, 8), {"cpufreq/cpuinfo_max_freq": "3300000"}))
    put(root, cpu_files(range(4), cache_files(0, 1, "48K", 12) | cache_files(2, 2, "1280K", 10)))
    machine = probe(root, "x86_64", range(8))
    assert (machine.cpu, machine.measured, machine.cores) == (0, frozenset(range(4)), 2)
    assert machine.description == "Example Laptop: 12th Gen Intel Core i5-12500H"
    assert len(machine.others) == 1
    assert (machine.host.memory, machine.available) == (16 * GIB, 8 * GIB)
    assert machine.host.clock_hz == 4_500_000_000
    assert machine.host.caches == (
        Cache(1, 48 * KIB, 64, ways=12),
        Cache(2, 1280 * KIB, 64, ways=10),
    )
    efficient = probe(root, "x86_64", [5, 6])
    assert (efficient.cpu, efficient.measured, efficient.cores) == (5, frozenset({5, 6}), 4)
    assert efficient.host.clock_hz == 3_300_000_000


def test_raspberry_pi(root: Path) -> None:
    put(root, {"proc/cpuinfo": "".join(PI.format(n) for n in range(4))})
    put(root, {"proc/meminfo": MEMINFO.format(3884360, 3000000)})
    put(root, {"proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0"})
    put(root, cpu_files(range(4), {"cpu_capacity": "1024", "cpufreq/cpuinfo_max_freq": "1500000"}))
    put(root, cpu_files(range(4), cache_files(0, 1, "32K", 2) | cache_files(2, 2, "1024K", 16)))
    machine = probe(root, "aarch64", range(4))
    assert (machine.core, machine.cores, machine.others) == ("Cortex-A72", 4, ())
    assert machine.description == "Raspberry Pi 4 Model B Rev 1.4: Cortex-A72"
    assert [cache.ways for cache in machine.host.caches] == [2, 16]
    assert machine.host.memory == 3884360 * KIB


def odroid(root: Path) -> None:
    parts = ["0xc07"] * 4 + ["0xc0f"] * 4
    put(root, {"proc/cpuinfo": "".join(ODROID.format(n, part) for n, part in enumerate(parts))})
    put(root, {"proc/meminfo": MEMINFO.format(2043884, 1700000)})
    put(root, {"proc/device-tree/model": "Hardkernel Odroid XU3\0"})
    put(root, cpu_files(range(4), {"cpufreq/cpuinfo_max_freq": "1400000"}))
    put(root, cpu_files(range(4, 8), {"cpufreq/cpuinfo_max_freq": "2000000"}))


def test_odroid_measures_its_faster_cluster(root: Path) -> None:
    odroid(root)
    machine = probe(root, "armv7l", range(8))
    assert (machine.core, machine.cpu, machine.cores) == ("Cortex-A15", 4, 4)
    assert (machine.measured, machine.others) == (frozenset(range(4, 8)), ("Cortex-A7",))
    assert (machine.host.caches, machine.host.clock_hz) == ((), 2_000_000_000)


def test_taskset_selects_the_other_cluster(root: Path) -> None:
    odroid(root)
    machine = probe(root, "armv7l", {0, 1})
    assert (machine.core, machine.measured, machine.cores) == ("Cortex-A7", frozenset({0, 1}), 4)
    assert machine.others == ("Cortex-A15",)


def test_power(root: Path) -> None:
    put(root, {"proc/cpuinfo": "".join(POWER.format(n) for n in range(16))})
    put(root, {"proc/meminfo": MEMINFO.format(64 * MIB, 60 * MIB)})
    put(root, {"proc/device-tree/model": "IBM,9105-42A\0"})
    for first in (0, 8):
        put(
            root,
            cpu_files(
                range(first, first + 8), {"topology/thread_siblings_list": f"{first}-{first + 7}"}
            ),
        )
    put(root, cpu_files(range(16), cache_files(0, 1, "32K", 8, line=128)))
    machine = probe(root, "ppc64le", range(16))
    assert (machine.core, machine.cores) == ("POWER10", 2)
    assert machine.host.clock_hz == 3_900_000_000
    assert machine.host.caches == (Cache(1, 32 * KIB, 128, ways=8),)


def test_unknown_arm_core_and_unnamed_machine(root: Path) -> None:
    put(root, {"proc/cpuinfo": PI.format(0).replace("0xd08", "0xfff")})
    put(root, {"sys/class/dmi/id/product_name": "To Be Filled By O.E.M."})
    machine = probe(root, "aarch64", [0])
    assert (machine.name, machine.description) == ("", "Arm core 0x41 0xfff")
    assert (machine.host.memory, machine.available) == (None, None)


def test_nothing_to_read(root: Path) -> None:
    machine = probe(root, "aarch64", [3])
    assert (machine.cpu, machine.measured, machine.cores) == (0, frozenset({0}), 1)

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.target.backends import TARGETS
from edgeconv.target.cache import Cache
from edgeconv.target.host import Host, detect, running, widest

X86 = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model name\t: Example CPU @ 2.10GHz
cpu MHz\t\t: 2095.078
flags\t\t: fpu sse2 avx2 fma avx512f

processor\t: 1
model name\t: Example CPU @ 2.10GHz
cpu MHz\t\t: 2095.078
flags\t\t: fpu sse2 avx2 fma avx512f
"""
POWER = """\
processor\t: 0
cpu\t\t: POWER10 (architected), altivec supported
clock\t\t: 3900.000000MHz
"""
ARM = """\
processor\t: 0
Features\t: fp asimd evtstrm crc32
CPU part\t: 0xd08
"""
ARMV7 = """\
processor\t: 0
model name\t: ARMv7 Processor rev 3 (v7l)
Features\t: half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt
"""
RISCV = """\
processor\t: 0
hart\t\t: 0
isa\t\t: rv64imafdcv_zicbom_zfh_zba_zbb_zvfh_sscofpmf
mmu\t\t: sv39
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc").mkdir()
    return tmp_path


def add_cache(root: Path, index: int, **files: str) -> None:
    folder = root / f"sys/devices/system/cpu/cpu0/cache/index{index}"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


def test_x86(root: Path) -> None:
    (root / "proc/cpuinfo").write_text(X86)
    host = detect(root, "x86_64")
    assert (host.arch, host.cpu, host.cores) == ("x86_64", "Example CPU @ 2.10GHz", 2)
    assert host.clock_hz == 2_095_078_000
    assert host.has(("avx512f", "fma"))
    assert not host.has(("avx512f", "avx512dq"))


def test_power(root: Path) -> None:
    (root / "proc/cpuinfo").write_text(POWER)
    host = detect(root, "ppc64le")
    assert host.cpu == "POWER10 (architected), altivec supported"
    assert host.clock_hz == 3_900_000_000
    assert host.has(("POWER10",))


def test_arm_has_no_clock_there(root: Path) -> None:
    (root / "proc/cpuinfo").write_text(ARM)
    host = detect(root, "aarch64")
    assert host.clock_hz is None
    assert host.has(("asimd", "crc32"))


def test_32_bit_arm(root: Path) -> None:
    (root / "proc/cpuinfo").write_text(ARMV7)
    host = detect(root, "armv7l")
    assert (host.arch, host.cpu) == ("armv7l", "ARMv7 Processor rev 3 (v7l)")
    assert host.has(("neon", "vfpv4"))


def test_32_bit_system_on_a_64_bit_arm(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "proc/cpuinfo").write_text(ARM)
    assert detect(root, "armv8l").arch == "armv7l"
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert detect(root).arch == "aarch64"
    monkeypatch.setattr("sys.maxsize", 2**31 - 1)
    host = detect(root)
    assert host.arch == "armv7l"
    assert host.has(("neon", "vfpv4")), "part of the architecture's 32-bit state"


def test_extensions_of_riscv_are_letters_of_a_word(root: Path) -> None:
    (root / "proc/cpuinfo").write_text(RISCV)
    assert detect(root, "riscv64").has(("rv64v", "rv64c"))
    (root / "proc/cpuinfo").write_text(RISCV.replace("cv_", "c_"))
    assert not detect(root, "riscv64").has(("rv64v",))


def test_highest_clock_wins(root: Path) -> None:
    (root / "proc/cpuinfo").write_text(X86)
    folder = root / "sys/devices/system/cpu/cpu0/cpufreq"
    folder.mkdir(parents=True)
    (folder / "cpuinfo_max_freq").write_text("3200000\n")
    assert detect(root, "x86_64").clock_hz == 3_200_000_000


def test_data_caches_by_level(root: Path) -> None:
    add_cache(root, 0, level="2", type="Unified", size="1024K", coherency_line_size="64")
    add_cache(root, 1, level="1", type="Instruction", size="32K", coherency_line_size="64")
    add_cache(root, 2, level="1", type="Data", size="48K", coherency_line_size="128")
    assert detect(root, "x86_64").caches == (
        Cache(1, 48 * 1024, 128),
        Cache(2, 1024 * 1024, 64),
    )


def test_unreadable_cache_is_left_out(root: Path) -> None:
    add_cache(root, 0, level="1", type="Data", size="", coherency_line_size="64")
    assert detect(root, "x86_64").caches == ()


def test_nothing_to_read(root: Path) -> None:
    host = detect(root, "arm64")
    assert (host.arch, host.cpu, host.cores) == ("aarch64", "aarch64", 1)
    assert (host.clock_hz, host.caches) == (None, ())
    assert host.has(("asimd",)), "Advanced SIMD is part of the architecture"


def test_this_machine() -> None:
    host = detect()
    assert host.arch in (platform.machine(), "aarch64", "x86_64")
    assert host.cores >= 1
    assert all(cache.size > 0 and cache.line > 0 for cache in host.caches)


def test_a_length_that_the_core_chooses_is_not_guessed() -> None:
    """Of an Arm with SVE and SME the widest is NEON; such a program would refuse to run."""
    words = frozenset({"asimd", "sve", "sme"})
    assert widest(Host("aarch64", "Example", words, None, 1, ())).name == "neon"


def test_of_equally_long_vectors_the_isa_that_asks_for_most() -> None:
    """AMX's has AVX-512's rows beside its own."""
    avx512, amx = TARGETS["avx512"], TARGETS["amx"]
    for row in (avx512, amx):
        words = frozenset(row.cpu_flags)
        assert widest(Host("x86_64", "Example", words, None, 1, ())).name == row.name


@pytest.mark.parametrize("granted", [True, False])
def test_what_the_system_refuses_is_not_there(
    granted: bool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    avx512, amx = TARGETS["avx512"], TARGETS["amx"]
    (root / "proc/cpuinfo").write_text(f"flags : {' '.join(amx.cpu_flags)}\n")
    found = detect(root, "x86_64")
    rows = {row.name: row for row in (avx512, replace(amx, granted=lambda: granted))}
    monkeypatch.setattr("edgeconv.target.host.TARGETS", rows)
    monkeypatch.setattr("edgeconv.target.host.detect", lambda: found)
    running.cache_clear()
    assert widest(running()).name == ("amx" if granted else "avx512")
    running.cache_clear()

"""The architectures that builds are checked for, as ``arch`` of a board names them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_M_PROFILE = "M"  # of 32-bit Arm: cores that start from a vector table
# The folders of templates that have how firmware starts and reaches a debugger.
ARM_START, RISCV_START = "arm", "riscv"


@dataclass(frozen=True, slots=True)
class Architecture:
    """``machine`` and ``bits`` as the header of an ELF file states them; all are little-endian.

    ``profile`` ("A", "M"), ``versions`` and ``mve`` are of 32-bit Arm: the values of
    Tag_CPU_arch_profile and of Tag_CPU_arch whose code the processor runs, and whether it may have
    the vector extension of the M profile.  ``extensions``: of RISC-V, a letter each, those of the
    base included.  ``start``: of microcontrollers, the folder of templates that start their
    firmware; ``stack_align``: what the ABI keeps their stack pointer a multiple of.
    """

    name: str
    machine: str
    bits: int
    profile: str = ""
    versions: frozenset[int] = frozenset()
    mve: bool = False
    extensions: frozenset[str] = frozenset()
    start: str = ""
    stack_align: int = 8

    @property
    def is_riscv(self) -> bool:
        """Its name says which instructions it has, those of an FPU included."""
        return bool(self.extensions)

    @property
    def has_float32(self) -> bool:
        """Its name says that it computes float32 in an FPU; others leave that to the board."""
        return "f" in self.extensions

    @property
    def has_float64(self) -> bool:
        """Its name says that its FPU computes float64, too."""
        return "d" in self.extensions


def _arm(name: str, profile: str, versions: Iterable[int], *, mve: bool = False) -> Architecture:
    start = ARM_START if profile == _M_PROFILE else ""
    return Architecture(name, "EM_ARM", 32, profile, frozenset(versions), mve, start=start)


def _riscv32(extensions: str) -> Architecture:
    """RV32 with the extensions of those letters."""
    letters = frozenset(extensions)
    name = f"rv32{extensions}"
    return Architecture(name, "EM_RISCV", 32, extensions=letters, start=RISCV_START, stack_align=16)


# Tag_CPU_arch: 1 to 9 v4 to v6K, 10 v7, 11 v6-M, 12 v6S-M, 13 v7E-M, 14 v8-A, 16 v8-M baseline,
# 17 v8-M mainline, 21 v8.1-M mainline (Addenda to the ABI).
_CLASSIC = range(1, 10)
_ROWS = (
    Architecture("x86_64", "EM_X86_64", 64),
    Architecture("aarch64", "EM_AARCH64", 64),
    Architecture("ppc64le", "EM_PPC64", 64),
    # What Linux distributions require (RV64GC), and vectors.
    Architecture("riscv64", "EM_RISCV", 64, extensions=frozenset("imafdcv")),
    _arm("armv6l", "A", _CLASSIC),
    _arm("armv7l", "A", (*_CLASSIC, 10)),
    _arm("armv8l", "A", (*_CLASSIC, 10, 14)),
    _arm("armv6-m", _M_PROFILE, (11, 12)),
    _arm("armv7-m", _M_PROFILE, (10, 11, 12)),
    _arm("armv7e-m", _M_PROFILE, (10, 11, 12, 13)),
    _arm("armv8-m.base", _M_PROFILE, (11, 12, 16)),
    _arm("armv8-m.main", _M_PROFILE, (10, 11, 12, 13, 16, 17)),
    _arm("armv8.1-m.main", _M_PROFILE, (10, 11, 12, 13, 16, 17, 21), mve=True),
    *map(_riscv32, ("imc", "imac", "imafc")),
)
# Names of firmware's architectures, as -march of GCC has them.
MICROCONTROLLERS = tuple(row.name for row in _ROWS if row.start)
THUMB_1_ARCHITECTURES = ("armv6-m", "armv8-m.base")  # instructions of 16 bits, with few exceptions
DSP_ARCHITECTURES = ("armv7e-m", "armv8.1-m.main")
DSP_OPTIONAL = "armv8-m.main"  # some of its cores have it, as their maker chose


def find(arch: str) -> Architecture | None:
    """By ``arch`` of a board, whose punctuation does not count; None for one without a row."""
    return _BY_NAME.get(_plain(arch))


def _plain(arch: str) -> str:
    return arch.replace("-", "").replace(".", "")


_BY_NAME = {_plain(row.name): row for row in _ROWS}

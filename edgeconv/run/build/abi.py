"""Whether every object of a build is for the board's processor: its instruction set, its
floating-point unit, and the registers in which its functions expect their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.elf import (
    Identity,
    build_attributes,
    identity,
    read_sections,
    riscv_extensions,
)
from edgeconv.target.backends import TARGETS
from edgeconv.target.board import Board
from edgeconv.target.board.arch import Architecture, find

# Tag_FP_arch of the code that a floating-point unit runs: 2 VFPv2, 3 VFPv3, 4 VFPv3-D16, 5 VFPv4,
# 6 VFPv4-D16, 7 FPv5 (Armv8), 8 FPv5-D16.  By -mfpu without vectors; 0, none used, runs on all.
_FPUS = MappingProxyType(
    {
        "none": {0},
        "vfp": {0, 2},
        "vfpv2": {0, 2},
        "vfpv3": {0, 2, 3, 4},
        "vfpv3-d16": {0, 2, 4},
        "vfpv4": {0, 2, 3, 4, 5, 6},
        "vfpv4-d16": {0, 2, 4, 6},
        "fpv4-sp-d16": {0, 6},
        "fpv5-sp-d16": {0, 6, 8},
        "fpv5-d16": {0, 6, 8},
        "fp-armv8": {0, 2, 3, 4, 5, 6, 7, 8},
    }
)
# Tag_ABI_VFP_args: 0 in core registers, 1 in those of the FPU, 3 there are none to pass.
_ARGUMENTS = MappingProxyType({"soft": {0, 3}, "softfp": {0, 3}, "hard": {1, 3}})
_ARMV8, _ARMV8_FPU = "armv8l", "fp-armv8"
_ARMV7_CORES = frozenset(f"cortex-a{number}" for number in (5, 7, 8, 9, 12, 15, 17))
_HINTS = MappingProxyType(
    {
        "armv6l": "Debian's armhf compiler and C library are for ARMv7: build on the board itself, "
        "or name a compiler with a C library for ARMv6 in toolchain.cc"
    }
)
_SINGLE_ONLY = 1  # Tag_ABI_HardFP_use
_POWER_ABI = 2  # e_flags of ELFv2
# Of e_flags: EF_RISCV_FLOAT_ABI, and that of ilp32f and of lp64d.
_RISCV_FLOAT_ABI, _RISCV_SINGLE, _RISCV_DOUBLE = 6, 2, 4
_RISCV_VECTORS = frozenset("v")


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the board asks of 32-bit Arm code; "" where its file does not say."""

    arch: Architecture
    fpu: str
    float_abi: str


def check_objects(binary: Binary) -> None:
    """Every object of ``binary``, and the program with what libraries brought, matches its board.

    Compared are what ELF files state: machine, width and byte order; for 32-bit Arm the build
    attributes of architecture, FPU and argument registers; for RISC-V the extensions and the
    argument registers; for Power the ABI.  x86-64 and AArch64 state no more than the machine.
    Raises EdgeconvError with one line per violation.
    """
    files = {**binary.objects, binary.path.name: binary.path}
    found = [f"{name}: {text}" for name, path in files.items() for text in _of(path, binary.board)]
    if found:
        raise EdgeconvError(
            "not built for the board",
            where=f"board {binary.board.name}",
            got=f"{len(found)} violation{'s' if len(found) > 1 else ''}",
            rule=found[0],
            hint=_HINTS.get(binary.board.arch, ""),
            details=tuple(found),
        )


def check_object(path: Path, board: Board) -> None:
    """As ``check_objects``, for one object file."""
    for text in _of(path, board):
        raise EdgeconvError(
            "not built for the board",
            where=f"board {board.name}",
            got=text,
            hint=_HINTS.get(board.arch, "correct arch or toolchain.flags of its file"),
        )


def _of(path: Path, board: Board) -> Iterator[str]:
    """The violations of one file."""
    arch = find(_ARMV8 if _is_armv8(board) else board.arch)
    header = identity(path)
    if arch is None:
        yield f"nothing is known of the board's arch {board.arch!r}"
    elif (header.machine, header.bits) != (arch.machine, arch.bits) or not header.little_endian:
        yield f"is for {_named(header)}, the board is {board.arch}"
    elif header.machine == "EM_PPC64" and header.flags & 3 not in (0, _POWER_ABI):
        yield f"has ABI version {header.flags & 3}, the board's is ELFv{_POWER_ABI}"
    elif header.machine == "EM_ARM":
        yield from _arm(path, _Expected(arch, *_floating_point(board)))
    elif header.machine == "EM_RISCV":
        yield from _riscv(path, header, arch, vectors=board.target.lanes > 1)


def _is_armv8(board: Board) -> bool:
    """A 32-bit system on an ARMv8 processor, as on a Raspberry Pi 3: uname -m says armv7l."""
    named = (flag.partition("=")[2] for flag in board.flags if flag.startswith("-mcpu="))
    versions = (flag for flag in board.flags if flag.startswith("-march=armv8"))
    return board.arch == "armv7l" and (any(map(_is_armv8_core, named)) or any(versions))


def _is_armv8_core(name: str) -> bool:
    """cortex-a32, and from cortex-a35 to a7x all but a5, a7, a8, a9, a12, a15 and a17."""
    return name.startswith("cortex-a") and name.partition("+")[0] not in _ARMV7_CORES


def _arm(path: Path, board: _Expected) -> Iterator[str]:
    attributes = build_attributes(path)
    if not read_sections(path).text:
        return  # data runs anywhere
    if not attributes:
        yield "has code without build attributes, so nothing tells what it runs on"
        return
    yield from _architecture(attributes, board)
    unit = attributes.get("TAG_FP_ARCH", 0)
    if (scalar_unit := _without_vectors(board.fpu)) in _FPUS:
        if unit not in _FPUS[scalar_unit]:
            yield f"uses a floating-point unit (Tag_FP_arch {unit}), the board's is {board.fpu}"
        double = attributes.get("TAG_ABI_HARDFP_USE", 0) != _SINGLE_ONLY
        if unit and double and "-sp-" in board.fpu:
            yield f"may use double precision, the board's {board.fpu} has single only"
    has_arguments = "TAG_ABI_FP_NUMBER_MODEL" in attributes
    arguments = attributes.get("TAG_ABI_VFP_ARGS", 0)
    if has_arguments and arguments not in _ARGUMENTS.get(board.float_abi, {arguments}):
        yield (
            f"passes floating-point arguments another way (Tag_ABI_VFP_args {arguments}), "
            f"the board's float_abi is {board.float_abi}"
        )


def _riscv(path: Path, header: Identity, arch: Architecture, *, vectors: bool) -> Iterator[str]:
    """Flags of the header and Tag_RISCV_arch, as the RISC-V ELF psABI has them.  ``vectors``: the
    board's instruction set has some."""
    if not read_sections(path).text:
        return  # data runs anywhere
    letters = riscv_extensions(path)
    has = arch.extensions if vectors else arch.extensions - _RISCV_VECTORS
    if foreign := sorted(letters - has):
        without = "" if has == arch.extensions else " without vectors"
        yield f"uses {', '.join(foreign)}, which {arch.name}{without} does not have"
    passed = header.flags & _RISCV_FLOAT_ABI
    expected = _RISCV_DOUBLE if arch.has_float64 else _RISCV_SINGLE * arch.has_float32
    if passed != expected:
        yield (
            f"passes floating-point arguments another way (e_flags {passed:#x}), "
            f"that of {arch.name} is {expected:#x}"
        )


def _without_vectors(fpu: str) -> str:
    """The unit of that name without vectors, whose registers and instructions it has."""
    rows = (row for target in TARGETS.values() for row in target.fpus)
    return dict(rows).get(fpu, fpu)


def _architecture(attributes: Mapping[str, int], board: _Expected) -> Iterator[str]:
    version = attributes.get("TAG_CPU_ARCH", 0)
    profile = chr(attributes.get("TAG_CPU_ARCH_PROFILE", 0))
    if version not in board.arch.versions or profile not in ("\0", "S", board.arch.profile):
        stated = f"Tag_CPU_arch {version}, profile {profile if profile.isalpha() else 'any'}"
        yield f"needs an architecture ({stated}) that the board's does not include"
    if attributes.get("TAG_MVE_ARCH", 0) and not board.arch.mve:
        yield "uses the vector extension MVE, which the board's architecture does not have"


def _floating_point(board: Board) -> tuple[str, str]:
    """FPU and float ABI: those of the board, or what the flags of its instruction set say."""
    stated = dict(flag.removeprefix("-m").partition("=")[::2] for flag in board.flags)
    fpu = _ARMV8_FPU if _is_armv8(board) else stated.get("fpu", "")
    return board.fpu or fpu, board.float_abi or stated.get("float-abi", "")


def _named(header: Identity) -> str:
    order = "little" if header.little_endian else "big"
    return f"{header.machine} with {header.bits} bits, {order}-endian"

"""What a core has beyond its instruction set's row: stated by the board's file, or detected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeconv.target.backends import micro_kernels
from edgeconv.target.board.arch import (
    DSP_ARCHITECTURES,
    DSP_OPTIONAL,
    MICROCONTROLLERS,
    RISCV_START,
    THUMB_1_ARCHITECTURES,
    find,
)
from edgeconv.target.board.file import invalid
from edgeconv.target.board.own_rates import OwnRates
from edgeconv.target.host import Host
from edgeconv.target.targets import (
    DSP,
    DUAL_ISSUE,
    HALVES,
    HELIUM,
    MAXIMA,
    RISCV,
    SOFT_FLOAT,
    THUMB_1,
    Target,
)

_INTEGER_VECTORS = "+nomve.fp"
_DUAL_ISSUE = "-mcpu=cortex-m7"
_NEWER_ARCHITECTURES, _BOTH_PRECISIONS = ("armv8-m.main", "armv8.1-m.main"), "fpv5-d16"
_WITH_DSP = ("-mcpu=cortex-m33", "-mcpu=cortex-m35p", "-mcpu=star-mc1")


def detected(row: Target, host: Host) -> frozenset[str]:
    """The features of ``host`` for which there are micro-kernels."""
    return frozenset(k.feature for k in row.all_kernels if k.feature and host.has(k.cpu_flags))


def features_of(
    path: Path, data: Mapping[str, Any], row: Target, host: Host | None
) -> frozenset[str]:
    """What the file ``path`` says, else what ``host`` has, the machine that the board stands for.

    Raises EdgeconvError (exit status 2) where the file says so of an instruction set for which
    there are no such kernels.
    """
    stated = {kernel.feature for kernel in micro_kernels()} & data.keys()
    wanted = frozenset(name for name in stated if data[name])
    for name in sorted(wanted - {kernel.feature for kernel in row.all_kernels}):
        raise invalid(path, name, "true", f"no kernel for {row.name} multiplies {name}")
    return wanted | (detected(row, host) - stated if host else frozenset())


def vector_features(
    path: Path, data: Mapping[str, Any], row: Target, own: OwnRates | None
) -> frozenset[str]:
    """Whether the core computes vectors in two halves: what the file ``path`` says, else what was
    measured of the running machine, if that is the board.

    Raises EdgeconvError (exit status 2) where the file says so of an instruction set without
    kernels for that.
    """
    if data.get(HALVES) and not row.halvable:
        raise invalid(path, HALVES, "true", f"{row.name} has no kernels for halves of vectors")
    halves = data.get(HALVES, own is not None and own.halves)
    return frozenset({HALVES} if halves else ())


def core_features(
    arch: str, flags: Sequence[str], *, has_fpu: bool, fpu: str = ""
) -> frozenset[str]:
    """What the core of a microcontroller is, as its architecture, its compiler's flags and its FPU,
    which -mfpu calls ``fpu``, say.  What it multiplies integers by: Helium, where flags leave
    vectors of integers but none of float32, which compilers would flush subnormal numbers with.
    Whether it begins two instructions at a time, has the instructions of 16 bits alone, computes
    float32 in functions, or has maxima of it, by the macros that ec_activation.h looks at."""
    known = find(arch)
    found = {
        DSP: _has_dsp(arch, flags),
        DUAL_ISSUE: any(flag.startswith(_DUAL_ISSUE) for flag in flags),
        HELIUM: any(flag.endswith(_INTEGER_VECTORS) for flag in flags),
        MAXIMA: has_fpu and (arch in _NEWER_ARCHITECTURES or fpu == _BOTH_PRECISIONS),
        RISCV: known is not None and known.start == RISCV_START,
        THUMB_1: arch in THUMB_1_ARCHITECTURES,
        SOFT_FLOAT: arch in MICROCONTROLLERS and not has_fpu,
    }
    return frozenset(name for name, has in found.items() if has)


def _has_dsp(arch: str, flags: Sequence[str]) -> bool:
    """As compilers have it, which take a core to have all that it may have."""
    named = any(flag.startswith(_WITH_DSP) or "+dsp" in flag for flag in flags)
    possible = arch in DSP_ARCHITECTURES or (arch == DSP_OPTIONAL and named)
    return possible and not any("+nodsp" in flag for flag in flags)

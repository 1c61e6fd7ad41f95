"""How the kernels of a target are compiled and run here: natively, under QEMU, or through SIMDe.

SIMDe spells intrinsics out in plain C.  It stands in for a processor that has no AVX-512, so that
those kernels are tested on every machine; ``describe`` says which of the two a test run did.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from edgeconv.run.build.toolchain import program_named
from edgeconv.target import host
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import STRIPS, Target
from tests import toy
from tests.kernels import by_turns
from tests.kernels.cases import Build

COMPILERS = ("gcc", "clang")
MEMORY_SUMS = "_TOY"  # micro-kernels whose sums are memory

# ISAs whose vectors have one length, with a header of their own.  Of others, whose cores choose it,
# all tests run in `make test-all`, and samples in tests of their own, as of units beside these.
FIXED = tuple(n for n, target in TARGETS.items() if not target.scalable and not target.runtime)
SCALABLE = tuple(name for name, target in TARGETS.items() if target.scalable)

_STRICT = ("-std=c11", "-D_POSIX_C_SOURCE=200112L", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Not optimised, every access is checked, in a third of the time that -O1 takes to compile.  Of
# branches, how often they are taken is of no use to what is not timed.
_OPTIONS = {"gcc": ("-O0", "-fno-guess-branch-probability", *_SANITIZE), "clang": ("-O2",)}
OPTIMISED = ("-O1", *_OPTIONS["gcc"][1:])  # sanitizers again
SHIPPED = ("-O3", "-ffp-contract=fast")  # what projects are compiled with
# Checks as calls, and violations that end a program without a description: a third less to compile.
_TRAPPING = (
    "-fsanitize-undefined-trap-on-error",
    *("--param", "asan-instrumentation-with-call-threshold=0"),
)
# What the toolchain and the emulator of an architecture are called, where not by its own name.
_TRIPLES = {"ppc64le": "powerpc64le-linux-gnu", "armv7l": "arm-linux-gnueabihf"}
_QEMU_NAMES = {"armv7l": "arm"}
# What needs intrinsics that SIMDe 0.7.4 does not have.
_NOT_IN_SIMDE = ("ec_integers_avx512.h",)
_LEVEL = re.compile(r"-O[1-3]")
# Architectures that are not compiled for by a GCC of their triple, but by the first of these.
OTHER_COMPILERS = {
    "riscv64": tuple(f"clang-{version}" for version in range(22, 18, -1)),  # GCC 14 has RVV, too
}
_SHIMS = {"avx512": Path(__file__).parent / "simde"}  # the folder of a stand-in <immintrin.h>


def _find(*names: str) -> str:
    """The first of these programs that is installed."""
    for name in names:
        if shutil.which(name):
            return name
    pytest.skip(f"{names[0]} is not installed")


def _find_compiler(name: str) -> str:
    return program_named(name) or _find(name)


def is_native(target: Target) -> bool:
    """This machine's architecture has the target, whether or not this very CPU does."""
    return target.arch in ("any", host.running().arch)


def runs_here(target: Target) -> bool:
    """This CPU executes the target's instructions."""
    return is_native(target) and host.running().has(target.cpu_flags)


def _asking(target: Target) -> tuple[str, ...]:
    """What has programs ask for the units that processes must ask for, where init would."""
    asks = any(row.permission and "amx_tile" in row.cpu_flags for row in target.kernels)
    return ("-include", str(Path(__file__).parent / "amx_permission.h")) if asks else ()


def _trapping(options: Sequence[str]) -> tuple[str, ...]:
    return _TRAPPING if set(_SANITIZE) <= set(options) else ()


def unsanitized(command: Sequence[str]) -> tuple[str, ...]:
    """A compiler's command line without the sanitizers."""
    return tuple(word for word in command if word not in _SANITIZE)


def native(target: Target, compiler: str, options: tuple[str, ...] = ()) -> Build:
    """Run by this CPU; skips when it cannot.  ``options`` replace the compiler's own."""
    if not runs_here(target):
        pytest.skip(f"this CPU has no {target.name}")
    options = options or _OPTIONS[compiler]
    command = (_find_compiler(compiler), *options, *_STRICT, *_asking(target))
    return Build(f"{target.name} with {compiler}", target, command, trapping=_trapping(options))


def emulated(target: Target, options: tuple[str, ...] = ()) -> Build:
    """Cross-compiled and run under QEMU; skips when either is missing.  Without ``options`` as
    projects are, so that all tests share what is compiled once."""
    triple = _TRIPLES.get(target.arch, f"{target.arch}-linux-gnu")
    names = OTHER_COMPILERS.get(target.arch, (f"{triple}-gcc",))
    chosen = (f"--target={triple}",) if target.arch in OTHER_COMPILERS else ()
    name = _QEMU_NAMES.get(target.arch, target.arch)
    qemu = _find(f"qemu-{name}", f"qemu-{name}-static")
    return Build(
        f"{target.name} under QEMU",
        target,
        (_find(*names), *chosen, *(options or SHIPPED), "-static", *_STRICT),
        (qemu, *target.emulated),
    )


@functools.cache
def has_simde(compiler: str) -> bool:
    """The compiler finds SIMDe's headers."""
    probe = [compiler, "-E", "-x", "c", "-o", "/dev/null", "-"]
    source = "#include <simde/x86/avx512.h>\n"
    done = subprocess.run(probe, input=source, text=True, capture_output=True, check=False)
    return done.returncode == 0


def with_simde(target: Target, compiler: str, options: tuple[str, ...] = ()) -> Build:
    """The target's intrinsics in plain C, for any CPU; skips when SIMDe is missing.  Nothing is
    optimised: what compilers make of vectors of plain C says nothing of the kernels, and all of
    them under sanitizers take six times as long to compile with -O1."""
    found = _find_compiler(compiler)
    if not has_simde(found):
        pytest.skip("SIMDe is not installed (libsimde-dev)")
    options = tuple(_LEVEL.sub("-O0", word) for word in options or _OPTIONS[compiler])
    return Build(
        f"{target.name} through SIMDe with {compiler}",
        replace(target, flags=()),  # those are what the CPU lacks
        (
            *(found, *options, *_STRICT),
            *("-isystem", str(_SHIMS[target.runtime or target.name])),
            "-Wno-psabi",  # no vector is passed between separately compiled functions
            *("-Wl,--no-as-needed", "-lm"),  # SIMDe rounds and takes roots with libm
        ),
        without=_NOT_IN_SIMDE,
        trapping=_trapping(options),
    )


def find(target: Target, compiler: str, options: tuple[str, ...] = ()) -> Build:
    """The most faithful way to run ``target`` here; skips, by name, what is missing."""
    if runs_here(target):
        return native(target, compiler, options)
    if (target.runtime or target.name) in _SHIMS:
        return with_simde(target, compiler, options)
    if is_native(target):
        return native(target, compiler, options)
    return emulated(target, () if set(_SANITIZE) <= set(options) else options)


def isas() -> list[Any]:
    """Of a fixture that builds for every ISA; those of vectors that cores choose take minutes."""
    return [*FIXED, *(pytest.param(name, marks=pytest.mark.slow) for name in SCALABLE)]


def by_own_unit(target: Target) -> Target:
    """An ISA whose other micro-kernels are so slow that those are chosen whose sums are memory."""
    kernels = tuple(
        row if row.memory_sums or row.prefix == STRIPS else replace(row, latency=10**6)
        for row in target.kernels
    )
    runtime = target.runtime or target.name
    return replace(target, name=f"{target.name}_unit", runtime=runtime, kernels=kernels)


def unit_of(target: Target) -> str:
    """How its micro-kernels are called whose sums are memory: as EC_ROW_..._SME, by the last word;
    "" where there are none."""
    words = {row.prefix.rpartition("_")[2].upper() for row in target.kernels if row.memory_sums}
    return f"_{words.pop()}" if words else ""


def memory_backends() -> AbstractContextManager[None]:
    """There are backends whose micro-kernels sum in memory (`in_memory`)."""
    return toy.backends_added(toy.MEMORY_SUMS)


def in_memory(isa: str) -> str:
    """The name of the one for ``isa``."""
    return f"{isa}_memory"


@dataclass(frozen=True)
class Way:
    """How the kernels of an ISA are tested: options, none for GCC's sanitizers or Clang's default,
    and whether sizes are constants, as in what is emitted, or known at run time only.

    ``by_turns``: an operation is tried in a few of its layouts.  ``memory_sums``: by micro-kernels
    whose sums are memory, the ISA's or those of `tests.toy.memory_sums`.
    """

    target: str
    compiler: str
    options: tuple[str, ...] = SHIPPED
    constants: bool = False
    by_turns: bool = False
    memory_sums: bool = False

    @property
    def name(self) -> str:
        """As tests are called."""
        words = {
            "constants": self.constants,
            "by-turns": self.by_turns,
            "memory-sums": self.memory_sums,
        }
        return "-".join(
            (self.target, self.compiler, *(word for word, said in words.items() if said))
        )

    @contextmanager
    def build(self) -> Iterator[Build]:
        """Its backend is there meanwhile.  Skips, by name, what is missing."""
        with memory_backends() if self.memory_sums else nullcontext():
            yield self._built()

    def _built(self) -> Build:
        target, chosen = TARGETS[self.target], ""
        if self.memory_sums:
            own = unit_of(target)
            target = by_own_unit(target) if own else TARGETS[in_memory(self.target)]
            chosen = own or MEMORY_SUMS
        found = find(target, self.compiler, self.options)
        some = by_turns.taken if self.by_turns else None
        return replace(found, compiled_once=not self.constants, some=some, chosen=chosen)


# Sanitizers where vectors have one element, and where they have most, optimised; the second
# compiler on one ISA, everywhere else the options of what is emitted.  On one ISA sizes are
# constants, too, as in what is emitted; that takes many times as long to compile, so that layouts
# take turns.
WAYS = (
    Way("portable", "gcc", ()),
    Way("avx512", "gcc", OPTIMISED),
    Way("avx2", "gcc", constants=True, by_turns=True),
    Way("avx2", "clang"),
    *(Way(name, "gcc") for name in FIXED if name not in ("portable", "avx512", "avx2")),
)
# Micro-kernels whose sums are memory: of each ISA another kind.
MEMORY_WAYS = (
    Way("portable", "gcc", (), memory_sums=True),
    Way("avx2", "gcc", memory_sums=True),
    Way("avx512", "gcc", memory_sums=True),
)
# What takes minutes: constants on every ISA in every layout, and with the second compiler.
MORE_MEMORY_WAYS = (
    Way("avx2", "gcc", constants=True, by_turns=True, memory_sums=True),
    *(Way(name, "gcc", memory_sums=True) for name in SCALABLE if unit_of(TARGETS[name])),
)
MORE_WAYS = (
    *(Way(name, "gcc") for name in SCALABLE),
    *(Way(name, "gcc", constants=True) for name in FIXED),
    *(Way(name, "clang", constants=True) for name in ("portable", "avx512", "avx2")),
)


def params(*ways: Way, slow: Sequence[Way] = ()) -> list[Any]:
    """Of a fixture that builds in these ways, some of which take minutes."""
    return [
        *(pytest.param(way, id=way.name) for way in ways),
        *(pytest.param(way, id=way.name, marks=pytest.mark.slow) for way in slow),
    ]


# For a module whose kernels multiply packed operands.
BY_MICRO_KERNELS = pytest.mark.parametrize(
    "build", params(*WAYS, *MEMORY_WAYS, slow=(*MORE_MEMORY_WAYS, *MORE_WAYS)), indirect=True
)


def describe() -> list[str]:
    """One line per target that SIMDe can stand in for: how its kernels are run here."""
    lines = []
    for name in _SHIMS:
        how = "run by this CPU"
        if not runs_here(TARGETS[name]):
            found = next((name for name in ("gcc", "clang", "cc") if shutil.which(name)), "")
            how = "this CPU lacks them, " + (
                "run in plain C through SIMDe"
                if found and has_simde(found)
                else "skipped for want of SIMDe (libsimde-dev)"
            )
        lines.append(f"{name} kernels: {how}")
    return lines

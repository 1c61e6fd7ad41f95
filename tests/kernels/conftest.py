"""The builds that kernel tests run in: every target, with every compiler that is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from edgeconv import host
from edgeconv.targets import TARGETS, Target
from tests.kernels.harness import Build

_STRICT = ("-std=c11", "-D_POSIX_C_SOURCE=200112L", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_NATIVE = {"gcc": ("gcc", "-O1", *_SANITIZE), "clang": ("clang", "-O2")}
_QEMU_CPU = {"power10": ("-cpu", "power10")}


def _find(*names: str) -> str:
    """The first of these programs that is installed."""
    for name in names:
        if shutil.which(name):
            return name
    pytest.skip(f"{names[0]} is not installed")


def _native(target: Target, compiler: str) -> Build:
    if not host.detect().has(target.cpu_flags):
        pytest.skip(f"this CPU has no {target.name}")
    name, *flags = _NATIVE[compiler]
    found = _find(name, *(f"{name}-{version}" for version in range(21, 14, -1)))
    return Build(f"{target.name} with {compiler}", target, (found, *flags, *_STRICT))


def _emulated(target: Target) -> Build:
    triple = {"ppc64le": "powerpc64le"}.get(target.arch, target.arch)
    compiler = _find(f"{triple}-linux-gnu-gcc")
    qemu = _find(f"qemu-{target.arch}", f"qemu-{target.arch}-static")
    return Build(
        f"{target.name} under QEMU",
        target,
        (compiler, "-O2", "-static", *_STRICT),
        (qemu, *_QEMU_CPU.get(target.name, ())),
    )


def _is_native(target: Target) -> bool:
    return target.arch in ("any", host.detect().arch)


@pytest.fixture(
    params=[f"{t}-{c}" for t in TARGETS for c in _NATIVE if c == "gcc" or _is_native(TARGETS[t])]
)
def build(request: pytest.FixtureRequest) -> Build:
    """An instruction set and a compiler; skipped, by name, where either is missing."""
    name, compiler = str(request.param).rsplit("-", 1)
    target = TARGETS[name]
    return _native(target, compiler) if _is_native(target) else _emulated(target)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the program of a test is built."""
    return tmp_path

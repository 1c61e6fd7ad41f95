"""runtime_c on its own: every CMake preset configures, builds without a warning and passes."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edgeconv.target.backends import TARGETS
from tests import ROOT
from tests.compilers import UNGUESSED

PRESETS: dict[str, dict[str, Any]] = {
    preset["name"]: preset
    for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
}


_SCALABLE = [name for name, target in TARGETS.items() if target.scalable]


def cache_variables(name: str) -> dict[str, str]:
    """The variables of a preset, inherited ones included."""
    preset = PRESETS[name]
    inherited = cache_variables(preset["inherits"]) if "inherits" in preset else {}
    own: dict[str, str] = preset.get("cacheVariables", {})
    return inherited | own


def skip_without_tools(variables: dict[str, str]) -> None:
    compiler = variables.get("CMAKE_C_COMPILER", "cc")
    emulator = variables.get("CMAKE_CROSSCOMPILING_EMULATOR", "").partition(";")[0]
    missing = [
        tool for tool in ("cmake", "ctest", compiler, emulator) if tool and not shutil.which(tool)
    ]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if not emulator and variables["EC_ARCH"] != platform.machine():
        pytest.skip(f"native to {variables['EC_ARCH']}, this is {platform.machine()}")


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _marked_slow(name: str) -> bool:
    """Sanitizers under an emulator take minutes; natively they run always, and compile what the
    preset without them does.  Headers alone of two other architectures stand for all."""
    if name in ("ppc64le", "riscv64"):
        return True
    emulated = "CMAKE_CROSSCOMPILING_EMULATOR" in cache_variables(name)
    sanitized = "EC_SANITIZE" in cache_variables(name)
    return sanitized if emulated else f"{name}-sanitizers" in PRESETS


def _marked(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.slow) if _marked_slow(name) else name


def _words(name: str) -> set[str]:
    """What a preset and those it inherits from say."""
    return {*PRESETS[name], *cache_variables(name)}


@pytest.mark.parametrize(
    "name", [_marked(name) for name in PRESETS if not PRESETS[name].get("hidden")]
)
def test_preset(name: str, tmp_path: Path) -> None:
    """Each header alone on one ISA of the architecture, little optimised, every program natively
    with sanitizers, not optimised: every access is checked then, and functions that are no longer
    inlined for each register tile take a fraction of the time.  test_micro_kernels.py looks at what
    is emitted, other tests of kernels run it under emulators too.  So do those of ISAs whose cores
    choose how long vectors are (test_scalable_vectors.py, test_sme.py)."""
    unguessed = "" if "clang" in cache_variables(name).get("CMAKE_C_COMPILER", "") else UNGUESSED
    sanitized = "EC_SANITIZE" in cache_variables(name)
    options = [
        "-DEC_HEADERS_BY_TURNS=ON",
        f"-DEC_LEVEL={'-O0' if sanitized else '-O1'};{unguessed}",
    ]
    options.append(f"-DEC_NO_PROGRAMS_OF={';'.join(_SCALABLE)}")
    if not sanitized:
        options.append("-DEC_PROGRAMS=OFF")
    check(name, tmp_path / "build", *options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in PRESETS if not {"hidden", "EC_SANITIZE"} & _words(name)]
)
def test_preset_as_it_is(name: str, tmp_path: Path) -> None:
    check(name, tmp_path / "build")


def check(name: str, build: Path, *options: str) -> None:
    skip_without_tools(cache_variables(name))
    run("cmake", "--preset", name, "-B", str(build), *options)
    run("cmake", "--build", str(build))
    if "-DEC_PROGRAMS=OFF" in options:
        return
    assert "100% tests passed" in run("ctest", "--test-dir", str(build), "--output-on-failure")


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "armv7l", "ppc64le", "riscv64"])
def test_the_list_of_isas_needs_nothing_but_python(arch: str) -> None:
    """As of a system that has no numpy: without what is installed beside Python."""
    rows = run(sys.executable, "-I", "-S", str(ROOT / "tools" / "list_isas.py"), arch).splitlines()
    assert len(rows) >= 2
    assert all(len(row.split("|")) == 6 for row in rows)


def test_every_preset_can_be_built_and_tested() -> None:
    document = json.loads((ROOT / "CMakePresets.json").read_text())
    names = {name for name, preset in PRESETS.items() if not preset.get("hidden")}
    assert {preset["name"] for preset in document["buildPresets"]} == names
    assert {preset["name"] for preset in document["testPresets"]} == names

"""The set-up script and doctor on a machine that has little: everything that this one has beyond a
shell, a C compiler and stand-ins is hidden from them, by a PATH of one folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import ROOT, onnx_models

SHELL = ("bash", "sh", "env", "cat", "cut", "grep", "mktemp", "rm", "sort", "tail", "tr", "true")
NATIVE = ("cc", "as", "ld")
ARM = "arm-none-eabi-gcc"
HAS_NO_LIBRARY = "echo 'code.c:1:10: fatal error: stdint.h: No such file or directory' >&2; exit 1"


@dataclass(frozen=True, slots=True)
class Bare:
    """A machine whose programs are those of ``folder``."""

    folder: Path

    def has(self, *names: str) -> None:
        """This machine's programs of these names."""
        for name in names:
            found = shutil.which(name)
            assert found, name
            (self.folder / name).symlink_to(found)

    def stand_in(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f"#!{self.folder}/sh\n{script}\n")
        path.chmod(0o755)

    def run(self, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = ("HOME", "TMPDIR", "XDG_CACHE_HOME")
        keep = {name: os.environ[name] for name in kept if name in os.environ}
        return subprocess.run(
            command,
            cwd=ROOT,
            env={"PATH": str(self.folder), "LANG": "C.UTF-8", "TERM": "dumb", **keep, **variables},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def set_up(self) -> subprocess.CompletedProcess[str]:
        return self.run(self.folder / "bash", ROOT / "tools" / "setup_toolchains.sh")

    def edgeconv(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "edgeconv", *words)


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    """With a shell, a user without root, and a C compiler."""
    machine = Bare(tmp_path / "bin")
    machine.folder.mkdir()
    machine.has(*SHELL, *NATIVE)
    machine.stand_in("id", "echo 1000")
    return machine


def without_newlib(machine: Bare) -> None:
    """The compiler for microcontrollers, with no header or library but its own."""
    real = shutil.which(ARM)
    if real is None:
        pytest.skip(f"{ARM} is not installed")
    own = subprocess.run(
        [real, "-print-file-name=include"], capture_output=True, text=True, check=True
    )
    hidden = f"-nostdinc -isystem {own.stdout.strip()}"
    machine.stand_in(ARM, f'exec {real} {hidden} "$@"')


def test_what_is_missing_is_said_by_name(bare: Bare) -> None:
    done = bare.set_up()
    assert done.returncode == 0
    rows = [line for line in done.stderr.splitlines() if " is missing, not tested: " in line]
    for name in ("aarch64-linux-gnu-gcc", ARM, "qemu-arm", "clang", "cmake", "llvm-mca-19"):
        assert any(row.startswith(f"make: {name} is missing") for row in rows), name
    assert not any(row.startswith("make: cc ") for row in rows)
    assert not done.stdout


def test_without_a_c_compiler_nothing_can_be_tested(bare: Bare) -> None:
    (bare.folder / "cc").unlink()
    done = bare.set_up()
    assert done.returncode == 1
    assert "make: cc is missing" in done.stderr


def test_a_compiler_that_builds_nothing_does_not_count(bare: Bare) -> None:
    bare.stand_in(ARM, f'case "$*" in *--version*) echo gcc 12.2.0 ;; *) {HAS_NO_LIBRARY} ;; esac')
    assert f"make: {ARM} is there and does not work (code.c:1:10: fatal" in bare.set_up().stderr
    found = json.loads(bare.edgeconv("doctor", "--json").stdout)
    state = {board["name"]: board for board in found["boards"]}
    assert not state["microbit"]["can_build"]
    assert "stdint.h" in state["microbit"]["problem"]
    assert not state["jetson-tx1"]["can_build"]
    assert state["generic-c"]["can_build"]


def test_root_installs_what_fails_and_nothing_else(bare: Bare) -> None:
    bare.stand_in("id", "echo 0")
    log = bare.folder.parent / "apt.log"
    bare.stand_in("apt-get", f'echo "$@" >>{log}')
    bare.stand_in(ARM, HAS_NO_LIBRARY)
    bare.stand_in("cmake", "echo cmake version 3.25.1")
    done = bare.set_up()
    assert done.returncode == 0
    words = log.read_text().splitlines()[1].split()
    assert {"install", "gcc-arm-none-eabi", "gcc-aarch64-linux-gnu", "clang"} <= set(words)
    assert not {"gcc", "cmake"} & set(words)
    assert f"make: {ARM} is there and does not work" in done.stderr, "which apt-get did not mend"


def test_firmware_needs_a_compiler_and_no_c_library(bare: Bare, tmp_path: Path) -> None:
    without_newlib(bare)
    assert f"make: {ARM} " not in bare.set_up().stderr
    found = json.loads(bare.edgeconv("doctor", "--json").stdout)
    firmware = [b for b in found["boards"] if b["name"] in ("microbit", "stm32h743", "mps3-an547")]
    assert len(firmware) == 3
    assert all(board["can_build"] for board in firmware)
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    for name in ("microbit", "mps2-an500"):
        out = tmp_path / name
        done = bare.edgeconv("compile", model, "--board", name, "-o", out, "--build")
        assert done.returncode == 0, done.stderr
        assert (out / "build" / "net.bin").is_file()

"""Images through a debugger: whatever that does, a clear error or a result, and nobody is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import run_binary
from edgeconv.run.build.program_files import PlaceError
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind

HANGS = 'echo "Info : listening"; {waits} 1000 & {waits} 1000'


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image.elf"
    path.write_bytes(b"")
    return path


@pytest.fixture
def waits(tmp_path: Path) -> Path:
    """A program that waits, by a name that no other has."""
    found = tmp_path / "waits"
    found.symlink_to("/bin/sleep")
    return found


def through(script: str) -> Board:
    board = boards.load("mps2-an386")
    run = replace(board.run, kind=RunKind.PROBE, command=("sh", "-c", script, "{image}"))
    return replace(board, run=run)


def running(program: Path) -> int:
    """How many processes run it."""
    found = 0
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += each.read_bytes().split(b"\0")[0] == bytes(program)
    return found


def comes_to(count: int, program: Path) -> bool:
    """Whether so many processes run it within some seconds."""
    for _ in range(400):
        if running(program) == count:
            return True
        time.sleep(0.05)
    return False


def test_an_image_says_itself_how_it_ended(image: Path) -> None:
    done = run_binary(image, through('echo "I: layer 0"; echo "I: exit 7"; printf "\\4"; exit 1'))
    assert (done.status, done.stderr) == (7, "I: layer 0")
    done = run_binary(image, through('echo "of $0" >&2; echo "exit 0" >&2'))
    assert done.stdout == f"of {image.resolve()}\nexit 0"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("true", "did not run the image.*no message"),
        ("echo 'Error: no device' >&2; exit 1", "did not run the image.*no device"),
        ("printf 'layer 0 ti'", "did not run the image.*layer 0 ti"),
        ("echo exit 123456789012345", "did not run the image"),
        ("printf '\\377\\376\\200'; exit 3", "did not run the image"),
        ("echo exit 0; kill -9 $$", "the debugger was killed.*SIGKILL"),
        ("/no/such/debugger", "did not run the image.*not found"),
    ],
)
def test_debuggers_that_fail(script: str, said: str, image: Path) -> None:
    with pytest.raises(PlaceError, match=f"(?s){said}"):
        run_binary(image, through(script), timeout=20)


def test_a_debugger_that_hangs(image: Path, waits: Path) -> None:
    """What it started ends with it, and the last that it said is told."""
    with pytest.raises(EdgeconvError, match="did not end.*listening.*still running after 0.3 s"):
        run_binary(image, through(HANGS.format(waits=waits)), timeout=0.3)
    assert comes_to(0, waits)


def test_what_a_debugger_leaves_behind_ends_with_it(image: Path, waits: Path) -> None:
    done = run_binary(image, through(f"{waits} 1000 & echo exit 0"), timeout=20)
    assert done.status == 0
    assert comes_to(0, waits)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nobody_is_left_of_a_run_that_is_killed(number: int, image: Path, waits: Path) -> None:
    script = (
        "from pathlib import Path; from tests.unit import test_probe as t;"
        f"t.run_binary(Path({str(image)!r}), t.through({HANGS.format(waits=waits)!r}))"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    assert comes_to(2, waits)
    os.kill(child.pid, number)
    assert child.wait(20) != 0
    assert comes_to(0, waits)

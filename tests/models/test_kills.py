"""Compilations over a good project, ended by signals at random moments: nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from edgeconv.app.cli import main
from edgeconv.base.output_folder import journal
from tests.command import BOARD, Command
from tests.unit.test_cli_compile import entries, files

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
VARIANTS = ((), ("--io", "arena", "--name", "eyes"))
USERS = {".git/HEAD": b"ref", "sensor.c": b"int sense;", "build/CMakeCache.txt": b"cmake"}
SWITCH = 0.02  # seconds, about what putting a project in place takes


def compiled_until(number: signal.Signals, delay: float, arguments: list[str], swap: bool) -> int:
    """Compiles in another process, which gets the signal after a while, counted from its start or
    from when it begins to put the project in place; returns how it ended."""
    begins, begun = os.pipe()
    child = os.fork()
    if child == 0:
        for each in SIGNALS[:3]:
            signal.signal(each, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.dup2(2, 1)
        place = journal.switch

        def told(
            directory: Path, staged: Path, placed: Mapping[str, str], removed: Iterable[str]
        ) -> None:
            os.write(begun, b"x")
            place(directory, staged, placed, removed)

        journal.switch = told
        status = 99
        try:
            status = main(arguments)
        except SystemExit as ended:
            status = int(ended.code or 0)
        finally:
            os._exit(status)
    os.close(begun)
    if swap:
        os.read(begins, 1)
    time.sleep(delay)
    os.kill(child, number)
    os.close(begins)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("kills", [16, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_lose_nothing(
    kills: int, edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    commands = [
        ["compile", str(residual_model), "--board", BOARD, "-o", str(out), *variant]
        for variant in VARIANTS
    ]
    whole = []
    for command in commands:
        started = time.monotonic()
        edgeconv.ok(*command)
        takes = time.monotonic() - started
        whole.append(files(out))
    for name, data in USERS.items():
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_bytes(data)
    rng, ended, undone = random.Random(1), Counter[int](), 0
    for kill in range(kills):
        swap = bool(kill % 2)
        delay = rng.uniform(0, SWITCH if swap else takes)
        at = next(i for i, state in enumerate(whole) if state.items() <= files(out).items())
        status = compiled_until(SIGNALS[kill // 2 % 4], delay, commands[1 - at], swap)
        ended[status] += 1
        assert status in (0, 129, 130, 143, -9, -1, -2, -15), f"kill {kill}: {status}"
        found = files(out)
        assert found.items() >= USERS.items(), f"kill {kill}: a file of the user"
        undone += not any(state.items() <= found.items() for state in whole)
        journal.recover(out)  # as any command on the folder does
        found = {n: d for n, d in files(out).items() if "-staging-" not in n and n not in USERS}
        assert found in whole, f"kill {kill} after {delay} s"
    edgeconv.ok(*commands[0])
    assert files(out) == {**whole[0], **USERS}
    assert entries(tmp_path) == {"net.onnx", "out"}
    print(f"{kills} kills, exit statuses {dict(ended)}; {undone} were undone by the next command")

"""``verify`` and ``bench`` on boards: Linux over ssh, firmware through a probe."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeconv.run.build.output import Completed
from edgeconv.run.build.ssh import close_all
from edgeconv.search.measured import Store
from edgeconv.target import board as boards
from edgeconv.target.board_folders import FOLDERS_VARIABLE, shipped
from tests import onnx_models
from tests.command import Command
from tests.ssh_server import AVAILABLE, Server, serving
from tests.tools import available
from tests.unit.test_probe import comes_to

pytestmark = pytest.mark.usefixtures("unoptimised")

PROBES = Path(__file__).resolve().parents[2] / "examples" / "probes"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder of boards."""
    found = tmp_path / "boards"
    found.mkdir()
    monkeypatch.setenv(FOLDERS_VARIABLE, str(found))
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    if not AVAILABLE:
        pytest.skip("no sshd: apt-get install openssh-server")
    (tmp_path / "sshd").mkdir()
    with serving(tmp_path / "sshd") as found:
        yield found
        close_all()
        assert found.left() == []


def board(folder: Path, like: str, name: str, run: str) -> str:
    """A board file like a shipped one with another table ``run``."""
    text = (shipped() / f"{like}.toml").read_text().replace(f'name = "{like}"', f'name = "{name}"')
    text = re.sub(r"^\[run\]\n(?:.+\n)*", f"[run]\n{run}\n", text, flags=re.M)
    (folder / f"{name}.toml").write_text(text)
    return name


@pytest.mark.parametrize("like", ["host", "raspberry-pi-4"])
def test_over_ssh(
    like: str, folder: Path, server: Server, tmp_path: Path, edgeconv: Command
) -> None:
    command = server.command
    before = []
    if like != "host":  # emulated on the other side of the connection
        available(like)
        before = list(boards.load(like).run.command)
        before[0] = shutil.which(before[0]) or before[0]
    name = board(
        folder,
        like,
        "far",
        f'kind = "ssh"\ncommand = {json.dumps(command)}\nfolder = "{server.folder}"\n'
        f"before = {json.dumps(before)}",
    )
    model, out = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx"), tmp_path / "out"
    done = edgeconv.ok("compile", model, "--board", name, "-o", out, "--verify")
    report = json.loads((out / "report.json").read_text())
    assert report["accuracy"]["sqnr_db"] > 100
    found = edgeconv.ok("verify", out, "--layers", "--json").json()
    assert found["ran"] == "on the board, through ssh"
    times = edgeconv.ok("bench", out, "--runs", "3", "--layers", "--json").json()
    assert times["runs"] == 3
    assert all(layer["median_ms"] > 0 for layer in times["layers"])
    assert "over" not in done.stderr
    near = edgeconv("bench", out, "--ssh", "-oProxyCommand=x")
    assert (near.status, "a place reads" in near.stderr) == (2, True)
    absent = edgeconv("bench", out, "--ssh", "board.invalid")
    assert (absent.status, "unknown host: board.invalid" in absent.stderr) == (1, True)


DEBUGGER = """#!/bin/sh
echo "Info : a probe of its own, version 1" >&2
{qemu} -display none -monitor none -serial none -semihosting-config enable=on,target=native \\
    -kernel "$2"
echo "{counted}"
echo "Info : shutting down" >&2
"""


@pytest.mark.parametrize(
    "like",
    [
        "mps2-an500",
        pytest.param("mps2-an386", marks=pytest.mark.slow),
        pytest.param("mps3-an547", marks=pytest.mark.slow),
    ],
)
def test_through_a_probe(like: str, folder: Path, tmp_path: Path, edgeconv: Command) -> None:
    """QEMU serves the calls that a probe does, but counts no cycles: the script does."""
    available(like)
    script = tmp_path / "debugger"
    run = f'kind = "probe"\ncommand = ["{script}", "--elf", "{{image}}"]'
    name = board(folder, like, f"{like}-probe", run)
    model, out = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx"), tmp_path / "out"
    qemu = " ".join(boards.load(like).run.command)
    script.write_text(DEBUGGER.format(qemu=qemu, counted="nothing more"))
    script.chmod(0o755)
    edgeconv.ok("compile", model, "--board", name, "-o", out, "--verify")
    assert edgeconv.ok("verify", out, "--layers", "--json").json()["ran"].endswith("debugger")
    none = edgeconv("bench", out)
    assert (none.status, "no cycles were counted" in none.stderr) == (1, True)
    if like == "mps2-an500":
        script.write_text(DEBUGGER.format(qemu=qemu, counted="cycles 250000"))
        clock = boards.load(name).clock_hz
        assert clock
        found = edgeconv.ok("bench", out, "--json").json()
        assert found["median_ms"] == pytest.approx(250000 / clock * 1e3)
        script.write_text("#!/bin/sh\necho 'Error: no device found' >&2; exit 1\n")
        gone = edgeconv("verify", out)
        assert gone.status == 1
        assert "did not run the image" in gone.stderr
        assert "no device found" in gone.stderr


def tuned(path: Path) -> dict[str, tuple[float | None, str]]:
    with Store(path) as store:
        return {row.key.kernel: (row.seconds, row.error) for row in store.rows()}


def test_tuning_through_a_probe(folder: Path, tmp_path: Path, edgeconv: Command) -> None:
    """What is measured stays, whatever the probe does, and what it does not do is not held against
    a candidate."""
    like = available("mps2-an386")
    assert like.clock_hz
    script, count = tmp_path / "debugger", tmp_path / "count"
    run = f'kind = "probe"\ncommand = ["{script}", "--elf", "{{image}}"]'
    name = board(folder, like.name, "probed", run)
    model, file = onnx_models.save(onnx_models.convolution(), tmp_path / "net.onnx"), tmp_path / "a"
    words = ("tune", model, "--board", name, "--tuned", file, "--strategy", "random")
    qemu = " ".join((*like.run.command, "-icount", "shift=0,align=off,sleep=off"))
    works = DEBUGGER.format(qemu=qemu, counted="nothing more")

    def debugger(text: str) -> None:
        script.write_text(text)
        script.chmod(0o755)

    debugger("#!/bin/sh\necho 'Error: no device found' >&2; exit 1\n")
    done = edgeconv(*words)
    assert (done.status, "no device found" in done.stderr) == (1, True)
    assert tuned(file) == {}
    lost = "grep -v '^layer'"
    debugger(works.replace('-kernel "$2"', f'-kernel "$2" 2>&1 | {lost}'))
    done = edgeconv(*words)
    assert (done.status, "lines were lost: board probed" in done.stderr) == (1, True)
    assert tuned(file) == {}
    dies = f"echo >>{count}; [ $(wc -l <{count}) -lt 2 ] || {{ printf 'layer 0 ti'; kill -9 $$; }}"
    debugger(works.replace("#!/bin/sh\n", f"#!/bin/sh\n{dies}\n"))
    done = edgeconv(*words)
    assert (done.status, "the debugger was killed" in done.stderr) == (1, True)
    some = tuned(file)
    assert some
    debugger(works)
    found = edgeconv.ok(*words, "--minutes", "5", "--json").json()
    assert (found["place"], found["failed"], found["unmeasured"]) == ("board", 0, 0)
    assert found["measured"] == found["candidates"] == found["now"] + len(some)
    assert some.items() <= tuned(file).items()
    tick = 1 / like.clock_hz
    assert all(t and t == pytest.approx(round(t / tick) * tick) for t, _ in tuned(file).values())


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_probe_is_let_go(number: int, folder: Path, tmp_path: Path) -> None:
    """A tune that is ended in the middle leaves neither debugger nor files."""
    waits, script = tmp_path / "waits", tmp_path / "debugger"
    waits.symlink_to("/bin/sleep")
    script.write_text(f"#!/bin/sh\n{waits} 1000 & {waits} 1000\n")
    script.chmod(0o755)
    available("mps2-an386")
    run = f'kind = "probe"\ncommand = ["{script}", "--elf", "{{image}}"]'
    name = board(folder, "mps2-an386", "probed", run)
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    words = ["tune", str(model), "--board", name, "--tuned", str(tmp_path / "a.tuned")]
    child = subprocess.Popen([sys.executable, "-m", "edgeconv", *words], stderr=subprocess.PIPE)
    assert comes_to(2, waits)
    os.kill(child.pid, number)
    assert b"Traceback" not in child.communicate(timeout=30)[1]
    assert child.returncode == (-9 if number == signal.SIGKILL else 130)
    assert comes_to(0, waits)


def test_boards_of_the_examples_are_the_shipped_ones(tmp_path: Path) -> None:
    for path in sorted(PROBES.glob("*.toml")):
        found = boards.check(path)
        like = boards.load(path.name.split("-")[0])
        assert (found.target, found.memory, found.flags) == (like.target, like.memory, like.flags)
        assert any("{image}" in word for word in found.run.command)


def test_what_a_board_does_not_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edgeconv: Command
) -> None:
    """Whatever runs programs ends as if all were well, and prints and writes something else."""
    model, out = (
        onnx_models.save(onnx_models.convolution(), tmp_path / "net.onnx"),
        tmp_path / "out",
    )
    edgeconv.ok("compile", model, "--board", "generic-c", "-o", out, "--name", "net", "--verify")
    run, said = "run 0.000001000\n", ""

    def nothing(*_: object, **__: object) -> Completed:
        return Completed(0, said, "")

    for module in ("run.bench", "run.verify.program", "app.tuning.program"):
        monkeypatch.setattr(f"edgeconv.{module}.run_binary", nothing)
    stale = out / "build" / "output.bin"  # of a run that was killed, and right
    stale.write_bytes((out / "net_expected.bin").read_bytes())
    none = edgeconv("verify", out)
    assert (none.status, "the program wrote no output" in none.stderr) == (1, True)
    for said, layers in (
        *((text, False) for text in ("", "run .\n", f"run {'9' * 400}.0\n" * 3, run)),
        *((text, True) for text in (run * 3, f"layer 9999 0.000001000\n{run}" * 3)),
    ):
        lost = edgeconv("bench", out, "--runs", "1", *["--layers"] * layers)
        assert (lost.status, "times were not printed, or lost" in lost.stderr) == (1, True), said
    file = tmp_path / "a.tuned"
    lost = edgeconv("tune", model, "--board", "generic-c", "--tuned", file)
    assert (lost.status, "lines were lost: board generic-c" in lost.stderr) == (1, True)
    assert not tuned(file)

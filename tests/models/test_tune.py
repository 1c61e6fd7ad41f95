"""``edgeconv tune``: here, emulated, over ssh, on a cluster; whatever ends it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread

import pytest

from edgeconv.app.tuning.folders import MARK, own_folder
from edgeconv.run.build.ssh import close_all
from edgeconv.search.measured import Row, Store
from edgeconv.target.board_folders import FOLDERS_VARIABLE
from tests import onnx_models, quantised_models
from tests.command import Command
from tests.models.test_on_board import board
from tests.ssh_server import AVAILABLE, serving
from tests.tools import available

FEW = ("--minutes", "0.0001")  # what prediction chooses, and no more
ALL = ("--minutes", "5")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return onnx_models.save(onnx_models.convolution(), tmp_path / "net.onnx")


def rows(path: Path) -> list[Row]:
    with Store(path) as store:
        return list(store.rows())


def test_here(model: Path, tmp_path: Path, edgeconv: Command) -> None:
    """All is measured, then nothing is measured again, and the project uses it and is right."""
    file, name = tmp_path / "a.tuned", "generic-c"
    some = edgeconv.ok(
        "tune", model, "--board", name, "--tuned", file, *FEW, "--json", "--strategy", "random"
    ).json()
    assert 0 < some["measured"] < some["candidates"]
    assert some["measured"] == some["now"] == len(rows(file))
    assert some["failed"] == 0
    words = ("tune", model, "--board", name, "--tuned", file, *ALL, "--strategy", "random")
    done = edgeconv.ok(*words, "--json").json()
    assert done["measured"] == done["candidates"] == len(rows(file))
    assert done["now"] == done["candidates"] - some["measured"]
    assert done["unmeasured"] == 0
    assert done["tuned"] <= done["analytic"]
    assert all(row.seconds and row.runs for row in rows(file))
    again = edgeconv.ok(*words)
    assert " 0 times now" in again.stdout
    out = tmp_path / "out"
    made = edgeconv.ok("compile", model, "--board", name, "--tuned", file, "-o", out, "--verify")
    assert "layers have a measured time (on the board, built by" in made.stderr
    assert "states no clock" in made.stderr
    report = json.loads((out / "report.json").read_text())
    assert "--tuned a.tuned" in report["program"]["command"]
    other = tmp_path / "b.tuned"
    both = ("tune", model, "--board", name, "--tuned", other, "--tuned", file)
    merged = edgeconv.ok(*both, *FEW, "--strategy", "random", "--json").json()
    assert merged["now"] == 0
    assert len(rows(other)) == len(rows(file))


@pytest.mark.usefixtures("unoptimised")
def test_integers(tmp_path: Path, edgeconv: Command) -> None:
    model = onnx_models.save(quantised_models.tiny()[0], tmp_path / "net.onnx")
    file, asked = tmp_path / "a.tuned", ("--board", "generic-c", "--storage", "*:output=int8")
    done = edgeconv.ok("tune", model, *asked, "--tuned", file, *FEW, "--json").json()
    assert (done["failed"], done["left_out"]) == (0, {})
    assert any(row.candidate.startswith("int8") for row in rows(file))
    out = tmp_path / "out"
    edgeconv.ok("compile", model, *asked, "--tuned", file, "-o", out, "--verify")


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_what_was_measured_stays(number: int, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.tuned"
    words = ["tune", str(model), "--board", "generic-c", "--tuned", str(file), *ALL]
    child = subprocess.Popen([sys.executable, "-m", "edgeconv", *words], stderr=subprocess.PIPE)
    for _ in range(3000):
        if file.exists() and file.stat().st_size and rows(file):
            break
        assert child.poll() is None, child.communicate()
        time.sleep(0.02)
    os.kill(child.pid, number)
    child.wait()
    assert child.returncode == (-9 if number == signal.SIGKILL else 130)
    with sqlite3.connect(file) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert rows(file)


HOLDING = """
from pathlib import Path
from edgeconv.app.tuning.folders import own_folder
with own_folder() as folder:
    Path(folder, "tune").mkdir()
    Path(folder, "tune", "tune.c").touch()
    print(folder, flush=True)
    input()
"""


def test_what_a_killed_run_leaves_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is the next one's to remove; folders of others stay, whatever they are called."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    kept = [tmp_path / name for name in ("edgeconv-tune-linked", "edgeconv-tune-mine", "other")]
    kept[1].mkdir()
    (kept[1] / "notes.txt").write_text("mine")
    kept[2].mkdir()
    (kept[2] / MARK).touch()
    kept[0].symlink_to(kept[2])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, "-c", HOLDING], **pipes)  # type: ignore[call-overload]
    theirs = Path(child.stdout.readline().strip())
    assert theirs.parent == tmp_path
    with own_folder() as held:
        assert Path(held).is_dir()
        assert (theirs / "tune" / "tune.c").exists(), "what is in use stays"
    assert not Path(held).exists()
    child.kill()
    child.communicate()
    assert theirs.exists()
    with own_folder():
        assert not theirs.exists()
    assert sorted(tmp_path.iterdir()) == kept
    assert (kept[1] / "notes.txt").read_text() == "mine"
    assert (kept[2] / MARK).exists()


def test_a_runner_that_always_fails(
    model: Path, tmp_path: Path, edgeconv: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is held against no candidate: nothing is noted, and the next run measures all."""
    emulator = available("raspberry-pi-4").run.command
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    runner = tmp_path / "runner"
    runner.write_text("#!/bin/sh\necho 'no licence' >&2\nexit 9\n")
    runner.chmod(0o755)
    run = f'kind = "qemu-user"\ncommand = ["{runner}"]'
    name, file = board(tmp_path, "raspberry-pi-4", "near", run), tmp_path / "a.tuned"
    words = ("tune", model, "--board", name, "--tuned", file, *FEW)
    done = edgeconv(*words)
    assert done.status == 1
    assert "nothing can be measured: board near" in done.stderr
    assert "no licence" in done.stderr
    assert rows(file) == []
    runner.write_text(f'#!/bin/sh\nexec {shlex.join(emulator)} "$@"\n')
    found = edgeconv.ok(*words, "--json").json()
    assert (found["failed"], found["now"] > 0) == (0, True)


def test_two_at_once_measure_nothing_twice(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.tuned"
    words = ["tune", str(model), "--board", "generic-c", "--tuned", str(file), *ALL, "--json"]
    command = [sys.executable, "-m", "edgeconv", *words, "--strategy", "random"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)
    ]
    found = []
    for each in both:
        out, said = each.communicate(timeout=300)
        assert each.returncode == 0, said
        found.append(json.loads(out))
    assert all(each["measured"] == each["candidates"] == len(rows(file)) for each in found)
    assert sum(each["now"] for each in found) == len(rows(file)), "each by one of the two"
    assert sorted(each.name for each in tmp_path.glob("a.tuned*")) == ["a.tuned"]
    with sqlite3.connect(file) as base:
        assert base.execute("SELECT name FROM sqlite_master").fetchall() == [("measured",)]


def test_emulated_and_over_ssh(
    model: Path, tmp_path: Path, edgeconv: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times of an emulator are kept apart from those of the board."""
    available("raspberry-pi-4")
    file = tmp_path / "a.tuned"
    words = ("--tuned", file, *FEW)
    edgeconv.ok("tune", model, "--board", "raspberry-pi-4", *words)
    assert {row.key.place for row in rows(file)} == {"qemu-aarch64"}
    if not AVAILABLE:
        pytest.skip("no sshd: apt-get install openssh-server")
    folder = tmp_path / "boards"
    folder.mkdir()
    monkeypatch.setenv(FOLDERS_VARIABLE, str(folder))
    (tmp_path / "sshd").mkdir()
    with serving(tmp_path / "sshd") as server:
        run = f'kind = "ssh"\ncommand = {json.dumps(server.command)}\nfolder = "{server.folder}"'
        name = board(folder, "generic-c", "far", run)
        done = edgeconv.ok("tune", model, "--board", name, *words, "--json").json()
        assert done["place"] == "board"
        assert done["now"] > 0
        close_all()
        assert server.left() == []


def test_instructions_of_an_emulated_microcontroller(tmp_path: Path, edgeconv: Command) -> None:
    """They are the same in two runs, and noted as what they are."""
    name = available("mps2-an386").name
    model = onnx_models.save(quantised_models.tiny()[0], tmp_path / "net.onnx")
    files = [tmp_path / f"{each}.tuned" for each in "ab"]
    for file in files:
        done = edgeconv.ok("tune", model, "--board", name, "--tuned", file, *FEW, "--json").json()
        assert (done["failed"], done["place"]) == (0, "qemu-system-arm, instructions counted")
    one, other = ({row.key.kernel: row.seconds for row in rows(file)} for file in files)
    ticks = 2 * 40 / 25e6  # SysTick counts at 25 MHz, of instructions that take a nanosecond
    assert one.keys() == other.keys()
    assert all(one[k] == pytest.approx(other[k], abs=ticks) for k in one)
    assert len(set(one.values())) > 3
    out = tmp_path / "out"
    made = edgeconv.ok("compile", model, "--board", name, "--tuned", files[0], "-o", out)
    assert "layers have a measured time (under qemu-system-arm, instructions counted" in made.stderr


def test_what_cannot_be_tuned(model: Path, tmp_path: Path, edgeconv: Command) -> None:
    words = ("--tuned", tmp_path / "a.tuned")
    done = edgeconv("tune", model, "--board", "generic-c", *words, "--minutes", "0")
    assert (done.status, "positive number of minutes" in done.stderr) == (2, True)
    done = edgeconv("tune", model, "--board", "generic-c", *words, "--objective", "energy")
    assert (done.status, "times are measured, and no energies" in done.stderr) == (2, True)
    (tmp_path / "a.tuned").write_text("text")
    done = edgeconv("tune", model, "--board", "generic-c", *words, *FEW)
    assert (done.status, "no SQLite database" in done.stderr) == (2, True)


# A compiler that waits, once, in the worker that is going to die, until that is dead.
WAITING = """#!/bin/sh
case "$*" in *tune.c*)
    if [ "$PPID" = "$(cat {victim} 2>/dev/null)" ] && mkdir {held} 2>/dev/null; then
        while kill -0 "$PPID" 2>/dev/null; do sleep 0.05; done
        exit 1
    fi ;;
esac
exec {compiler} "$@"
"""


def _kill_once_measuring(held: Path, pid: int) -> None:
    """While its program is under way."""
    for _ in range(6000):
        if held.exists():
            break
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_cluster_of_which_a_worker_dies(
    model: Path, tmp_path: Path, edgeconv: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    file, victim, held = (tmp_path / name for name in ("a.tuned", "victim", "held"))
    compiler, waiting = shutil.which("gcc") or shutil.which("cc"), tmp_path / "gcc"
    waiting.write_text(WAITING.format(victim=victim, held=held, compiler=compiler))
    waiting.chmod(0o755)
    monkeypatch.setenv("CC", str(waiting))
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        resources={"generic-c": 1},
        dashboard_address=None,
    ) as cluster:
        words = ("--board", "generic-c", "--tuned", file, "--cluster", cluster.scheduler_address)
        victim.write_text(str(cluster.workers[0].pid))
        killer = Thread(target=_kill_once_measuring, args=(held, cluster.workers[0].pid))
        killer.start()
        done = edgeconv.ok("tune", model, *words, *ALL, "--strategy", "random", "--json").json()
        killer.join()
        assert held.exists()
        assert (done["measured"], done["failed"]) == (done["candidates"], 0)
        none = edgeconv("tune", model, *words[2:], "--board", "zen4")
        assert (none.status, "no worker with this board" in none.stderr) == (2, True)
    gone = edgeconv("tune", model, *words)
    assert (gone.status, "no cluster" in gone.stderr) == (2, True)

"""``verify`` and ``bench`` on boards: Linux over ssh, firmware through a probe."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeconv import board as boards
from edgeconv.board_folders import FOLDERS_VARIABLE, shipped
from edgeconv.build.ssh import close_all
from tests import onnx_models
from tests.command import Command
from tests.ssh_server import AVAILABLE, Server, serving
from tests.tools import available

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


def test_boards_of_the_examples_are_the_shipped_ones(tmp_path: Path) -> None:
    for path in sorted(PROBES.glob("*.toml")):
        found = boards.check(path)
        like = boards.load(path.name.split("-")[0])
        assert (found.target, found.memory, found.flags) == (like.target, like.memory, like.flags)
        assert any("{image}" in word for word in found.run.command)

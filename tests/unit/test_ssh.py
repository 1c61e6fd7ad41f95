"""Programs on a board over ssh: a local sshd, and scripts that fail as ssh does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.run.build import InputFile, OutputFile, run_binary
from edgeconv.run.build.ssh import close_all, session_of
from edgeconv.target import board as boards
from edgeconv.target.board import Board, Run, RunKind
from tests.ssh_server import AVAILABLE, Server, serving

_T = TypeVar("_T")
sshd = pytest.mark.skipif(not AVAILABLE, reason="no sshd: apt-get install openssh-server")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("sshd")) as found:
        yield found


@pytest.fixture
def board(server: Server) -> Iterator[Board]:
    run = Run(RunKind.SSH, tuple(server.command), "", str(server.folder))
    yield replace(boards.load("host"), run=run)
    close_all()
    assert server.left() == []  # nothing stays on the board


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def asked(command: list[str], folder: str = "/tmp") -> Board:
    return replace(boards.load("host"), run=Run(RunKind.SSH, tuple(command), "", folder))


@sshd
def test_files_go_there_and_back(board: Board, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "a file; echo $HOME 'x").write_bytes(data)
    program = script(tmp_path / "program", 'cat "$2" "$2" >"$4"; echo "out $5"; echo err >&2; ls')
    made = tmp_path / "made"
    for _ in range(2):  # the second time the program is there already
        done = run_binary(
            program,
            board,
            [
                "--in",
                InputFile(tmp_path / "a file; echo $HOME 'x"),
                "--out",
                OutputFile(made),
                "$(id) 'q' *",
            ],
        )
        assert (done.status, done.stderr) == (0, "err\n")
        assert done.stdout.splitlines()[0] == "out $(id) 'q' *"
        assert "user" not in done.stdout  # its own folder, not the home
        assert made.read_bytes() == 2 * data
    assert len(list(Path(session_of(board).folder).iterdir())) == 1  # the program alone


@sshd
def test_words_before_the_program(board: Board, tmp_path: Path) -> None:
    program = script(tmp_path / "program", 'echo "$WORD"')
    before = replace(board, run=replace(board.run, before=("env", "WORD=a b")))
    assert run_binary(program, before).stdout == "a b\n"


@sshd
def test_exit_status_crash_and_hang(board: Board, tmp_path: Path) -> None:
    program = script(
        tmp_path / "program", "case $1 in k) kill -SEGV $$;; s) sleep 60;; esac; exit $1"
    )
    assert run_binary(program, board, ["7"]).status == 7
    assert run_binary(program, board, ["255"]).status == 254  # which ssh keeps for itself
    with pytest.raises(EdgeconvError, match="SIGSEGV"):
        run_binary(program, board, ["k"])
    with pytest.raises(EdgeconvError, match="still running after 0.2 s"):
        run_binary(program, board, ["s"], timeout=0.2)
    assert run_binary(program, board, ["3"]).status == 3  # the connection stands


@sshd
def test_what_does_not_start(board: Board, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"\x7fELF nothing that runs")
    with pytest.raises(EdgeconvError, match="cannot be started on the board.*arch"):
        run_binary(tmp_path / "data", board)


@sshd
def test_files_that_are_not_here(board: Board, tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="the program failed.*No such file"):
        run_binary(tmp_path / "absent", board)


@sshd
def test_no_room(server: Server, tmp_path: Path) -> None:
    program = script(tmp_path / "program", "exit 0")
    missing = asked(server.command, str(server.folder / "absent"))
    with pytest.raises(EdgeconvError, match="no folder for programs on the board.*run.folder"):
        run_binary(program, missing)
    if Path("/dev/full").exists():  # what writing to a full disk says
        board = asked(server.command, str(server.folder))
        session = session_of(board)
        (Path(session.folder) / "0.bin").symlink_to("/dev/full")
        with pytest.raises(EdgeconvError, match="cannot copy to the board.*No space left"):
            run_binary(program, board, [InputFile(program)])
        close_all()
    assert Path("/dev/full").exists()


@sshd
def test_connection_that_drops(tmp_path: Path) -> None:
    (tmp_path / "sshd").mkdir()
    with serving(tmp_path / "sshd") as own:
        board = asked(own.command, str(own.folder))
        program = script(tmp_path / "program", "echo begun; sleep 60")
        assert run_binary(script(tmp_path / "first", "exit 0"), board).status == 0
        own.stop()
        with pytest.raises(EdgeconvError, match="dropped|does not answer|cannot reach"):
            run_binary(program, board)
        close_all()
        assert own.left() == []  # the shell that holds the folder sees its end


@sshd
def test_a_killed_edgeconv_leaves_nothing(server: Server, tmp_path: Path) -> None:
    program = script(tmp_path / "program", "sleep 60")
    code = (
        "from pathlib import Path; from tests.unit.test_ssh import asked;"
        "from edgeconv.run.build import run_binary;"
        f"run_binary(Path({str(program)!r}), asked({server.command!r}, {str(server.folder)!r}))"
    )
    root = Path(__file__).resolve().parents[2]
    child = subprocess.Popen([sys.executable, "-c", code], cwd=root)
    noted = _until(lambda: [path.read_text() for path in server.folder.glob("*/pid")], any)
    (pid,) = (text.strip() for text in noted)  # a file is there before what is written to it
    child.kill()
    child.wait()
    assert server.left() == []
    # What is killed stays in the table of processes until its parent, or init, has asked.
    assert _until(lambda: _state(pid), lambda state: state in ("", "Z")) in ("", "Z")


def _state(pid: str) -> str:
    """The letter that ps has for a process, "" for none."""
    asked = ["ps", "-o", "stat=", "-p", pid]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()[:1]


def _until(read: Callable[[], _T], there: Callable[[_T], bool]) -> _T:
    """What is read at last, after half a minute at most."""
    for _ in range(1500):
        found = read()
        if there(found):
            break
        time.sleep(0.02)
    return found


@sshd
def test_keys_and_hosts(server: Server, tmp_path: Path) -> None:
    program = script(tmp_path / "program", "exit 0")
    *ssh, host = server.command
    refused = [*ssh, "-o", "PubkeyAuthentication=no", host]
    with pytest.raises(EdgeconvError, match="refuses the key: board.*ssh-copy-id board"):
        run_binary(program, asked(refused))
    unknown = [*ssh, "-o", "UserKnownHostsFile=/dev/null", host]
    with pytest.raises(EdgeconvError, match="not known by its key"):
        run_binary(program, asked(unknown))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("ssh: Could not resolve hostname nowhere: Name or service not known", "unknown host"),
        ("ssh: connect to host x port 22: Connection refused", "does not answer.*is it on"),
        ("something new", "cannot reach the board.*something new.*without a password"),
        ("", "cannot reach the board.*no message"),
    ],
)
def test_what_ssh_says(tmp_path: Path, said: str, expected: str) -> None:
    ssh = script(tmp_path / "ssh", f"echo '{said}' >&2; exit 255")
    with pytest.raises(EdgeconvError, match=expected) as caught:
        run_binary(ssh, asked([str(ssh), "nowhere"]))
    assert caught.value.code is Exit.UNSATISFIED


def test_no_ssh_here(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="cannot reach the board.*needs ssh-absent") as caught:
        run_binary(tmp_path / "program", asked(["ssh-absent", "board"]))
    assert caught.value.code is Exit.MISSING_TOOL


def test_any_linux_board_may_be_elsewhere() -> None:
    board = boards.load("raspberry-pi-4", ssh="pi@board.local")
    assert (board.run.kind, board.run.command) == (RunKind.SSH, ("ssh", "pi@board.local"))
    assert board.toolchain.static
    with pytest.raises(UsageError, match="--ssh: got '-oProxyCommand=x'; a place reads"):
        boards.load("raspberry-pi-4", ssh="-oProxyCommand=x")
    with pytest.raises(UsageError, match="no operating system; a debugger reaches it"):
        boards.load("stm32h743", ssh="board")

"""Runs programs on a board over ssh.

One connection serves a board for as long as this process lives.  On it a shell of the board holds
a folder that it has made, and waits for the end of its input: then, and so also when the connection
or this process dies, it ends the program that runs and removes the folder.  Files go through the
shell's input and output, so that the board needs no more than sshd and a POSIX shell.
"""

from __future__ import annotations

import atexit
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import IO

from edgeconv.run.build.output import Completed, PrintedTooMuchError, printed
from edgeconv.run.build.program_files import Argument, InputFile, PlaceError, still_running
from edgeconv.run.build.ssh_errors import dropped, lost, not_started
from edgeconv.target.board import Board, Run

_CONNECTING_S, _CLOSING_S = 20, 10
_FAILED = 255  # ssh's exit status where the connection does; no program of the board has it here
# Nobody is asked anything: keys and hosts are those that ssh knows already.  A board that does not
# answer for 15 s is gone.
_OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECTING_S // 2}"),
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
)
_HOLD = """
umask 077
folder=$(mktemp -d "$1/edgeconv-XXXXXX") || exit 1
clean() {
    [ -f "$folder/pid" ] && kill -9 "$(cat "$folder/pid")" 2>/dev/null
    rm -rf -- "$folder"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
printf '%s\\n' "$folder"
cat >/dev/null
"""
_PUT = 'umask 077; cat >"$1" && chmod 700 "$1" && wc -c <"$1"'
_GET = 'cat "$1"'
_REMOVE = 'rm -f -- "$@"'
_END = '[ ! -f "$1/pid" ] || kill -9 "$(cat "$1/pid")"'
_RUN = f"""
cd "$1" && shift || exit 126
"$@" </dev/null &
echo $! >pid
wait $!
status=$?
rm -f pid
[ $status = {_FAILED} ] && status=254
exit $status
"""


class Session:
    """A connection to the board that ``run`` describes, and a folder there.

    Raises EdgeconvError where there is none: unknown host, refused key, no answer, no room.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._sockets = tempfile.TemporaryDirectory(prefix="edgeconv-ssh-")
        self._pushed: dict[Path, tuple[tuple[int, int], str]] = {}
        self._count = 0
        self._holder = subprocess.Popen(
            self._command("yes", _HOLD, run.folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        assert self._holder.stdout is not None
        first: list[str] = []
        reader = Thread(target=_read_line, args=(self._holder.stdout, first), daemon=True)
        reader.start()
        reader.join(_CONNECTING_S)
        self.folder = first[0].strip() if first else ""
        if not self.folder.startswith(f"{run.folder.rstrip('/')}/edgeconv-"):
            if reader.is_alive():
                self._holder.kill()
            said = self._ended()
            raise lost(self.where, said, self._holder.returncode == _FAILED or not said)

    @property
    def where(self) -> str:
        """The board, as the command names it."""
        return self._run.command[-1]

    @property
    def alive(self) -> bool:
        """The connection stands."""
        return self._holder.poll() is None

    def run(
        self, path: Path, arguments: Sequence[Argument], timeout: float | None = None
    ) -> Completed:
        """Run the program ``path`` there for at most ``timeout`` seconds.

        The program stays there until another one comes; what it reads and writes does not.  Raises
        EdgeconvError: it cannot be copied or started, the connection drops, or time runs out.
        """
        program = self._program(path)
        words, moved = [], dict[str, Path]()
        used = []
        for number, word in enumerate(arguments):
            if isinstance(word, str):
                words.append(word)
                continue
            name = f"{number}.bin"
            words.append(name)
            used.append(f"{self.folder}/{name}")
            if isinstance(word, InputFile):
                self._put(word.path, name)
            else:
                moved[name] = word.path
        try:
            done = self._do(
                _RUN, self.folder, *self._run.before, f"./{program}", *words, timeout=timeout
            )
            if done.status in (126, 127):
                raise not_started(self.where, self._run.folder, done.stderr.strip())
            for name, to in moved.items() if done.status == 0 else ():
                self._get(name, to)
        finally:
            if used and self.alive:
                self._do(_REMOVE, *used)
        return done

    def close(self) -> None:
        """Remove what is there, and hang up."""
        if self.alive:
            self._ended()
        self._sockets.cleanup()

    def _ended(self) -> str:
        """Hang up; what ssh and the board said."""
        try:
            return self._holder.communicate(timeout=_CLOSING_S)[1].strip()
        except subprocess.TimeoutExpired:
            self._holder.kill()
            return self._holder.communicate()[1].strip()

    def _program(self, path: Path) -> str:
        """The name there of the program ``path``, which is copied unless it is there already."""
        status = path.stat()
        state = status.st_mtime_ns, status.st_size
        if self._pushed.get(path, (None, ""))[0] != state:
            others = [f"{self.folder}/{name}" for _, name in self._pushed.values()]
            self._pushed.clear()
            if others:
                self._do(_REMOVE, *others)
            self._count += 1
            name = f"program{self._count}"
            self._put(path, name)
            self._pushed[path] = state, name
        return self._pushed[path][1]

    def _put(self, path: Path, name: str) -> None:
        with path.open("rb") as file:
            done = self._do(_PUT, f"{self.folder}/{name}", given=file)
        if done.status or done.stdout.strip() != str(path.stat().st_size):
            raise PlaceError(
                "cannot copy to the board",
                where=f"{path.name} to {self.folder} on {self.where}",
                got=done.stderr.strip() or f"{done.stdout.strip() or 'no'} bytes arrived",
                rule=f"it has {path.stat().st_size} bytes",
                hint="make room there, or name another place with run.folder of the board's file",
            )

    def _get(self, name: str, to: Path) -> None:
        with to.open("wb") as file:
            done = self._do(_GET, f"{self.folder}/{name}", made=file)
        if done.status:
            raise PlaceError(
                "cannot copy from the board",
                where=f"{to.name} from {self.where}",
                got=done.stderr.strip() or f"exit status {done.status}",
            )

    def _do(
        self,
        script: str,
        *words: str,
        given: IO[bytes] | None = None,
        made: IO[bytes] | None = None,
        timeout: float | None = None,
    ) -> Completed:
        """Run a shell script there with these words as its parameters."""
        if not self.alive:
            raise dropped(self.where, self._ended())
        try:
            done = printed(
                self._command("no", script, *words), given=given, made=made, timeout=timeout
            )
        except PrintedTooMuchError:
            self._do(_END, self.folder)
            raise
        except subprocess.TimeoutExpired as error:
            self._do(_END, self.folder)
            raise still_running(f"on {self.where}", timeout or 0.0) from error
        if done.status == _FAILED:
            raise dropped(self.where, done.stderr.strip())
        return done

    def _command(self, master: str, script: str, *words: str) -> list[str]:
        """``master``: "yes" for the connection that the others use."""
        program, *rest = self._run.command
        options: list[str] = []
        if Path(program).name == "ssh":  # others (dbclient, adb shell) have none of these
            socket = f"{self._sockets.name}/%C"
            options = [*_OPTIONS, "-o", f"ControlMaster={master}", "-o", f"ControlPath={socket}"]
            options += ["-o", "ControlPersist=no"]
        there = shlex.join(("sh", "-c", script.strip(), "sh", *words))
        return [program, *options, *rest, there]


_sessions: dict[Run, Session] = {}


def session_of(board: Board) -> Session:
    """The connection to a board whose ``run.kind`` is "ssh", made on first use and again where it
    has dropped; raises as `Session`."""
    found = _sessions.get(board.run)
    if found is None or not found.alive:
        if found:
            found.close()
        found = _sessions[board.run] = Session(board.run)
    return found


def close_all() -> None:
    """Leave every board as it was."""
    while _sessions:
        _sessions.popitem()[1].close()


atexit.register(close_all)


def _read_line(stream: IO[str], into: list[str]) -> None:
    into.append(stream.readline())

"""A local sshd on a port of its own, with keys of its own, that tests log in to."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/sbin")
AVAILABLE = bool(SSHD and shutil.which("ssh") and shutil.which("ssh-keygen"))
_SEPARATION = Path("/run/sshd")  # where root's sshd wants an empty folder


@dataclass(frozen=True)
class Server:
    """``command``: what reaches it.  ``folder``: where programs may go.  ``stop``: ends it and all
    connections, as a board does that loses power."""

    command: list[str]
    folder: Path
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        found = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        self.process.kill()
        for pid in map(int, found.stdout.split()):
            os.kill(pid, 9)
        self.process.wait()

    def left(self) -> list[str]:
        """What is in the folder, once the server has had the time to clean up."""
        for _ in range(1000):
            found = sorted(path.name for path in self.folder.iterdir())
            if not found:
                break
            time.sleep(0.02)
        return found


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Runs as the user of the tests; skips nothing: ask `AVAILABLE` first."""
    assert SSHD
    if os.geteuid() == 0:
        _SEPARATION.mkdir(mode=0o755, exist_ok=True)
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(key, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "authorised").write_text((folder / "user.pub").read_text())
    public = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known").write_text(f"[127.0.0.1]:{port} {public}\n")
    (folder / "sshd").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/authorised\nStrictModes no\nPasswordAuthentication no\n"
    )
    (folder / "ssh").write_text(
        f"Host board\nHostName 127.0.0.1\nPort {port}\nIdentityFile {folder}/user\n"
        f"IdentitiesOnly yes\nUserKnownHostsFile {folder}/known\n"
    )
    there = folder / "there"
    there.mkdir()
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd")], stderr=-3)
    try:
        _await(port)
        yield Server(["ssh", "-F", str(folder / "ssh"), "board"], there, process)
    finally:
        process.terminate()
        process.wait()


def _await(port: int) -> None:
    for _ in range(2000):
        with socket.socket() as attempt:
            if not attempt.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.01)
    raise AssertionError("sshd does not listen")

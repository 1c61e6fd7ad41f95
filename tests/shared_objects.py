"""Objects that a test run has compiled already, whichever test and worker it was.

Many tests build the same network for the same board, and the start of a firmware is the same
whatever it runs.  An object is taken from the store where compiler, flags, source, headers and, of
assembly, the files that it may include are those of one that was compiled before.  Linking is never
left out, nor a compilation that fails.

A header of intrinsics takes GCC longer than many a network: sources that include one are given what
the same compiler has read of it with the same options.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Call = Callable[[Sequence[str], Path, Path, str], None]
_INTRINSICS = re.compile(r"^#include (<(?:immintrin|arm_neon|arm_mve)\.h>)$", re.MULTILINE)
_GCC = re.compile(r"(.*-)?g?cc(-\d+)?")


@dataclass(frozen=True)
class SharedObjects:
    """Stands for ``edgeconv.build.compile._call``, which is ``call``; ``store`` is a folder."""

    call: Call
    store: Path

    def __call__(self, command: Sequence[str], directory: Path, log: Path, failure: str) -> None:
        if "-c" not in command:
            self.call(command, directory, log, failure)
            return
        written = Path(command[command.index("-o") + 1])
        made = [directory / written, directory / written.with_suffix(".su")]
        kept = self.store / self._key(command, directory)
        if not kept.is_dir():
            before = log.stat().st_size
            self.call(self._with_intrinsics(command, directory), directory, log, failure)
            self._keep(kept, made, log.read_bytes()[before:])
            return
        for path in made:
            if (kept / path.name).exists():
                shutil.copyfile(kept / path.name, path)
        with log.open("ab") as stream:
            stream.write((kept / "log").read_bytes())

    def _with_intrinsics(self, command: Sequence[str], directory: Path) -> Sequence[str]:
        at = command.index("-c")
        source = (directory / command[at + 1]).read_text(encoding="utf-8", errors="replace")
        found = _INTRINSICS.search(source)
        if not found or not _GCC.fullmatch(Path(command[0]).name):
            return command
        header = precompiled(tuple(command[:at]), found[1], self.store)
        return [*command[:at], "-include", str(header), *command[at:]] if header else command

    def _key(self, command: Sequence[str], directory: Path) -> str:
        source = command[command.index("-c") + 1]
        read = sorted(directory.rglob("*.h"))
        read += sorted(directory.glob("*.bin")) if source.endswith(".S") else []
        at = command.index("-o") + 1
        words = [*command[:at], Path(command[at]).name, *command[at + 1 :]]
        words += [shutil.which(command[0]) or "", os.environ.get("CPATH", "")]
        digest = hashlib.sha256(repr(words).encode())
        for path in [directory / source, *read]:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(directory)} {len(content)} ".encode() + content)
        return digest.hexdigest()

    def _keep(self, kept: Path, made: Sequence[Path], log: bytes) -> None:
        folder = Path(tempfile.mkdtemp(dir=self.store))
        for path in made:
            if path.exists():
                shutil.copyfile(path, folder / path.name)
        (folder / "log").write_bytes(log)
        try:
            folder.rename(kept)
        except OSError:  # another worker was faster
            shutil.rmtree(folder)


def precompiled(options: Sequence[str], header: str, store: Path) -> Path | None:
    """A file to be included in place of ``header``, in angle brackets, which the compiler of these
    options has read before; None where it cannot, as for a core without these intrinsics."""
    path = shutil.which(options[0]) or ""
    words = [
        *(word for word in options if word != "-I."),
        path,
        os.environ.get("CPATH", ""),
        header,
    ]
    folder = store / f"intrinsics-{hashlib.sha256(repr(words).encode()).hexdigest()}"
    folder.mkdir(exist_ok=True)
    source, made = folder / "intrinsics.h", folder / "intrinsics.h.gch"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not source.exists():
            source.write_text(f"#include {header}\n")
            command = [*options, "-x", "c-header", str(source), "-o", str(made)]
            subprocess.run(command, capture_output=True, check=False)
    return source if made.exists() else None

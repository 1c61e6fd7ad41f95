"""Objects that a test run has compiled already, whichever test and worker it was.

Many tests build the same network for the same board, and the start of a firmware is the same
whatever it runs.  An object is taken from the store where compiler, flags, source, headers and, of
assembly, the files that it may include are those of one that was compiled before.  A macro that is
defined for sources which do not have its name makes no difference: a firmware's network is the same
whether its main program is for a debugger or not.  Linking is never left out, nor a compilation
that fails.

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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Call = Callable[[Sequence[str], Path, Path, str], None]
_INTRINSICS = re.compile(r"^#include (<(?:immintrin|arm_neon|arm_mve)\.h>)$", re.MULTILINE)
_BESIDE = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)
_FEATURES = re.compile(r"^#define _\w+_SOURCE", re.MULTILINE)  # ask the first header for more
_GCC = re.compile(r"(.*-)?g?cc(-\d+)?")
_OWN_MACRO = re.compile(r"-D([A-Za-z]\w*)(=.*)?")  # those of compilers and libraries begin with _
_NO_MATTER = re.compile(rf"-I\.|-W[a-z=-]+|-fstack-usage|{_OWN_MACRO.pattern}")
_WORTH_IT = 3  # compilations of a kind, after which a header is read for the next ones


@dataclass(frozen=True)
class SharedObjects:
    """Stands for ``edgeconv.run.build.compile._call``, which is ``call``; ``store`` is a folder."""

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
        beside = (directory / name for name in _BESIDE.findall(source))
        source += "".join(header.read_text() for header in beside if header.is_file())
        # What is no matter to the header: GCC takes it with other warnings and macros, too.
        options = [word for word in command[:at] if not _NO_MATTER.fullmatch(word)]
        return [*command[:at], *intrinsics(options, source, self.store), *command[at:]]

    def _key(self, command: Sequence[str], directory: Path) -> str:
        source = command[command.index("-c") + 1]
        read = sorted(directory.rglob("*.h"))
        read += sorted(directory.glob("*.bin")) if source.endswith(".S") else []
        texts = {
            path.relative_to(directory): path.read_bytes() for path in [directory / source, *read]
        }
        at = command.index("-o") + 1
        words = [*command[1:at], Path(command[at]).name, *command[at + 1 :]]
        words = [word for word in words if _may_matter(word, texts.values())]
        compiler = os.path.realpath(shutil.which(command[0]) or command[0])  # cc is gcc, too
        words += [compiler, os.environ.get("CPATH", "")]
        digest = hashlib.sha256(repr(words).encode())
        for name, content in texts.items():
            digest.update(f"{name} {len(content)} ".encode() + content)
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


def _may_matter(word: str, texts: Iterable[bytes]) -> bool:
    """Whether an option can change what is made of files with these ``texts``."""
    macro = _OWN_MACRO.fullmatch(word)
    return not macro or any(macro[1].encode() in text for text in texts)


def intrinsics(command: Sequence[str], source: str, store: Path) -> list[str]:
    """Further options for GCC, called by ``command``: the header of intrinsics that ``source``
    includes, as it was read before.  None for other compilers, for sources without one, for the
    first that are compiled so, and where it cannot be read, as for a core that does not have
    them."""
    found = _INTRINSICS.search(source)
    if not found or not _GCC.fullmatch(Path(command[0]).name) or _FEATURES.search(source):
        return []
    compiler = os.path.realpath(shutil.which(command[0]) or command[0])
    words = [*command[1:], compiler, os.environ.get("CPATH", ""), found[1]]
    folder = store / f"intrinsics-{hashlib.sha256(repr(words).encode()).hexdigest()}"
    folder.mkdir(parents=True, exist_ok=True)
    header, made = folder / "intrinsics.h", folder / "intrinsics.h.gch"
    with (folder / "lock").open("a+b") as lock:  # one byte for each that was compiled without
        fcntl.flock(lock, fcntl.LOCK_EX)
        if lock.seek(0, os.SEEK_END) < _WORTH_IT:
            lock.write(b".")
        elif not header.exists():
            header.write_text(f"#include {found[1]}\n")
            reading = [*command, "-x", "c-header", str(header), "-o", str(made)]
            subprocess.run(reading, capture_output=True, check=False)
    return ["-include", str(header)] if made.exists() else []

"""One process that runs cases, and its parent, who notices when it does not answer."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic

from edgeconv.base.errors import EdgeconvError
from tests.fuzz.subject import Subject, all_subjects

REFUSED = "refused"
OTHER_DIED = "the other engine died"
_CHECKING = "checking"  # sent before another engine has the word
_START = 300.0  # seconds a worker may take to start: it imports everything, on a busy machine
_BUSY = 10  # times as long as it may compute a case may take, on a busy machine
_RECYCLED = 500  # cases after which a worker is replaced: caches grow


@dataclass(frozen=True, slots=True)
class Outcome:
    """``failure``: what went wrong, the innermost place first; "" for a file that was read or
    refused as it should be."""

    case: str
    word: str
    seconds: float
    failure: str = ""

    @property
    def kind(self) -> str:
        """Failures of one kind have one cause: the exception and where it was raised."""
        return self.failure.partition("\n")[0]


class Runner:
    """Runs cases of one subject, each a number or the path of a kept file."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._process: multiprocessing.process.BaseProcess | None = None
        self._ran = 0
        self._start()

    def run(self, case: int | Path) -> Outcome:
        """What becomes of one case."""
        if self._ran >= _RECYCLED:
            self.close()
        if self._process is None:
            self._start()
        self._ran += 1
        self._pipe.send(case)
        begin = monotonic()
        found = self._answer()
        checking = found == _CHECKING
        if checking:
            found = self._answer()
        if isinstance(found, Outcome):
            return found
        self.close()
        seconds = monotonic() - begin
        if checking:
            return Outcome(str(case), OTHER_DIED, seconds)
        return Outcome(str(case), "", seconds, str(found))

    def _answer(self) -> Outcome | str:
        """What the worker sends, or why it sends nothing.

        Seconds are those of its processor: on a busy machine it waits for its turn.  What sleeps is
        ended, too.
        """
        assert self._process is not None
        seconds = self.subject.seconds
        end = _processor_seconds(self._process.pid) + seconds
        for _ in range(_BUSY):
            if self._pipe.poll(seconds):
                break
            if _processor_seconds(self._process.pid) > end:
                return f"no end after {seconds:g} s of processor time"
        else:
            return f"no end after {_BUSY * seconds:g} s"
        try:
            found: Outcome | str = self._pipe.recv()
            return found
        except (EOFError, ConnectionResetError):
            return "the worker died"

    def close(self) -> None:
        """End the worker."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        arguments = (self.subject.name, other)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        other.close()
        self._ran = 0
        if not self._pipe.poll(_START):
            raise TimeoutError("the worker of the fuzzer does not start")
        self._pipe.recv()


def _serve(name: str, pipe: Connection) -> None:
    subject = all_subjects()[name]
    with tempfile.TemporaryDirectory(prefix="edgeconv-fuzz-") as folder:
        # What is imported at first use counts as the interpreter's.
        _one(subject, 0, Path(folder) / "first", lambda: None)
        _bound_memory(subject.megabytes << 20)
        pipe.send("ready")
        number = 0
        while True:
            try:
                case = pipe.recv()
            except EOFError:
                return
            number += 1
            checking = partial(pipe.send, _CHECKING)
            pipe.send(_one(subject, case, Path(folder) / str(number), checking))


def _processor_seconds(pid: int | None) -> float:
    """Of a process; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _bound_memory(more: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _one(subject: Subject, case: int | Path, folder: Path, checking: Callable[[], None]) -> Outcome:
    folder.mkdir()
    begin, word, failure = monotonic(), "", ""
    try:
        path = case if isinstance(case, Path) else made(subject, case, folder)
        begin = monotonic()
        try:
            read = subject.read(path)
            if not isinstance(read, str):
                checking()
                read = read()
            word = read
        except EdgeconvError:
            word = REFUSED
    except Exception as error:
        failure = _described(error)
    for file in folder.iterdir():
        with suppress(OSError):
            file.unlink()
    return Outcome(str(case), word, monotonic() - begin, failure)


def made(subject: Subject, case: int, folder: Path) -> Path:
    """The file of case number ``case``, in ``folder``."""
    return subject.make(random.Random(f"{subject.name} {case}"), folder)


def _described(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    # The last line of the project's own, also where a library raises.
    own = [frame for frame in frames if "site-packages" not in frame.filename] or list(frames)
    last = own[-1]
    place = f"{Path(last.filename).name}:{last.name}"
    lines = [f"{type(error).__name__} in {place}", str(error)[:300]]
    lines += (f"  {Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames[-12:]))
    return "\n".join(lines)


def outcomes(subject: Subject, first: int, cases: int, seconds: float) -> Iterator[Outcome]:
    """What becomes of the cases from number ``first`` on, until either is used up."""
    runner = Runner(subject)
    end = monotonic() + seconds
    try:
        for case in range(first, first + cases):
            if monotonic() > end:
                return
            yield runner.run(case)
    finally:
        runner.close()

"""Samples of what a program executes under QEMU, and the cycles that a model of a core takes."""

from __future__ import annotations

import math
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from counting.program import build_plugin

from coremodel.machine import Machine
from coremodel.table import rows
from edgeconv.base.errors import EdgeconvError, Exit

HERE = Path(__file__).parent
WINDOWS, WINDOW = 800, 8000  # of so many instructions each; of these replay.c leaves out a quarter
_WINDOW_BEGINS, _DEFINITION = 2**64 - 1, 2**64 - 2  # records of record.c
_RECORDED = re.compile(r"^recorded ([0-9 ]+)$", re.MULTILINE)
_FUNCTIONS = re.compile(r"^functions ([0-9 ]+)$", re.MULTILINE)
_FUNCTION = re.compile(r"^function (\d+) (\d+) (\d+)$", re.MULTILINE)
_REPLAYED = re.compile(r"^replayed (\d+) (\d+) (\S+) (\d+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Trace:
    """A file of samples of one inference, and what all of it took.

    ``missed``: lines that each cache, nearest first, did not have; ``written``: lines that went
    back to the memory.  ``functions``: instructions from entering one of those told apart until
    the next is entered, in their order.
    """

    path: Path
    instructions: int
    missed: tuple[int, ...]
    written: int
    functions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cycles:
    """What one inference takes on a machine.  ``error``: standard error of the cycles, relative,
    that the sampling leaves.  ``functions``: cycles of an instruction of each that the trace tells
    apart, in their order; none of those that no window met."""

    machine: Machine
    trace: Trace
    per_instruction: float
    error: float
    wrong_branches: int
    functions: tuple[float, ...] = ()

    @property
    def function_ms(self) -> tuple[float, ...]:
        """Time in each function told apart, in their order."""
        each = zip(self.trace.functions, self.functions, strict=True)
        return tuple(1e3 * count * cycles / self.machine.clock for count, cycles in each)

    @property
    def ms(self) -> float:
        """Time of one inference."""
        return 1e3 * self.trace.instructions * self.per_instruction / self.machine.clock


class Recorder:
    """The plugin that records, and the program that replays, built in a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises EdgeconvError without a C compiler."""
        self._folder = folder
        self._plugin = build_plugin(folder, "record", HERE)
        self._replay = folder / "replay"
        compiler = shutil.which("cc") or shutil.which("gcc")
        assert compiler  # the plugin is built
        command = [compiler, "-O2", str(HERE / "replay.c"), "-o", str(self._replay)]
        subprocess.run(command, check=True)

    def record(
        self,
        command: Sequence[str],
        machine: Machine,
        path: Path,
        at: int | None = None,
        functions: Sequence[int] = (),
    ) -> Trace:
        """Samples of a program that QEMU's ``command`` runs, on the caches of ``machine``.

        The emulator's name comes first.  The program marks its work with `getpriority`, or calls
        the function ``at`` three times.  ``functions``: addresses of those to tell apart.  Raises
        EdgeconvError where it fails.
        """
        emulator, *rest = command
        options = {
            "trace": str(path),
            "windows": str(WINDOWS),
            "window": str(WINDOW),
            "caches": machine.recorded_caches,
        }
        if at is not None:
            options["at"] = f"{at:x}"
        if functions:
            options["functions"] = ":".join(f"{each:x}" for each in functions)
        plugin = ",".join(
            [str(self._plugin), *(f"{key}={value}" for key, value in options.items())]
        )
        done = subprocess.run(
            [emulator, "-plugin", plugin, *rest], capture_output=True, text=True, check=False
        )
        found = _RECORDED.search(done.stderr)
        if done.returncode or not found:
            raise EdgeconvError(
                "the program failed under QEMU",
                where=rest[-1],
                got=done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}",
                rule="it must mark its work three times, and the emulator have plugins",
                code=Exit.UNSATISFIED,
            )
        _, instructions, *missed, written = map(int, found[1].split())
        told = _FUNCTIONS.search(done.stderr)
        _, *apart = map(int, told[1].split()) if told else (0,)
        return Trace(path, instructions, tuple(missed), written, tuple(apart))

    def replay(self, trace: Trace, machine: Machine) -> Cycles:
        """What ``machine`` takes; its caches are those of the recording.  Raises EdgeconvError."""
        made = rows(words(trace.path), machine.core, machine.cpu, machine.caches[0].latency)
        lines = [str(row) for row in made]
        files = {
            "table": "\n".join([str(len(lines)), *lines, ""]),
            "core": machine.core_file,
            "memory": machine.memory_file,
        }
        for name, text in files.items():
            (self._folder / name).write_text(text, encoding="utf-8")
        paths = [str(self._folder / name) for name in files]
        done = subprocess.run(
            [str(self._replay), str(trace.path), *paths],
            capture_output=True,
            text=True,
            check=False,
        )
        found = _REPLAYED.search(done.stdout)
        if not found or not int(found[1]):
            raise EdgeconvError("a trace that holds no window", where=str(trace.path))
        counted, cycles, windows = int(found[1]), int(found[2]), int(found[4])
        mean = cycles / counted
        variance = max(0.0, float(found[3]) / windows - mean**2)
        error = math.sqrt(variance / windows) / mean
        met = {int(n): int(own) / int(many) for n, many, own in _FUNCTION.findall(done.stdout)}
        apart = tuple(met.get(number, 0.0) for number, _ in enumerate(trace.functions, 1))
        return Cycles(machine, trace, mean, error, int(found[5]), apart)


def words(path: Path) -> set[int]:
    """The instruction words of a file that record.c wrote."""
    found: set[int] = set()
    for block in _definitions(path.read_bytes()):
        found.update(block)
    return found


def _definitions(data: bytes) -> Iterator[tuple[int, ...]]:
    place = 0
    while place + 8 <= len(data):
        (record,) = struct.unpack_from("<Q", data, place)
        place += 8
        if record == _DEFINITION:
            (head,) = struct.unpack_from("<Q", data, place)
            count = head >> 32
            place += 16
            yield struct.unpack_from(f"<{count}I", data, place)
            place += 4 * count
        elif record != _WINDOW_BEGINS:
            place += 8 * (record >> 32)

"""What tests cost: the processor time of every test, by the program that took it.

The clock says how busy a machine is, processor time what a test needs.  A run with --cpu-times FILE
writes both that of the test itself and that of the programs that it started and waited for, theirs
included; this prints it::

    make test TIMES=times.json
    python -m tests.cpu_times times.json [--by group|file|test] [--most 40]
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import resource
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OWN = "Python"  # the test's own process
COMPILING, RUNNING, OTHER = "compilers", "emulators", "other"
COLUMNS = (OWN, COMPILING, RUNNING, OTHER)
_KINDS = (
    (re.compile(r"(.*-)?(gcc|cc|clang|g\+\+|clang\+\+|ld|as|objcopy)(-[\d.]+)?$"), COMPILING),
    (re.compile(r"qemu-.*"), RUNNING),
)
_NOTE = "cpu_times"  # of a test's report: seconds by program
_WRITTEN_EACH_S = 30.0


def _seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


class Meter:
    """Processor time since it was last read, by program."""

    def __init__(self) -> None:
        self._by_program: defaultdict[str, float] = defaultdict(float)
        self._own = self._children = 0.0

    @contextmanager
    def _watching(self, process: subprocess.Popen[Any]) -> Iterator[None]:
        """What ends in here is ``process``."""
        before = _seconds(resource.RUSAGE_CHILDREN)
        try:
            yield
        finally:
            words: Any = process.args  # a command line, or a list of words
            name = Path(str(words if isinstance(words, (str, bytes)) else words[0])).name
            self._by_program[name] += _seconds(resource.RUSAGE_CHILDREN) - before

    def read(self) -> dict[str, float]:
        """Seconds by program; OTHER are those of children that nobody watched."""
        own, children = _seconds(resource.RUSAGE_SELF), _seconds(resource.RUSAGE_CHILDREN)
        found = {OWN: own - self._own, **self._by_program}
        found[OTHER] = children - self._children - sum(self._by_program.values())
        self._by_program.clear()
        self._own, self._children = own, children
        return {name: round(seconds, 4) for name, seconds in found.items() if seconds > 5e-5}

    def install(self) -> None:
        """Watch every process that ``subprocess`` waits for, from now on."""
        processes: Any = subprocess.Popen
        for name in ("wait", "poll"):
            setattr(processes, name, self._watched(getattr(processes, name)))

    def _watched(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def watched(process: subprocess.Popen[Any], *args: Any, **options: Any) -> Any:
            with self._watching(process):
                return method(process, *args, **options)

        return watched


class Worker:
    """Notes on every report what was spent since the last one."""

    def __init__(self) -> None:
        self._meter = Meter()
        self._meter.install()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        setattr(report, _NOTE, self._meter.read())
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._collected = self._meter.read()

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", {})
        output[_NOTE] = self._collected


class Collector:
    """Gathers the notes of all workers and writes them to ``file``, now and then: a run that is cut
    off has what it got to."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tests: dict[str, Counter[str]] = {}
        self._written = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        spent = self._tests.setdefault(report.nodeid, Counter())
        spent.update(getattr(report, _NOTE, {}))
        if time.monotonic() > self._written + _WRITTEN_EACH_S:
            self._write()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        spent = getattr(node, "workeroutput", {}).get(_NOTE, {})
        self._tests[f"collection {node.gateway.id}"] = Counter(spent)

    def pytest_sessionfinish(self) -> None:
        self._write()

    def _write(self) -> None:
        part = self._file.with_name(f"{self._file.name}.part")
        part.write_text(json.dumps(self._tests, indent=1))
        part.replace(self._file)
        self._written = time.monotonic()


def register(config: pytest.Config) -> None:
    """Measure this run if it was asked for."""
    file = config.getoption("--cpu-times")
    if not file:
        return
    in_worker = hasattr(config, "workerinput")
    if in_worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Worker(), "cpu-times-worker")
    if not in_worker:
        config.pluginmanager.register(Collector(Path(file)), "cpu-times")


def _kind(program: str) -> str:
    if program == OWN:
        return OWN
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(program)), OTHER)


def _key(test: str, by: str) -> str:
    """The row that a test is counted in: "tests/unit/test_a.py::test_b" is of the group
    "tests/unit"."""
    file = test.partition("::")[0]
    return {"test": test, "file": file, "group": file.rpartition("/")[0] or "collection"}[by]


def table(tests: Mapping[str, Mapping[str, float]], by: str, most: int) -> Iterator[str]:
    """Rows of seconds, the largest first, and their sum."""
    rows: dict[str, dict[str, float]] = {"all": dict.fromkeys(COLUMNS, 0.0)}
    counts: Counter[str] = Counter()
    for test, spent in tests.items():
        for name in ("all", _key(test, by)):
            row = rows.setdefault(name, dict.fromkeys(COLUMNS, 0.0))
            counts[name] += 1
            for program, seconds in spent.items():
                row[_kind(program)] += seconds
    ordered = sorted(rows, key=lambda name: -sum(rows[name].values()))
    yield "| seconds | " + " | ".join(COLUMNS) + " | tests | |"
    yield "|" + "--:|" * (len(COLUMNS) + 2) + "---|"
    for name in ordered[: most + 1]:
        cells = [f"{seconds:.1f}" for seconds in (sum(rows[name].values()), *rows[name].values())]
        yield "| " + " | ".join([*cells, str(counts[name]), name]) + " |"


def main() -> int:
    """Print the table of a file that a run has written."""
    parser = argparse.ArgumentParser("python -m tests.cpu_times", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--by", choices=("group", "file", "test"), default="group")
    parser.add_argument("--most", type=int, default=40, help="rows")
    arguments = parser.parse_args()
    print(*table(json.loads(arguments.file.read_text()), arguments.by, arguments.most), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

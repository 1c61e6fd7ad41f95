"""The bound in cycles of every firmware that tests build, beside what QEMU executes of it.

    python -m pytest --bounded-images tests/models -k "an385 or an386 or an505 or microbit"

With this option, in one process (without -n), every firmware that a test builds to be run in an
emulator is executed twice more behind the test: on unknown data, as the bound is found, and in
QEMU, which counts how often every instruction of the network is executed.  A test errs where one is
executed more often than the bound counts it.  The summary has how many images are bounded, the
ratios of bounds to what is predicted of those that are compiled as what is shipped, and of images
that have no bound, or do not run to their end, the boards and the reasons.
"""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting.blocks import executions

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import compile as compiling
from edgeconv.run.build.code import Code
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.project import Project
from edgeconv.run.cycles.bound import machine_of, require_table
from edgeconv.run.cycles.execution import Machine
from edgeconv.run.input_arrays import random

_SHIPPED = compiling.BASE_FLAGS  # tests that ask only for results compile with others
NOT_THE_RUN = (
    *(
        "init",
        "init_apart",
        "check_weights",
        "check_header",
        "crc32",
        "u32",
        "image_at",
    ),  # before it
    *("reset", "strerror", "selftest", "check_ram", "random"),
)


def followed(project: Project) -> Machine:
    """The image that exchanges files with this machine, executed on unknown data.  Raises
    EdgeconvError where it has no bound."""
    table = require_table(project.board())
    binary = project.build(run_here=True)
    name = project.name
    header, main = ((project.directory / each).read_text() for each in (f"{name}.h", "main.c"))
    machine, (address, arguments, stack) = machine_of(binary, table, name, header, main, {})
    machine.call(address, arguments, stack)
    return machine


def counted(project: Project, folder: Path) -> Mapping[int, int]:
    """Instructions of the network's own functions that QEMU executes in one run of seeded inputs,
    by address; ``folder``: for QEMU's plugin."""
    rng = np.random.default_rng(0)
    inputs = [random(port.shape, port.dtype, rng).tobytes() for port in project.inputs]
    project.input_file.write_bytes(b"".join(inputs))
    binary, name = project.build(run_here=True), project.name
    code = Code(binary.path)
    own = {f.name for f in code.functions if f.source == f"{name}.c"} | {f"{name}_run"}
    own -= {f"{name}_{each}" for each in NOT_THE_RUN}
    return {
        at: count
        for at, count in executions(binary, folder, project.directory).items()
        if (function := code.containing(at)) and function.name in own
    }


def beyond(machine: Machine, found: Mapping[int, int]) -> list[str]:
    """Instructions that QEMU has executed more often than the bound counts."""
    most = machine.executions()
    return [
        f"{at:#x}: executed {count} times, bounded {most.get(at, 0)}"
        for at, count in sorted(found.items())
        if count > most.get(at, 0)
    ]


@dataclass(eq=False)
class BoundedImages:
    """A plugin of pytest.  ``made``: projects that the test at hand has built, by folder.
    ``bounded``: images of each board.  ``ratios``: of each board those of bounds to predictions.
    ``refused``: boards by the reason why there is no bound, and how many images."""

    made: dict[Path, Project] = field(default_factory=dict)
    bounded: Counter[str] = field(default_factory=Counter)
    ratios: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)

    def pytest_sessionstart(self) -> None:
        build = Project.build

        def built(project: Project, *args: Any, **how: Any) -> Binary:
            binary = build(project, *args, **how)
            if project.is_firmware and how.get("run_here"):
                self.made[project.directory] = project
            return binary

        self.patch.setattr(Project, "build", built)

    def pytest_sessionfinish(self) -> None:
        self.patch.undo()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """The test's folder is still there."""
        made, self.made = self.made, {}
        wrong: list[str] = []
        if made:
            factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
            folder = factory.mktemp("counting")
            for where, project in made.items():
                wrong += [f"{where}: {each}" for each in self._wrong(project, folder)]
        self.made.clear()
        yield
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)

    def _wrong(self, project: Project, folder: Path) -> Sequence[str]:
        """Instructions beyond the bound; ``folder``: for QEMU's plugin."""
        board, clock = project.board().name, project.board().clock_hz or 0
        if not project.directory.exists():
            self.refused["the test has removed its project"][board] += 1
            return ()
        try:
            machine = followed(project)
        except EdgeconvError as error:
            self.refused[f"{error.got}: {error.rule}".removeprefix(": ")][board] += 1
            return ()
        try:
            executed = counted(project, folder)
        except subprocess.CalledProcessError:  # as of an image that the test has damaged
            self.refused["its run ends with an error"][board] += 1
            return ()
        found = beyond(machine, executed)
        self.bounded[board] += 1
        predicted = (project.report["time"]["predicted_ms"] or 0.0) / 1e3 * clock
        if predicted and compiling.BASE_FLAGS == _SHIPPED:
            self.ratios[board].append(machine.total / predicted)
        return found

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("bounds in cycles")
        for board, count in sorted(self.bounded.items()):
            line = f"{board}: {count} images, no instruction beyond its bound"
            if ratios := self.ratios[board]:
                line += f"; bounds {min(ratios):.2f} to {max(ratios):.2f} of what is predicted"
            terminalreporter.line(line)
        for why, where in sorted(self.refused.items()):
            images = ", ".join(f"{count} of {board}" for board, count in sorted(where.items()))
            terminalreporter.line(f"no bound: {images}: {why}")

"""The bound in cycles of every firmware that tests build, beside what QEMU executes of it.

    python -m pytest --bounded-images images.jsonl tests/models -k "an385 or an386 or microbit"
    python -m tests.bounded_images images.jsonl

With this option every firmware that a test builds to be run in an emulator is executed twice more
behind the test: on unknown data, as the bound is found, and in QEMU, which counts how often every
instruction of the network is executed.  A test errs where one is executed more often than the bound
counts it.  A line of the file is what was found of an image; further runs add theirs, and so do the
workers of one run (-n).  The summary of a run, and of files, has how many images are bounded, the
ratios of bounds to what was executed, and to what is predicted of those that are compiled as what
is shipped, and of images that have no bound, or do not run to their end, the boards and the
reasons.  All of `make test`, which takes several times as long then::

    PYTEST_ADDOPTS="--bounded-images images.jsonl" make test
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import compile as compiling
from edgeconv.run.build.code import Code
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.project import Project
from edgeconv.run.cycles.bound import machine_of, require_table
from edgeconv.run.cycles.execution import Machine
from edgeconv.run.input_arrays import random

_SHIPPED = compiling.BASE_FLAGS  # tests that ask only for results compile with others
_OF_FLOATS = re.compile(r"__aeabi_(c?[fd]|i2[fd]|ui2[fd])\w+|__\w+[sd]f[23]?")
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
    *("at", "states_at"),  # of reset too, where nothing is inlined
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
    """Instructions of the network's own functions, and of those of the compiler's library for
    floats, that QEMU executes in one run of seeded inputs, by address; ``folder``: for QEMU's
    plugin."""
    from counting.blocks import executions  # noqa: PLC0415 - of bench/, where pytest looks for it

    rng = np.random.default_rng(0)
    inputs = [random(port.shape, port.dtype, rng).tobytes() for port in project.inputs]
    project.input_file.write_bytes(b"".join(inputs))
    binary, name = project.build(run_here=True), project.name
    code = Code(binary.path)
    own = {f.name for f in code.functions if f.source == f"{name}.c"} | {f"{name}_run"}
    own -= {f"{name}_{each}" for each in NOT_THE_RUN}
    own |= {f.name for f in code.functions if _OF_FLOATS.fullmatch(f.name)}  # main has none
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


@dataclass(frozen=True, slots=True)
class Image:
    """What was found of one image.

    ``refused``: why it has no bound, or was not run; "" of one that has.  ``cycles``: the bound;
    ``bounded``: instructions on its path; ``executed``: instructions by QEMU, of the network's own
    functions; ``predicted``: cycles, 0 where they are not known.  ``shipped``: compiled as what is
    shipped; tests that ask only for results compile with other flags.  ``beyond``: instructions
    that QEMU has executed more often than the bound counts them.
    """

    test: str
    board: str
    refused: str = ""
    cycles: int = 0
    bounded: int = 0
    executed: int = 0
    predicted: float = 0.0
    shipped: bool = False
    beyond: tuple[str, ...] = ()


def judged(project: Project, test: str, folder: Path) -> Image:
    """An image beside its bound; ``test``: that has built it; ``folder``: for QEMU's plugin."""
    board = project.board()
    refused = partial(Image, test, board.name)
    try:
        machine = followed(project)
    except EdgeconvError as error:
        return refused(f"{error.got}: {error.rule}".removeprefix(": "))
    try:
        executed = counted(project, folder)
    except subprocess.CalledProcessError:  # as of an image that the test has damaged
        return refused("its run ends with an error")
    predicted = (project.report["time"]["predicted_ms"] or 0.0) / 1e3 * (board.clock_hz or 0)
    shipped = compiling.BASE_FLAGS == _SHIPPED
    found = (machine.total, machine.executed, sum(executed.values()), predicted, shipped)
    return Image(test, board.name, "", *found, beyond=tuple(beyond(machine, executed)))


def summary(images: Iterable[Image]) -> Iterator[str]:
    """Lines on images: of each board those with a bound, by reasons those without."""
    by_board: dict[str, list[Image]] = defaultdict(list)
    refused: dict[str, Counter[str]] = defaultdict(Counter)
    for image in images:
        if image.refused:
            refused[image.refused][image.board] += 1
        else:
            by_board[image.board].append(image)
    for board, bounded in sorted(by_board.items()):
        wrong = sum(bool(image.beyond) for image in bounded)
        yield f"{board}: {len(bounded)} images, {wrong or 'none'} with instructions beyond it"
        counts = {i: i.cycles / i.executed for i in bounded if i.executed}
        yield from _range(counts, "of the instructions executed")
        shipped = {i: i.cycles / i.predicted for i in bounded if i.shipped and i.predicted}
        yield from _range(shipped, "of what is predicted, compiled as what is shipped")
    for why, where in sorted(refused.items()):
        images_of = ", ".join(f"{count} of {board}" for board, count in sorted(where.items()))
        yield f"no bound: {images_of}: {why}"


def _range(ratios: Mapping[Image, float], what: str) -> Iterator[str]:
    if ratios:
        least, most = min(ratios.values()), max(ratios, key=lambda image: ratios[image])
        yield f"  {len(ratios)}: {least:.2f} to {ratios[most]:.2f} {what} ({most.test})"


def add(file: Path, image: Image) -> None:
    """A line more, in one piece: several processes add theirs."""
    with file.open("ab", buffering=0) as lines:
        lines.write(f"{json.dumps(asdict(image))}\n".encode())


def images_of(file: Path, begin: int = 0) -> Iterator[Image]:
    """What the lines of a file say, from a byte on; nothing where there is none."""
    if file.exists():
        for row in map(json.loads, file.read_bytes()[begin:].splitlines()):
            yield Image(**{**row, "beyond": tuple(row["beyond"])})


def register(config: pytest.Config) -> None:
    """Judge what this run builds if it was asked for; workers add to the same file."""
    file: Path | None = config.getoption("--bounded-images")
    if file is None:
        return
    if not hasattr(config, "workerinput"):
        config.option.bounded_images = file = config.invocation_params.dir / file
        file.parent.mkdir(parents=True, exist_ok=True)
    begin = file.stat().st_size if file.exists() else 0
    config.pluginmanager.register(BoundedImages(file, begin), "bounded-images")


@dataclass(eq=False)
class BoundedImages:
    """A plugin of pytest.  ``file``: gets a line of each image, from its byte ``begin`` on.
    ``made``: what was found of the projects that the test at hand has built, by folder."""

    file: Path
    begin: int
    made: dict[Path, Image | None] = field(default_factory=dict)
    patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)

    def pytest_sessionstart(self) -> None:
        build = Project.build

        def built(project: Project, *args: Any, **how: Any) -> Binary:
            binary = build(project, *args, **how)
            where = project.directory
            if project.is_firmware and how.get("run_here") and where not in self.made:
                self.made[where] = None  # it is built again now
                self.made[where] = self._judged(project)
            return binary

        self.patch.setattr(Project, "build", built)

    def pytest_sessionfinish(self) -> None:
        self.patch.undo()

    def _judged(self, project: Project) -> Image:
        """An image as soon as it is built: tests damage it, or remove it.  What it reads stays."""
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        inputs = project.input_file.read_bytes() if project.input_file.exists() else None
        with tempfile.TemporaryDirectory() as folder:
            image = judged(project, test, Path(folder))
        if inputs is None:
            project.input_file.unlink(missing_ok=True)
        else:
            project.input_file.write_bytes(inputs)
        add(self.file, image)
        return image

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None]:
        made, self.made = self.made, {}
        yield
        wrong = [f"{at}: {each}" for at, image in made.items() if image for each in image.beyond]
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("bounds in cycles")
        for line in summary(images_of(self.file, self.begin)):
            terminalreporter.line(line)


def main() -> int:
    """Print the summary of files that runs have written."""
    parser = argparse.ArgumentParser("python -m tests.bounded_images", description=main.__doc__)
    parser.add_argument("file", type=Path, nargs="+")
    files: list[Path] = parser.parse_args().file
    for each in files:
        if not each.is_file():
            parser.error(f"no file {each}")
    print(*summary(image for each in files for image in images_of(each)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fixtures of all tests; nothing is read from or left in the user's cache."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.run.build import compile as compiling
from edgeconv.target import board as boards
from edgeconv.target.board import own_rates
from tests import compilers, cpu_times, onnx_models, onnx_node_cases
from tests.command import BOARD, Command
from tests.kernels import builds, once
from tests.onnx_suite import programs
from tests.shared_objects import SharedObjects

# How long an example takes depends on what else the machine does; what may hang has limits of its
# own.  Of a profile that is loaded already (Hypothesis knows CI) the rest stays.
settings.register_profile("unhurried", deadline=None)
# Of examples that are the same in every run half as many do; `make test-all` draws new ones.
settings.register_profile("the same", deadline=None, max_examples=50)
OBJECTS_COLLECTED = 20_000  # by the garbage collector at a time
SHOWN_CHARACTERS = 4000  # the end of a traceback; the summary has all of it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden",
        action="store_true",
        help="write the expected output under tests/golden anew",
    )
    parser.addoption(
        "--cpu-times",
        metavar="FILE",
        help="write the processor time of every test (python -m tests.cpu_times FILE prints it)",
    )
    parser.addoption(
        "--bounded-images",
        metavar="FILE",
        type=Path,
        help="hold the bound in cycles of all firmware that tests build to what QEMU executes, and"
        " note that in FILE (python -m tests.bounded_images FILE prints it)",
    )


def pytest_report_header() -> list[str]:
    return [compilers.describe(), *builds.describe()]


class ShownAtOnce:
    """Writes every failure when it occurs: a run that is cut off has no summary."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.write_line("")
            self._terminal.write_sep("_", f"{report.nodeid}, {report.when}", red=True)
            self._terminal.write_line(report.longreprtext[-SHOWN_CHARACTERS:])


@pytest.hookimpl(trylast=True)  # the terminal's own comes before
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ShownAtOnce(terminal), "shown-at-once")
    fixed = config.getoption("--hypothesis-seed", None) is not None
    settings.load_profile("the same" if fixed else "unhurried")
    cpu_times.register(config)
    if config.getoption("--bounded-images"):
        from tests import bounded_images  # noqa: PLC0415 - needs an emulator's plugin

        bounded_images.register(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and thousands of tests stay: the garbage collector need not look at them again and
    again, nor for every 700 new objects."""
    gc.disable()
    gc.set_threshold(OBJECTS_COLLECTED)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        host = boards.load("host")  # or whoever compiles for it first would measure it
        key = own_rates.processor(host.cpu, host.isa, host.caches)
        own_rates.keep(key, own_rates.OwnRates(1.0, 1.0))
        yield


@pytest.fixture(autouse=True, scope="session")
def shared_objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What several tests compile or compute is made once, by whichever worker comes first."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    store = base / "objects"
    store.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "_call", SharedObjects(compiling._call, store))
        patch.setattr(once, "STORE", base / "kernels")
        patch.setattr(programs, "STORE", store)
        patch.setenv(onnx_node_cases.STORE, str(store))
        yield


@pytest.fixture(scope="module")
def compiled_lightly() -> Iterator[None]:
    """See `compilers.lightly`; of about the size of what is shipped."""
    with compilers.lightly():
        yield


@pytest.fixture(scope="module")
def unoptimised() -> Iterator[None]:
    """See `compilers.lightly`; for tests that ask nothing about sizes."""
    with compilers.lightly("-O0"):
        yield


@pytest.fixture
def edgeconv(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line."""
    return Command(capsys)


@pytest.fixture(scope="session")
def _built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    model = onnx_models.save(onnx_models.residual(), folder / "net.onnx")
    project, _ = compile_model(CompileOptions(model, BOARD), folder / "net")
    shipped = "-O3" in compiling.BASE_FLAGS  # else the module that asks first is `compiled_lightly`
    with compilers.lightly() if shipped else nullcontext():
        project.build()
        project.build(trace=True)
    return project.directory


@pytest.fixture
def built_project(_built_once: Path, tmp_path: Path) -> Path:
    """A copy of the project of ``onnx_models.residual``, its programs built already, as modules do
    that are `compiled_lightly`."""
    return shutil.copytree(_built_once, tmp_path / "project")


@pytest.fixture
def residual_model(tmp_path: Path) -> Path:
    """``onnx_models.residual`` as the file ``net.onnx`` in the test's folder."""
    return onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")

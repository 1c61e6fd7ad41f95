"""What tests say of a mutant, in a copy of the project."""

from __future__ import annotations

import compileall
import importlib
import os
import py_compile
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import Phase, settings

from tests import ROOT
from tests.mutants.mutant import Mutant
from tests.mutants.subjects import GEOMETRY_ISAS, Subject

GEOMETRIES = "20"  # of each ISA
PROFILE = "first failure"
PYTEST = (
    *("-x", "-q", "-p", "no:cacheprovider"),
    *("--hypothesis-seed=0", f"--hypothesis-profile={PROFILE}"),
)
OURS = ("edgeconv", "tests")
# What tests import and others wrote; nothing that starts threads.
OTHERS = (
    *(
        "capstone",
        "click",
        "elftools.elf.elffile",
        "jinja2",
        "jsonschema",
        "onnx",
        "onnx.reference",
    ),
    *("onnx.reference", "rich.progress", "scipy.optimize", "xdist"),
)
LEFT_OUT = (".git", ".venv", "*_cache", "__pycache__", "*.egg-info", ".hypothesis")
MOST_MEMORY = 8 << 30  # bytes of address space
HANGS = 4.0  # times as long as without a mistake


def _swept(kind: str) -> int:
    """The exit status of random geometries."""
    sweep = importlib.import_module("tests.geometry.__main__")
    for isa in GEOMETRY_ISAS:
        sys.argv = ["", isa, kind, "--count", GEOMETRIES]
        if sweep.main():
            return 1
    return 0


class Trial:
    """A copy of the project, in which mutants are tried by forks of this process: what takes most
    of a test's time is to import what others wrote."""

    def __init__(self, folder: Path) -> None:
        for name in OTHERS:
            importlib.import_module(name)
        phases = (Phase.explicit, Phase.generate)  # no smaller example is looked for
        settings.register_profile(PROFILE, deadline=None, database=None, phases=phases)
        self.root = folder / "project"
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        # Valid by content: a mutant may be as long as its line, and follow within its second.
        by_content = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.root, quiet=2, invalidation_mode=by_content)
        self.seconds: dict[tuple[str, ...], float] = {}

    def _run(self, subject: Subject, limit: float | None) -> tuple[int, str]:
        log = self.root.parent / "log"
        child = os.fork()
        if not child:
            self._become_pytest(subject, log)
        end = None if limit is None else time.monotonic() + limit
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if end is not None and time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise TimeoutError
            time.sleep(0.01)
        return ended[1], log.read_text(errors="replace")

    def _become_pytest(self, subject: Subject, log: Path) -> NoReturn:
        """The tests of the copy, in a session of their own; all they write goes to ``log``."""
        status = 1
        try:
            os.setsid()
            for stream in (1, 2):
                os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            os.chdir(self.root)
            os.environ |= {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
            sys.dont_write_bytecode = True
            sys.path.insert(0, str(self.root))
            for name in [name for name in sys.modules if name.split(".")[0] in OURS]:
                del sys.modules[name]
            if subject.source.endswith(".py"):  # the sanitizers of C reserve terabytes
                resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
            status = _swept(subject.geometries) if subject.geometries else 0
            status = status or int(pytest.main([*PYTEST, *subject.tests]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def check(self, subject: Subject) -> None:
        """Without a mistake the tests must pass."""
        if subject.tests not in self.seconds:
            start = time.monotonic()
            status, output = self._run(subject, None)
            if status:
                sys.exit(f"{subject.source}: its tests fail without a mutant\n{output[-3000:]}")
            self.seconds[subject.tests] = time.monotonic() - start

    def outcome(self, mutant: Mutant) -> str:
        self.check(mutant.subject)
        path = self.root / mutant.subject.source
        before = path.read_text()
        path.write_text(mutant.applied())
        try:
            limit = 20 + HANGS * self.seconds[mutant.subject.tests]
            status, output = self._run(mutant.subject, limit)
        except TimeoutError:
            return "killed"
        finally:
            path.write_text(before)
        if not status:
            return "survived"
        refused = re.search(r"\.[ch]:\d+:\d+: (fatal )?error: ", output)
        return "invalid" if refused else "killed"

"""Mistakes of one line, and whether the tests that are meant to see them do.

    python -m tests.mutants [--count 60] [--seconds 600] [--seed N] [--only PART] [--least 0.9]

Mutants are those of universalmutator, drawn at random from the files of ``subjects``; each is tried
in a copy of the project.  One that does not compile counts for nothing, and so does one that is
known to mean the same (``equivalent.txt``: file, tab, the changed line).  Survivors are printed
with their line, and make the run fail where fewer than ``least`` of all are noticed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from universalmutator.mutator import mutants_regexp

from tests.mutants.subjects import SUBJECTS, Subject

ROOT = Path(__file__).resolve().parents[2]
RULES = {
    ".py": ["universal.rules", "python.rules"],
    ".h": ["universal.rules", "c_like.rules", "c.rules"],
}
LEFT_OUT = (".git", ".venv", "*_cache", "__pycache__", "*.egg-info", ".hypothesis")
HANGS = 10.0  # times as long as without a mistake


@dataclass(frozen=True, slots=True)
class Mutant:
    subject: Subject
    line: int
    text: str  # the whole line, changed

    def __str__(self) -> str:
        was = (ROOT / self.subject.source).read_text().splitlines()[self.line - 1]
        return f"{self.subject.source}:{self.line}\n  - {was.strip()}\n  + {self.text.strip()}"

    def applied(self) -> str:
        lines = (ROOT / self.subject.source).read_text().splitlines(keepends=True)
        lines[self.line - 1] = self.text
        return "".join(lines)


class _Meaning(ast.NodeTransformer):
    """Leaves out what no run depends on: docstrings and annotations."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _meaning(source: str) -> str:
    return ast.dump(_Meaning().visit(ast.parse(source)))


def _says_something(mutant: Mutant) -> bool:
    """It may compile, and is no comment, docstring or annotation."""
    if not mutant.subject.source.endswith(".py"):
        return True
    try:
        return _meaning(mutant.applied()) != _meaning((ROOT / mutant.subject.source).read_text())
    except SyntaxError:
        return False


def mutants(subject: Subject) -> list[Mutant]:
    """All of a file."""
    path = ROOT / subject.source
    lines = path.read_text().splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        found = mutants_regexp(lines, RULES[path.suffix], ignorePatterns=[], ignoreStringOnly=True)
    return [Mutant(subject, line, text) for line, text, *_ in found]


def drawn(only: str, seed: int) -> Iterator[Mutant]:
    """In random order, from every file as often."""
    chance = random.Random(seed)
    chosen = [subject for subject in SUBJECTS if only in subject.source]
    if not chosen:
        sys.exit(f"no file of tests/mutants/subjects.py has {only!r} in its name")
    left = {subject: mutants(subject) for subject in chosen}
    while left:
        subject = chance.choice(list(left))
        if not left[subject]:
            del left[subject]
            continue
        mutant = left[subject].pop(chance.randrange(len(left[subject])))
        if _says_something(mutant):
            yield mutant


class Trial:
    """A copy of the project, in which mutants are tried."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        self.seconds: dict[Subject, float] = {}

    def _run(self, subject: Subject, limit: float | None) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += ["--hypothesis-seed=0", *subject.tests]
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            *(command,), cwd=self.root, env=environment, timeout=limit, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return done.returncode, done.stdout

    def check(self, subject: Subject) -> None:
        """Without a mistake the tests must pass."""
        if subject not in self.seconds:
            start = time.monotonic()
            status, output = self._run(subject, None)
            if status:
                sys.exit(f"{subject.source}: its tests fail without a mutant\n{output[-3000:]}")
            self.seconds[subject] = time.monotonic() - start

    def outcome(self, mutant: Mutant) -> str:
        self.check(mutant.subject)
        path = self.root / mutant.subject.source
        before = path.read_text()
        path.write_text(mutant.applied())
        try:
            status, output = self._run(mutant.subject, 30 + HANGS * self.seconds[mutant.subject])
        except subprocess.TimeoutExpired:
            return "killed"
        finally:
            path.write_text(before)
        if not status:
            return "survived"
        refused = path.suffix == ".h" and "error: " in output and "RuntimeError" in output
        return "invalid" if refused else "killed"


def equivalent() -> set[tuple[str, str]]:
    text = (Path(__file__).parent / "equivalent.txt").read_text()
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {(source, changed.strip()) for source, changed in rows}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--only", default="", metavar="PART", help="files with this in their path")
    parser.add_argument("--least", type=float, default=0.0)
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    counts: Counter[str] = Counter()
    known, end = equivalent(), time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder))
        for mutant in drawn(given.only, given.seed):
            if counts["killed"] + counts["survived"] >= given.count or time.monotonic() > end:
                break
            same = (mutant.subject.source, mutant.text.strip()) in known
            outcome = "equivalent" if same else trial.outcome(mutant)
            counts[outcome] += 1
            if outcome == "survived":
                print(f"survived: {mutant}", flush=True)
    tried = counts["killed"] + counts["survived"]
    rate = counts["killed"] / max(tried, 1)
    print(", ".join(f"{counts[name]} {name}" for name in sorted(counts)), f"{rate:.1%} killed")
    return int(rate < given.least or not tried)


if __name__ == "__main__":
    sys.exit(main())

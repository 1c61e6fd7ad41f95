"""Mistakes of one line: those of universalmutator that change what is run, in random order."""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType

from universalmutator.mutator import mutants_regexp

from tests import ROOT
from tests.mutants.subjects import Subject

RULES = {
    ".py": ["universal.rules", "python.rules"],
    ".h": ["universal.rules", "c_like.rules", "c.rules"],
}


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

    def visit_Module(self, node: ast.Module) -> ast.AST:
        node.body = node.body[ast.get_docstring(node) is not None :]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return ast.Pass() if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _compiled(source: str) -> CodeType:
    tree = _Meaning().visit(ast.parse(source))
    for node in ast.walk(tree):  # all on one line: Python keeps what marks another
        if hasattr(node, "lineno"):
            vars(node).update(lineno=1, end_lineno=1, col_offset=0, end_col_offset=0)
    ast.fix_missing_locations(tree)
    with warnings.catch_warnings(action="ignore"):  # "object is not callable" and the like
        return compile(tree, "", "exec", dont_inherit=True)


def _instructions(code: CodeType) -> object:
    """Nothing for a ``pass``, nor for a ``continue`` that ends a loop."""
    constants = [
        _instructions(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts
    ]
    return code.co_name, code.co_code, code.co_names, code.co_varnames, constants


def _names(code: CodeType) -> set[str]:
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


def _says_something(mutant: Mutant) -> bool:
    """It may compile, does not mean the same, and names nothing that the file does not."""
    if not mutant.subject.source.endswith(".py"):
        return True
    before = _compiled((ROOT / mutant.subject.source).read_text())
    try:
        after = _compiled(mutant.applied())
    except SyntaxError:
        return False
    known = _names(before) | set(dir(builtins))
    return _names(after) <= known and _instructions(after) != _instructions(before)


def mutants(subject: Subject) -> list[Mutant]:
    """All of a file."""
    path = ROOT / subject.source
    lines = path.read_text().splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        found = mutants_regexp(lines, RULES[path.suffix], ignorePatterns=[], ignoreStringOnly=True)
    return [Mutant(subject, line, text) for line, text, *_ in found]


def drawn(subjects: Sequence[Subject], seed: int) -> Iterator[Mutant]:
    """In random order, from every file as often."""
    chance = random.Random(seed)
    left = {subject: mutants(subject) for subject in subjects}
    while left:
        subject = chance.choice(list(left))
        if not left[subject]:
            del left[subject]
            continue
        mutant = left[subject].pop(chance.randrange(len(left[subject])))
        if _says_something(mutant):
            yield mutant

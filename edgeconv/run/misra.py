"""The rules of MISRA C:2012 that an emitted project breaks, as cppcheck's addon sees them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgeconv.base.errors import EdgeconvError, Exit

# One configuration, as GCC and its cores with DSP instructions have it; without these cppcheck
# tries twelve combinations of macros, most of which no compiler has.
_MACROS = ("-D__GNUC__=12", "-D__ARM_FEATURE_DSP=1", "-D__arm__=1")
_TEST_PROGRAMS = ("main.c", "app.c")  # beside the product
_WEIGHTS = re.compile(r".*_weights\.c")  # numbers alone
_FOUND = re.compile(r"^misra-c2012-([0-9.]+)\|([^|]*)\|([0-9]+)$", re.MULTILINE)
_UNREAD = re.compile(r"preprocessorErrorDirective|syntaxError|internalError")
_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Finding:
    """A place in the sources of a project, a line of a file, that breaks a rule."""

    rule: str
    file: str
    line: int


def checker() -> str:
    """cppcheck and its version.  Raises EdgeconvError (exit status 3) where it is not installed."""
    if shutil.which("cppcheck") is None:
        raise EdgeconvError(
            "cannot check the rules of MISRA C",
            got="no cppcheck",
            hint="apt-get install cppcheck",
            code=Exit.MISSING_TOOL,
        )
    command = ["cppcheck", "--version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def broken_rules(project: Path) -> Sequence[Finding]:
    """Where the sources in the folder ``project``, but for its test program, break which rule, in
    the order of rules, files and lines.

    Raises EdgeconvError where cppcheck is not installed (exit status 3), fails or cannot read one.
    """
    version = checker()
    names = sorted(path.name for path in project.glob("*.c"))
    sources = [
        name for name in names if name not in _TEST_PROGRAMS and not _WEIGHTS.fullmatch(name)
    ]
    command = ["cppcheck", "--quiet", "--addon=misra", "--std=c11", "--platform=arm32-wchar_t4"]
    template = "--template={id}|{file}|{line}"
    try:
        done = subprocess.run(
            [*command, *_MACROS, template, *sources],
            cwd=project,
            check=True,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise EdgeconvError("cppcheck failed", where=str(project), got=str(error)) from None
    if unread := _UNREAD.search(done.stderr):
        raise EdgeconvError(
            "cppcheck cannot read it", where=str(project), got=unread[0], rule=version
        )
    found = {Finding(rule, file, int(line)) for rule, file, line in _FOUND.findall(done.stderr)}
    return sorted(found, key=lambda each: (*_number(each.rule), each.file, each.line))


def _number(rule: str) -> tuple[int, int]:
    first, _, second = rule.partition(".")
    return int(first), int(second or 0)

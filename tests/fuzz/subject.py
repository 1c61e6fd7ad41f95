"""What a kind of file offers the fuzzer."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from edgeconv.base.registry import scan
from tests.fuzz import subjects


@dataclass(frozen=True, slots=True)
class Subject:
    """One kind of file.

    ``make(random, folder)`` writes a damaged file, with whatever it refers to, into an empty folder
    and returns its path; all chance comes from ``random``.  ``read(path)`` reads it as the tool
    does and returns a word for what came of it, or a check of that by another engine, which returns
    the word and may crash on its own account.  Both raise EdgeconvError to refuse the file, and
    AssertionError where the result is wrong.  Any other exception is a defect.
    """

    name: str
    make: Callable[[random.Random, Path], Path]
    read: Callable[[Path], str | Callable[[], str]]
    seconds: float = 20.0  # one case may take
    megabytes: int = 1500  # one case may take, beside the interpreter and its libraries


@cache
def all_subjects() -> dict[str, Subject]:
    """Name -> subject."""
    return scan(sys.modules[subjects.__name__], "SUBJECT", Subject)

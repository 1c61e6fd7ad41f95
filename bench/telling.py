"""How the programs here end where edgeconv refuses what they ask of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from edgeconv.base.errors import EdgeconvError


@contextmanager
def errors_told() -> Iterator[None]:
    """An EdgeconvError inside is told on stderr and ends the program with its exit status."""
    try:
        yield
    except EdgeconvError as error:
        print("\n".join([error.one_line(), *error.details]), file=sys.stderr)
        sys.exit(error.code)

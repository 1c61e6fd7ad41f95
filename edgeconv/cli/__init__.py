"""The command line: arguments -> pipeline -> printed result; no logic."""

from __future__ import annotations

from edgeconv.cli.entry import main
from edgeconv.cli.program import program

__all__ = ["main", "program"]

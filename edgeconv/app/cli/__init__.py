"""The command line: arguments -> pipeline -> printed result; no logic."""

from __future__ import annotations

from edgeconv.app.cli.entry import main
from edgeconv.app.cli.program import program

__all__ = ["main", "program"]

"""The command line: arguments -> pipeline -> printed result; no logic."""

from __future__ import annotations

from edgeconv.cli.entry import main, program

__all__ = ["main", "program"]

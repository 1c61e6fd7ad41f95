"""Where a path leads."""

from __future__ import annotations

import os
from pathlib import Path


def real_path(path: Path) -> Path:
    """``path``, absolute and without symbolic links.

    Of links that lead to one another for ever some stay, so that whoever opens it has the system's
    own error; Path.resolve raises RuntimeError there, up to Python 3.12.
    """
    return Path(os.path.realpath(path))

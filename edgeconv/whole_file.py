"""Write a file so that nobody ever sees half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def replace(path: Path, text: str) -> None:
    """Put ``text`` where ``path`` is, all of it or nothing; a file that is there keeps its mode.

    Raises OSError.
    """
    mode = path.stat().st_mode if path.exists() else 0o666 & ~umask()
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8"
    ) as stream:
        staged = Path(stream.name)
        try:
            stream.write(text)
        except OSError:
            staged.unlink(missing_ok=True)
            raise
    try:
        staged.chmod(mode)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)

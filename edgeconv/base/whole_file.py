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


def replace(path: Path, text: str | bytes) -> None:
    """Put ``text`` (as UTF-8) or bytes where ``path`` is, all of it or nothing.

    A file that is there keeps its mode.  Raises OSError.
    """
    mode = path.stat().st_mode if path.exists() else 0o666 & ~umask()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    staged = Path(name)
    try:
        # A full disk may be noticed only when the file is closed.
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode("utf-8") if isinstance(text, str) else text)
        staged.chmod(mode)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)

"""Write a file so that nobody ever sees half of it, and nobody loses one of their own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from edgeconv.base.errors import UsageError


def umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def replace(path: Path, text: str | bytes, mode: int | None = None) -> None:
    """Put ``text`` (as UTF-8) or bytes where ``path`` is, all of it or nothing.

    A file that is there keeps its mode, unless there is a ``mode`` to give it.  Raises OSError.
    """
    if mode is None:
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


def require_replaceable(path: Path, is_ours: Callable[[Path], bool]) -> None:
    """Raise EdgeconvError (exit status 2) where a file is there, or a link, that edgeconv has not
    written; ``is_ours``: whether it has."""
    if path.is_symlink() or (path.exists() and not is_ours(path)):
        raise not_ours(path)


def not_ours(path: Path, rule: str = "it was not written by edgeconv") -> UsageError:
    """The error about a file that stays as it is."""
    return UsageError(
        "will not replace", where=str(path), rule=rule, hint="move it away, or give another place"
    )

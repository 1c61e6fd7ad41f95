"""What is wrong with the path of a model, in words; without what reads models, so that the answer
does not wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgeconv.base import regular_file
from edgeconv.base.errors import UsageError


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raises UsageError for OSErrors within that mean that ``path`` cannot be read."""
    try:
        yield
    except IsADirectoryError:
        raise _unreadable(path, "a directory", "give the .onnx file in it") from None
    except FileNotFoundError:
        raise _unreadable(path, "no such file", "") from None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error), "") from None


def require(path: Path) -> Path:
    """``path``; raises UsageError where nothing can be read from it."""
    with readable(path):
        regular_file.opened(path).close()
    return path


def _unreadable(path: Path, got: str, hint: str) -> UsageError:
    return UsageError("cannot read the model", where=str(path), got=got, hint=hint)

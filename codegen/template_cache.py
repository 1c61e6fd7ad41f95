"""Templates as Python compiled them, kept in the user's cache: that takes a second each time else.

A file is one template of one version of Jinja2 and Python.  What cannot be read, is damaged, is of
another text or may be written by others than the user counts for nothing.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from edgeconv import __version__
from edgeconv.base import regular_file, user_cache, whole_file

_DIGEST = hashlib.sha256().digest_size
_MOST_BYTES = 1 << 22
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MODE = stat.S_IRUSR | stat.S_IWUSR


class TemplateCache(jinja2.BytecodeCache):
    """Kept from one command to the next."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill ``bucket`` if its template is kept."""
        with suppress(OSError, RuntimeError, AttributeError, EOFError, ValueError, TypeError):
            with regular_file.opened(_path(bucket)) as file:
                found = os.fstat(file.fileno())
                content = file.read(_MOST_BYTES)
            own = found.st_uid == os.getuid() and not found.st_mode & _OTHERS_WRITE
            digest, code = content[:_DIGEST], content[_DIGEST:]
            if own and hashlib.sha256(code).digest() == digest:
                bucket.load_bytecode(io.BytesIO(code))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what is in ``bucket``."""
        with suppress(OSError, RuntimeError, AttributeError):
            os.getuid()  # or nobody could say later whose file it is
            where, code = _path(bucket), bucket.bytecode_to_string()
            where.parent.mkdir(parents=True, exist_ok=True)
            # Of many users the group may write new files, and such a file counts for nothing.
            whole_file.replace(where, hashlib.sha256(code).digest() + code, mode=_MODE)


def _path(bucket: Bucket) -> Path:
    """Where a template is kept: by its name, and by what reads it, whose options are our own."""
    version = f"{__version__}-{jinja2.__version__}-{sys.implementation.cache_tag}"
    return user_cache.folder() / "templates" / f"{bucket.key}-{version}"

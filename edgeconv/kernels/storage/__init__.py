"""Storage formats: what bytes lie in memory, as opposed to what registers compute with."""

from __future__ import annotations

import sys
from functools import cache

from edgeconv.base.registry import lookup, scan
from edgeconv.ir.encoding import Encoding, scaled_encoding
from edgeconv.kernels.storage.base import StorageFormat
from edgeconv.kernels.storage.scaled import scaled_format


@cache
def formats() -> dict[str, StorageFormat]:
    """Storage format name -> StorageFormat, of those that options name."""
    return scan(sys.modules[__name__], "FORMAT", StorageFormat)


def format_of(encoding: Encoding) -> StorageFormat:
    """What encodes and decodes elements of ``encoding``."""
    return scaled_format(encoding) if encoding.scale else formats()[str(encoding)]


def format_called(text: str) -> StorageFormat:
    """The format of an encoding as report.json spells it; EdgeconvError where there is none."""
    encoding = scaled_encoding(text)
    return scaled_format(encoding) if encoding else lookup("storage format", text, formats())

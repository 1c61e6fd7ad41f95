"""Options of custom operators: a map of numbers in FlexBuffers' form.

https://flatbuffers.dev/internals/#flexbuffers: values lie in front of what refers to them, and the
last two bytes are the type of the root and its width.
"""

from __future__ import annotations

import struct

from edgeconv.model.tflite.flatbuffer import DamagedError

_INT, _UINT, _FLOAT = 1, 2, 3
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_MAP, _BOOL = 9, 26
_CODES = {
    **{(_INT, width): code for width, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))},
    **{(_UINT, width): code for width, code in ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))},
    **{(_FLOAT, width): code for width, code in ((2, "e"), (4, "f"), (8, "d"))},
}
_MOST = 256  # entries of a map


def numbers(content: bytes) -> dict[str, float]:
    """The numbers and truths of the map that ``content`` is, by key.  Raises DamagedError for what
    is none, or refers to bytes beyond its own."""
    try:
        return dict(_entries(content))
    except (struct.error, IndexError, KeyError, UnicodeDecodeError):
        raise DamagedError("options that are no map of numbers") from None


def _entries(content: bytes) -> list[tuple[str, float]]:
    if len(content) < 3 or content[-2] >> 2 != _MAP:
        raise KeyError
    at = _behind(content, len(content) - 2 - content[-1], content[-1])
    width = 1 << (content[-2] & 3)
    size = int(_number(content, at - width, _UINT, width))
    if size > _MOST:
        raise KeyError
    keys = _behind(content, at - 3 * width, width)
    key_width = int(_number(content, at - 2 * width, _UINT, width))
    found = []
    for index in range(size):
        key = _behind(content, keys + index * key_width, key_width)
        name = content[key : content.index(b"\0", key)].decode() if b"\0" in content[key:] else ""
        packed = content[at + size * width + index]
        kind, place, own = packed >> 2, at + index * width, width
        if kind in _INDIRECT:
            kind, place, own = _INDIRECT[kind], _behind(content, place, width), 1 << (packed & 3)
        if kind in (_INT, _UINT, _FLOAT, _BOOL):
            found.append((name, _number(content, place, _UINT if kind == _BOOL else kind, own)))
    return found


def _number(content: bytes, at: int, kind: int, width: int) -> float:
    if at < 0:
        raise IndexError
    found: float = struct.unpack_from("<" + _CODES[kind, width], content, at)[0]
    return found


def _behind(content: bytes, at: int, width: int) -> int:
    """The place that an offset at ``at`` refers to, which lies in front of it."""
    found = at - int(_number(content, at, _UINT, width))
    if found < 0:
        raise IndexError
    return found

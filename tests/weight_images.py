"""Weight images that are not those that were compiled."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.codegen.weights import HEADER, Header, crc_of


def with_flipped(image: bytes, at: int, mask: int = 1, *, sealed: bool = False) -> bytes:
    """``image`` with the bits ``mask`` of its byte ``at`` inverted.

    ``sealed``: its CRC follows, as if it had been made so.
    """
    changed = bytearray(image)
    changed[at] ^= mask
    if sealed:
        header = Header.of(bytes(changed[: HEADER.size]))
        changed[: HEADER.size] = replace(header, crc=crc_of(bytes(changed))).pack()
    return bytes(changed)

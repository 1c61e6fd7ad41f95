"""The .uf2 file of a flash image, which boot loaders that show themselves as a USB drive take.

The format is Microsoft's (github.com/microsoft/uf2, README): blocks of 512 bytes, each of which
says where its bytes go and for which family of chips it is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

PAGE_BYTES = 256  # of a block, as the boot ROM of an RP2040 takes them
_MAGIC_0, _MAGIC_1, _MAGIC_END = 0x0A324655, 0x9E5D5157, 0x0AB16F30
_FAMILY_PRESENT = 0x2000
_HEADER = "<8I"
_DATA_BYTES = 476


def uf2_of(parts: Iterable[tuple[int, bytes]], family: int) -> bytes:
    """A file that writes every part, an address that is a multiple of PAGE_BYTES and bytes, to
    chips of a family; the last page of a part is filled with what erased flash holds."""
    pages = [
        (address + at, data[at : at + PAGE_BYTES].ljust(PAGE_BYTES, b"\xff"))
        for address, data in parts
        for at in range(0, len(data), PAGE_BYTES)
    ]
    return b"".join(
        struct.pack(
            _HEADER,
            *(_MAGIC_0, _MAGIC_1, _FAMILY_PRESENT, address),
            *(PAGE_BYTES, number, len(pages), family),
        )
        + page.ljust(_DATA_BYTES, b"\0")
        + struct.pack("<I", _MAGIC_END)
        for number, (address, page) in enumerate(pages)
    )

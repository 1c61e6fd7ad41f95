"""UF2 files, taken apart as the format's description has it."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from edgeconv.run.build.uf2 import PAGE_BYTES, uf2_of

FAMILY = 0xE48BFF56
PARTS = st.lists(
    st.tuples(st.integers(0, 9), st.binary(min_size=1, max_size=700)), min_size=1, max_size=3
)


@given(PARTS)
def test_every_byte_is_where_it_goes(drawn: list[tuple[int, bytes]]) -> None:
    parts = [(0x1000_0000 + n * 0x10000 + at * PAGE_BYTES, d) for n, (at, d) in enumerate(drawn)]
    file = uf2_of(parts, FAMILY)
    assert len(file) % 512 == 0
    count, flash = len(file) // 512, {}
    for number in range(count):
        block = file[number * 512 : number * 512 + 512]
        first, second, flags, address, size, own, of, family = struct.unpack_from("<8I", block)
        (end,) = struct.unpack_from("<I", block, 508)
        assert (first, second, end) == (0x0A324655, 0x9E5D5157, 0x0AB16F30)
        assert (flags, size, own, of, family) == (0x2000, 256, number, count, FAMILY)
        assert address % PAGE_BYTES == 0
        flash.update(dict(enumerate(block[32 : 32 + size], start=address)))
    for address, data in parts:
        assert bytes(flash[address + at] for at in range(len(data))) == data
        last = address + -(-len(data) // PAGE_BYTES) * PAGE_BYTES
        assert all(flash[at] == 0xFF for at in range(address + len(data), last)), "as erased"

"""The weight image: one contiguous, aligned, versioned file, read in place.

A 64-byte header (see ``HEADER``), then every blob at a multiple of ``ALIGN`` bytes, zero between.
All numbers are little-endian.  ``layout_hash`` covers what each layer does, where its blobs lie
and how they are packed, not their values: an image trained anew for the same plan fits the same
program.  Its CRC covers every byte but itself.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.mapped_file import maps_behind, release_pages
from edgeconv.codegen.equal_constants import encoded_pieces, originals
from edgeconv.ir.choice import Blob, Choice

MAGIC = b"ECWT"
VERSION = 2  # 1: the CRC did not cover the header
ALIGN = 64
# magic, version, bytes of the whole image, layout hash, CRC-32 of all else, zeros
HEADER = struct.Struct("<4sIQQI36x")
CRC_AT = 24
CRC_END = CRC_AT + 4
_MANY = 1 << 20  # bytes of a blob; what it is made of need not stay in memory


@dataclass(frozen=True, slots=True)
class Header:
    """What an image says of itself; ``size``: in bytes, with this header."""

    magic: bytes
    version: int
    size: int
    layout_hash: int
    crc: int

    @staticmethod
    def of(image: bytes) -> Header:
        """From the first bytes of an image.  Raises ValueError where there are too few."""
        if len(image) < HEADER.size:
            raise ValueError("shorter than its header")
        return Header(*HEADER.unpack_from(image))

    def pack(self) -> bytes:
        """The 64 bytes."""
        return HEADER.pack(self.magic, self.version, self.size, self.layout_hash, self.crc)


def crc_of(image: bytes | memoryview) -> int:
    """The CRC-32 of a whole image: of all its bytes but those four that hold it."""
    data = memoryview(image)
    return zlib.crc32(data[CRC_END:], zlib.crc32(data[:CRC_AT]))


def defect_of(image: bytes | memoryview) -> str:
    """What is wrong with an image in itself, in words; nothing where it is whole."""
    try:
        header = Header.of(bytes(memoryview(image)[: HEADER.size]))
    except ValueError as error:
        return str(error)
    size = memoryview(image).nbytes
    if header.magic != MAGIC:
        return "not a weight image"
    if header.version != VERSION:
        return f"of version {header.version}, where this edgeconv has {VERSION}"
    if header.size != size:
        return f"{size} bytes long, where its header says {header.size}"
    return "" if crc_of(image) == header.crc else "damaged: its CRC does not match"


@dataclass(frozen=True, slots=True)
class PlacedBlob:
    """A blob and its offset in the image, in bytes."""

    blob: Blob
    offset: int


@dataclass(frozen=True, slots=True)
class ImagePart:
    """The bytes of the image from ``start`` on that lie in one memory of the board, by its name, ""
    where that is for the plan to choose."""

    memory: str
    start: int
    bytes: int

    @property
    def end(self) -> int:
        return self.start + self.bytes


@dataclass(frozen=True, slots=True)
class WeightImage:
    """Where every blob lies.  ``places`` is keyed by (layer index, blob name); ``maps``: the files
    that blobs are made of, as far as those are mapped.  ``parts``: what of it lies together; the
    first has the header."""

    places: dict[tuple[int, str], PlacedBlob]
    bytes: int
    layout_hash: int
    parts: tuple[ImagePart, ...]
    maps: tuple[mmap.mmap, ...] = field(default=(), compare=False, repr=False)

    def part_of(self, offset: int) -> int:
        """The number of the part that has the byte at ``offset``; of what has no bytes and lies
        behind all of them, the last."""
        last = len(self.parts) - 1
        return next((i for i, part in enumerate(self.parts) if offset < part.end), last)

    def unique(self) -> list[PlacedBlob]:
        """The blobs in image order, each once."""
        by_offset = {placed.offset: placed for placed in self.places.values()}
        return [by_offset[offset] for offset in sorted(by_offset)]


def layout(choice: Choice, order: Sequence[int], *, apart: bool = False) -> WeightImage:
    """Place the blobs of the layers in execution order, equal ones once (`equal_constants`): first
    those that lie where the image does, then by memory those that the user has placed elsewhere.

    ``apart``: each for itself, for constants of one layer that are to be replaced in place.
    """
    places: dict[tuple[int, str], PlacedBlob] = {}
    repeated = {} if apart else originals(choice, order)
    memories = [choice.placement.of_layer(choice.layers[index].node.name) for index in order]
    rank = {
        memory: n for n, memory in enumerate(dict.fromkeys((choice.placement.weights, *memories)))
    }
    starts = {choice.placement.weights: 0}
    offset = HEADER.size
    digest = hashlib.sha256(choice.isa.encode())
    for memory, index in sorted(zip(memories, order, strict=True), key=lambda each: rank[each[0]]):
        layer = choice.layers[index]
        if layer.blobs and memory not in starts:
            starts[memory] = offset = -(-offset // ALIGN) * ALIGN
            digest.update(f"part {memory} {offset}".encode())
        digest.update(repr((layer.algorithm, sorted(layer.params.items()))).encode())
        for blob in layer.blobs:
            key = index, blob.name
            if key in repeated:
                at = places[repeated[key]].offset
            else:
                at = -(-offset // ALIGN) * ALIGN
                offset = at + blob.bytes
            places[key] = PlacedBlob(blob, at)
            digest.update(f"{blob.name} {at} {blob.elements} {blob.storage}".encode())
    total = -(-offset // ALIGN) * ALIGN
    constants = (each.data for each in choice.graph.tensors.values() if each.data is not None)
    layout_hash = int.from_bytes(digest.digest()[:8], "little")
    ends = (*list(starts.values())[1:], total)
    parts = tuple(
        ImagePart(memory, start, end - start)
        for (memory, start), end in zip(starts.items(), ends, strict=True)
    )
    return WeightImage(places, total, layout_hash, parts, maps_behind(constants))


def _payload(image: WeightImage) -> Iterator[bytes]:
    """Everything after the header, in pieces that are packed, yielded and dropped."""
    at = HEADER.size
    for placed in image.unique():
        if placed.offset > at:
            yield bytes(placed.offset - at)
        blob = placed.blob
        size = 0
        for data in encoded_pieces(blob):
            size += len(data)
            yield data
        if size != blob.bytes:
            raise EdgeconvError(
                "packed constant has a wrong size",
                where=blob.name,
                got=f"{size} bytes",
                rule=f"planned {blob.bytes}",
            )
        if blob.bytes >= _MANY:
            release_pages(image.maps)
        at = placed.offset + blob.bytes
    if image.bytes > at:
        yield bytes(image.bytes - at)


def write(image: WeightImage, out: BinaryIO) -> None:
    """Write the image; ``out`` is seekable, since the header holds the CRC of what follows it."""
    header = Header(MAGIC, VERSION, image.bytes, image.layout_hash, crc=0)
    crc = crc_of(header.pack())
    out.seek(HEADER.size)
    for data in _payload(image):
        crc = zlib.crc32(data, crc)
        out.write(data)
    out.seek(0)
    out.write(replace(header, crc=crc).pack())

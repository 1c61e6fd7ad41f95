"""The parts of a weight image that lie in memories of their own, and what they are called in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.base.names import untaken
from edgeconv.codegen.c_names import identifier
from edgeconv.codegen.weights import ImagePart


@dataclass(frozen=True, slots=True)
class NamedPart:
    """A part of the image of ``memory``, from byte ``start`` on.

    ``pointer``: parameter and member; ``symbol``: of the array that has it; ``size``: the constant
    in the header; ``function``: from offset in the part to address; ``section``: of the object
    file, and ``macro``: what gives it another one.
    """

    memory: str
    start: int
    bytes: int
    pointer: str
    symbol: str
    size: str
    function: str
    section: str
    macro: str


def named_parts(name: str, parts: Sequence[ImagePart]) -> tuple[NamedPart, ...]:
    """The ``parts`` of the image of network ``name``: the first one is just its weights."""
    found: list[NamedPart] = []
    taken: set[str] = set()
    for number, part in enumerate(parts):
        pointer = "weights"
        if number:
            wanted = f"weights_{identifier(part.memory).lower()}"
            pointer = untaken(wanted, {*taken, "weights_bytes"}, between="_", first=2)
        taken.add(pointer)
        symbol = f"{name}_{pointer}"
        found.append(
            NamedPart(
                part.memory,
                part.start,
                part.bytes,
                pointer,
                symbol,
                f"{symbol}_BYTES".upper(),
                f"{symbol}_at",
                f".rodata.{symbol}",
                f"{symbol}_SECTION".upper(),
            )
        )
    return tuple(found)

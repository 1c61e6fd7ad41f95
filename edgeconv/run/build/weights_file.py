"""The weight image of a project, as it lies on disk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError, refused
from edgeconv.codegen.weights import HEADER, Header, defect_of

Bytes = npt.NDArray[np.uint8]
# In the report's "program": what the image states of itself.
CHECKSUM = "weights_crc32"
LAYOUT = "weights_layout"
_BEFORE = 4096  # characters of C that stand in front of the numbers, at most
_NUMBERS = re.compile(rb"\{([0-9,\s]*)\}")


def image_of(directory: Path, program: Mapping[str, Any]) -> Bytes:
    """All of it, of the project in ``directory`` whose report has ``program``.

    Raises EdgeconvError where it is missing, cut off, damaged, or not the one that was compiled.
    """
    path = _path(directory, program)
    image = _read(path)
    defect = defect_of(image.data) or _foreign(Header.of(image[: HEADER.size].tobytes()), program)
    if defect:
        raise EdgeconvError(
            "the weights are not those that were compiled",
            where=str(path),
            got=defect,
            rule="the image is whole, and the one whose checksum is in report.json",
            hint="compile the model again",
        )
    return image


def header_of(directory: Path, program: Mapping[str, Any]) -> Header:
    """What an image that was just written says of itself."""
    path = _path(directory, program)
    with path.open("rb") as stream:
        if path.suffix == ".bin":
            return Header.of(stream.read(HEADER.size))
        text = stream.read(_BEFORE + HEADER.size * 8)
    return Header.of(_numbers(text[: text.rindex(b",")] + b"}").tobytes())


def facts_of(header: Header) -> dict[str, Any]:
    """As the report's "program" has it."""
    return {CHECKSUM: header.crc, LAYOUT: f"{header.layout_hash:016x}"}


def _foreign(header: Header, program: Mapping[str, Any]) -> str:
    """How a whole image differs from the one that was compiled; nothing where it does not."""
    facts = facts_of(header)
    if program.get(LAYOUT) not in (None, facts[LAYOUT]):
        return "an image of another model, board or plan"
    if program.get(CHECKSUM) not in (None, facts[CHECKSUM]):
        return "other weights of the same layout"
    return ""


def _path(directory: Path, program: Mapping[str, Any]) -> Path:
    kind = "c" if program["weights"] == "c" else "bin"
    return directory / f"{program['name']}_weights.{kind}"


def _read(path: Path) -> Bytes:
    with refused("cannot read the weights", path):
        if path.suffix == ".bin":
            return np.fromfile(path, np.uint8)
        return _numbers(path.read_bytes())


def _numbers(source: bytes) -> Bytes:
    """The elements of all arrays, numbers below 256; none where there is no such array."""
    found = (array[1].split(b",") for array in _NUMBERS.finditer(source))
    values = [int(number) for array in found for number in array if number.strip()]
    return np.array(values if max(values, default=0) < 256 else [], np.uint8)

"""The weight image of a project, as it lies on disk."""

from __future__ import annotations

import re
import zlib

import numpy as np
import numpy.typing as npt

from edgeconv.build.project import Project
from edgeconv.codegen.weights import HEADER
from edgeconv.errors import EdgeconvError

Bytes = npt.NDArray[np.uint8]
CHECKSUM = "weights_crc32"  # in the report's "program"
_NUMBER = re.compile(rb"[0-9]+")


def image_of(project: Project) -> Bytes:
    """All of it.  Raises EdgeconvError where it is damaged, or not the one that was compiled."""
    path = project.directory / f"{project.name}_weights.bin"
    image = np.fromfile(path, np.uint8) if path.exists() else _numbers(_source(project))
    header = image[: HEADER.size].tobytes()
    payload = zlib.crc32(image[HEADER.size :].tobytes())
    intact = len(header) == HEADER.size and _checksum(header) == payload
    if not intact or project.report["program"].get(CHECKSUM) not in (None, _checksum(header)):
        raise EdgeconvError(
            "the weights are not those that were compiled",
            where=str(path if path.exists() else path.with_suffix(".c")),
            rule="they are not as the checksum in the image or in report.json says",
            hint="compile the model again",
        )
    return image


def checksum_of(project: Project) -> int:
    """The CRC-32 that the image states of itself."""
    path = project.directory / f"{project.name}_weights.bin"
    if path.exists():
        with path.open("rb") as stream:
            return _checksum(stream.read(HEADER.size))
    return _checksum(_numbers(_source(project, HEADER.size * 8))[: HEADER.size].tobytes())


def _checksum(header: bytes) -> int:
    found = HEADER.unpack(header)[-1]
    assert isinstance(found, int)
    return found


def _source(project: Project, most: int = -1) -> bytes:
    """The C file that holds the image, or its beginning."""
    path = project.directory / f"{project.name}_weights.c"
    try:
        with path.open("rb") as stream:
            return stream.read(most)
    except OSError as error:
        raise EdgeconvError(
            "cannot read the weights", where=str(path), got=str(error.strerror)
        ) from error


def _numbers(source: bytes) -> Bytes:
    values = _NUMBER.findall(source, source.index(b"{"))
    return np.array([int(value) for value in values], np.uint8)

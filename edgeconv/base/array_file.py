"""Arrays in .npz files: what each is called and how large it is, before any of it is unpacked.

An .npz file is a zip archive of .npy files.  Either can state sizes that it does not have, be cut
off, encrypted, or hold pickled objects, which are programs.  numpy.load reads whatever it is given
into memory, so that the archive and the headers are read here, and data only of arrays that are
wanted (`Arrays.read`).
"""

from __future__ import annotations

import io
import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from edgeconv.base import limits, regular_file
from edgeconv.base.errors import EdgeconvError, UsageError

Array = npt.NDArray[np.generic]
_ENCRYPTED = 0x1  # bit of a member's flags
_PACKED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # what numpy writes
_NUMBERS = "biufSU"  # and strings, which some inputs are
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# What zipfile and numpy raise for damaged bytes, some of it by accident.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError, RuntimeError),
    *(struct.error, OverflowError, SyntaxError, TypeError, KeyError, IndexError, AttributeError),
    tokenize.TokenError,
)
_SAVEZ = "write it with numpy.savez"


@dataclass(frozen=True, slots=True)
class Stated:
    """What an array's header says.  ``shape``: its dimensions; ``dtype``: in native byte order."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    _stored: np.dtype[Any]
    _fortran: bool
    _start: int  # bytes of the member in front of the data
    _member: zipfile.ZipInfo

    @property
    def bytes(self) -> int:
        """The size of the data, unpacked."""
        return math.prod(self.shape) * self._stored.itemsize


class Arrays:
    """The arrays of an open .npz file: ``stated``, by name; `read` unpacks one."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path, self._archive = path, archive
        self.stated: dict[str, Stated] = {}
        members = archive.infolist()
        limits.held("array-members", len(members), str(path))
        for member in members:
            found = self._header(member)
            if found.name in self.stated:
                raise invalid(path, "two arrays of one name", repr(found.name))
            self.stated[found.name] = found
        total = sum(found.bytes for found in self.stated.values())
        limits.held("array-expanded-bytes", total, str(path))

    def read(self, name: str) -> Array:
        """The array called ``name``; raises EdgeconvError where its data is damaged."""
        found = self.stated[name]
        with _damage(self.path, repr(name)), self._archive.open(found._member) as stream:
            stream.read(found._start)
            data = stream.read(found.bytes)
            if len(data) != found.bytes or stream.read(1):  # at its end the checksum is compared
                raise ValueError("other data than the header states")
            order: Literal["F", "C"] = "F" if found._fortran else "C"
            stored = np.frombuffer(data, found._stored).reshape(found.shape, order=order)
        return np.array(stored, found.dtype, order="C")

    def _header(self, member: zipfile.ZipInfo) -> Stated:
        path, name = self.path, member.filename
        limits.held("name-length", len(name), str(path))
        if member.flag_bits & _ENCRYPTED:
            raise invalid(path, "an encrypted archive", repr(name), hint=_SAVEZ)
        if not name.endswith(".npy"):
            raise invalid(path, "a file that is no array", repr(name), hint=_SAVEZ)
        name = name.removesuffix(".npy")
        if member.compress_type not in _PACKED:
            got = f"{name!r} packed by method {member.compress_type}"
            raise invalid(path, "cannot unpack an array", got, hint=_SAVEZ)
        most = limits.limit("array-header-bytes")
        with _damage(path, repr(name)), self._archive.open(member) as packed:
            head = io.BytesIO(packed.read(min(most, member.file_size) + 16))
            version = np.lib.format.read_magic(head)
            if version not in _HEADERS:
                raise ValueError(f"version {version} of .npy files")
            with warnings.catch_warnings():  # that Python 2 wrote it
                warnings.simplefilter("ignore")
                shape, fortran, stored = _HEADERS[version](head, max_header_size=most)
        found = Stated(name, shape, stored.newbyteorder("="), stored, fortran, head.tell(), member)
        self._require_numbers(found)
        if found._start + found.bytes != member.file_size:
            got = f"{member.file_size} bytes of {name!r}"
            rule = f"its shape and type take {found._start + found.bytes}"
            raise invalid(path, "an array of another size than it states", got, rule)
        return found

    def _require_numbers(self, found: Stated) -> None:
        where = f"{self.path}, array {found.name!r}"
        limits.held("tensor-rank", len(found.shape), where)
        if any(type(size) is not int or size < 0 for size in found.shape):
            raise invalid(self.path, f"shape of {found.name!r}", str(found.shape))
        limits.held("tensor-elements", math.prod(found.shape), where)
        if found.dtype.kind not in _NUMBERS:
            what = "inputs are not an .npz archive of numbers"
            rule = "pickled objects are programs, and are not run" if found.dtype.hasobject else ""
            got = f"{found.name!r} of type {found.dtype}"
            raise invalid(self.path, what, got, rule, _SAVEZ)


@contextmanager
def opened(path: Path) -> Iterator[Arrays]:
    """The arrays of the .npz file ``path``.

    Raises EdgeconvError: a file that cannot be read, is no archive of numbers, is damaged or
    encrypted, states other sizes than it has (exit status 2), or exceeds a limit (1).
    """
    try:
        stream = regular_file.opened(path)
    except OSError as error:
        raise invalid(path, "cannot read the inputs", str(error.strerror or error)) from error
    with stream:
        size = stream.seek(0, io.SEEK_END)
        limits.held("array-file-bytes", size, str(path))
        stream.seek(0)
        archive = _archive(path, stream)
        with archive:
            yield Arrays(path, archive)


def _archive(path: Path, stream: IO[bytes]) -> zipfile.ZipFile:
    magic = stream.read(len(np.lib.format.MAGIC_PREFIX))
    if magic == np.lib.format.MAGIC_PREFIX:
        raise invalid(path, "inputs are not an .npz archive", "a single array", hint=_SAVEZ)
    stream.seek(0)
    with _damage(path, ""):
        return zipfile.ZipFile(stream)


@contextmanager
def _damage(path: Path, array: str) -> Iterator[None]:
    """What damaged bytes raise, as EdgeconvError."""
    try:
        yield
    except (RecursionError, MemoryError) as error:
        got = f"{array or 'an archive'} that does not fit in memory"
        raise invalid(path, "cannot read the inputs", got) from error
    except (*_DAMAGE, OSError) as error:
        what = "inputs are not an .npz archive of numbers"
        got = f"{array}: {' '.join(str(error).split())}" if array else "other data"
        raise invalid(path, what, got, hint=_SAVEZ) from error


def invalid(path: Path, what: str, got: str, rule: str = "", hint: str = "") -> EdgeconvError:
    """The error (exit status 2) for a file of arrays that cannot be used."""
    return UsageError(what, where=str(path), got=got, rule=rule, hint=hint)

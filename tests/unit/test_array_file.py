"""Array files from anywhere: read, or refused with a word and little memory."""

from __future__ import annotations

import io
import os
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgeconv.base import array_file, limits
from edgeconv.base.errors import EdgeconvError, Exit

Damage = Callable[[Path], object]
VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


def npy(array: np.ndarray, header: bytes | None = None) -> bytes:
    """The bytes of a .npy file; ``header``: other text in place of what describes the array."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    data = stream.getvalue()
    if header is None:
        return data
    (size,) = struct.unpack("<H", data[8:10])
    return data[:8] + struct.pack("<H", len(header)) + header + data[10 + size :]


def archive(path: Path, members: dict[str, bytes], packed: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", packed) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def described(shape: str, descr: str = "'<f4'", order: str = "False") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    return text.encode()


def read(path: Path) -> dict[str, np.ndarray]:
    with array_file.opened(path) as arrays:
        return {name: arrays.read(name) for name in arrays.stated}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read(save: Callable[..., None], tmp_path: Path) -> None:
    given = {
        "rows": VALUES,
        "columns": np.asfortranarray(VALUES),
        "swapped": VALUES.astype(">f4"),
        "scalar": np.array(3, np.int8),
        "empty": np.zeros((0, 7), np.uint16),
        "a/b": VALUES > 3,
    }
    save(tmp_path / "x.npz", **given)
    found = read(tmp_path / "x.npz")
    assert set(found) == set(given)
    for name, array in given.items():
        assert np.array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].flags.c_contiguous


def _encrypted(path: Path) -> None:
    archive(path, {"x.npy": npy(VALUES)})
    data = bytearray(path.read_bytes())
    data[6] |= 1  # of the local header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and of the directory
    path.write_bytes(data)


def _flipped(path: Path) -> None:
    archive(path, {"x.npy": npy(VALUES)})
    data = bytearray(path.read_bytes())
    data[data.index(VALUES.tobytes()) + 5] ^= 64
    path.write_bytes(data)


def _doubled(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.npy", npy(VALUES))
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("x.npy", npy(VALUES))


def _members(members: dict[str, bytes], packed: int = zipfile.ZIP_STORED) -> Damage:
    return lambda path: archive(path, members, packed)


def _described(*words: str) -> Damage:
    return _members({"x.npy": npy(VALUES, described(*words))})


DAMAGED: dict[str, tuple[Damage, str]] = {
    "nothing": (lambda path: path.write_bytes(b""), "not an .npz archive"),
    "text": (lambda path: path.write_text("hello"), "not an .npz archive"),
    "one array": (lambda path: path.write_bytes(npy(VALUES)), "a single array"),
    "encrypted": (_encrypted, "encrypted"),
    "another checksum": (_flipped, "CRC-32"),
    "one name twice": (_doubled, "two arrays of one name"),
    "no array": (_members({"read.me": b"hello"}), "no array"),
    "no header": (_members({"x.npy": b"hello"}), "magic string"),
    "an empty member": (_members({"x.npy": b""}), "'x'"),
    "bzip2": (_members({"x.npy": npy(VALUES)}, zipfile.ZIP_BZIP2), "method 12"),
    "objects": (_members({"x.npy": npy(np.array([{}], object))}), "pickled"),
    "records": (_members({"x.npy": npy(np.zeros(2, "f4,i4"))}), "archive of numbers"),
    "times": (_members({"x.npy": npy(np.zeros(2, "M8[s]"))}), "archive of numbers"),
    "complex": (_members({"x.npy": npy(np.zeros(2, "c8"))}), "complex64"),
    "too little data": (_described("(30, 4)"), "another size than it states"),
    "too much data": (_described("(3, 1)"), "another size than it states"),
    "a negative size": (_described("(-3, -4)"), "shape of 'x'"),
    "a size that is no number": (_described("(3, 'x')"), "'x'"),
    "true as a size": (_described("(True, 12)"), "shape of 'x'"),
    "another header": (_members({"x.npy": npy(VALUES, b"[" * 9000)}), "'x'"),
    "an expression": (_described("(3, 4)", "__import__('os')"), "'x'"),
    "no such type": (_described("(3, 4)", "'<q9'"), "'x'"),
    "a huge shape": (_described("(4611686018427387904, 4)"), "tensor-elements"),
    "many dimensions": (_described(f"({'1, ' * 40})"), "tensor-rank"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused(name: str, tmp_path: Path) -> None:
    make, words = DAMAGED[name]
    path = tmp_path / "x.npz"
    make(path)
    with pytest.raises(EdgeconvError) as caught:
        read(path)
    assert caught.value.code is (Exit.UNSATISFIED if "tensor-" in words else Exit.USAGE)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    whole = archive(tmp_path / "whole.npz", {"x.npy": npy(VALUES)}, zipfile.ZIP_DEFLATED)
    data, path = whole.read_bytes(), tmp_path / "x.npz"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(EdgeconvError):
            read(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """Much of nothing in little: refused by its header, or by the limit, at once."""
    path, zeros = tmp_path / "x.npz", bytes(1 << 20)
    head = described("(33554432,)")[:-1].ljust(117) + b"\n"
    start = npy(VALUES)[:8] + struct.pack("<H", len(head)) + head
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, file.open("x.npy", "w") as out:
        out.write(start)
        for _ in range(1 << 7):
            out.write(zeros)
    begun = time.process_time()
    with array_file.opened(path) as arrays:
        assert arrays.stated["x"].bytes == 1 << 27
    with (
        limits.given({"array-expanded-bytes": 1 << 20}),
        pytest.raises(EdgeconvError, match="array-expanded-bytes"),
        array_file.opened(path),
    ):
        pass
    assert time.process_time() - begun < 2


def test_limits_of_files_and_members(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.npz", {f"{i}.npy": npy(VALUES) for i in range(4)})
    for name, value in (("array-members", 3), ("array-file-bytes", 100), ("name-length", 4)):
        with (
            limits.given({name: value}),
            pytest.raises(EdgeconvError, match=name) as caught,
            array_file.opened(path),
        ):
            pass
        assert caught.value.code is Exit.UNSATISFIED


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    for path in (tmp_path / "pipe.npz", tmp_path, tmp_path / "absent.npz", Path("/dev/zero")):
        with (
            pytest.raises(EdgeconvError, match="cannot read the inputs") as caught,
            array_file.opened(path),
        ):
            pass
        assert caught.value.code is Exit.USAGE

"""Array files: read as samples and as inputs of a small network."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from edgeconv.base import limits
from edgeconv.ir.graph import Graph, Tensor
from edgeconv.run.build.project import Port
from edgeconv.run.verify.inputs import from_npz
from edgeconv.search.calibration import samples
from tests.fuzz.subject import Subject

SHAPE = (1, 3, 4, 4)
LIMITS = {"tensor-elements": 1 << 24, "array-expanded-bytes": 64 << 20}
_SIZES = (0, 1, 2, 3, 5, 255, 65536, 1 << 24, 1 << 31, (1 << 63) - 1, 1 << 64, -1, -(1 << 63))
_TYPES = ("<f4", ">f4", "<f2", "<f8", "|i1", "|u1", "<i8", "<u8", "|b1", "<c8", "<U3", "|O", "|V9")
Members = list[tuple[str, bytes]]


def make(source: random.Random, folder: Path) -> Path:
    """An archive with one or two changes to an array, a header, the directory, or any byte."""
    name = source.choice(("inputs", "samples"))
    count = 1 if name == "inputs" else source.choice((1, 2, 5))
    rng = np.random.default_rng(source.randrange(1 << 32))
    x = rng.standard_normal((count, *SHAPE) if name == "samples" else SHAPE).astype(np.float32)
    arrays: dict[str, Any] = {"x": x}
    if name == "samples" and source.random() < 0.5:
        arrays["label"] = rng.integers(0, 5, count)
    members = [(f"{key}.npy", _npy(value)) for key, value in arrays.items()]
    for _ in range(source.choice((0, 1, 1, 2))):
        source.choice(_CHANGES)(source, members)
    stream = io.BytesIO()
    packed = source.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stream, "w", packed) as file:
        for member, data in dict(members).items():
            file.writestr(member, data)
    path = folder / f"{name}.npz"
    path.write_bytes(_damaged(source, bytearray(stream.getvalue())))
    return path


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return stream.getvalue()


def _described(source: random.Random, members: Members) -> None:
    """Another shape, type or order than the data has."""
    at = source.randrange(len(members))
    name, data = members[at]
    rank = source.choice((0, 1, 4, 5, 40))
    shape = tuple(source.choice(_SIZES) for _ in range(rank))
    text = {
        "descr": source.choice(_TYPES),
        "fortran_order": source.choice((True, False, 1, None)),
        "shape": source.choice((shape, (2, *SHAPE), list(shape), source.choice(_SIZES))),
    }
    header = f"{text}\n".encode()
    if len(data) < 10:
        return
    body = data[10 + struct.unpack("<H", data[8:10])[0] :]
    members[at] = name, data[:8] + struct.pack("<H", len(header)) + header + body


def _renamed(source: random.Random, members: Members) -> None:
    at = source.randrange(len(members))
    names = ("y.npy", "in:x.npy", "out:x.npy", "x", "../x.npy", "\x1b[31m.npy", ".npy", "x/.npy")
    members[at] = source.choice(names), members[at][1]


def _values(source: random.Random, members: Members) -> None:
    """Numbers that are none, of any type."""
    value = source.choice((np.nan, np.inf, -np.inf, 1e38, 0.0))
    kind = source.choice((np.float32, np.float32, np.float64))
    members[0] = members[0][0], _npy(np.full((source.choice((0, 1, 3)), *SHAPE), value, kind))


def _labels(source: random.Random, members: Members) -> None:
    size = source.choice((0, 1, 2, 5))
    value = source.choice((-1, 0, 1 << 62))
    array = np.full(size, value, np.int64)
    members.append(("label.npy", _npy(source.choice((array, array.astype(np.uint64))))))


def _lost(source: random.Random, members: Members) -> None:
    del members[source.randrange(len(members)) :]
    members.append(("x.npy", b""))


_CHANGES: tuple[Callable[[random.Random, Members], None], ...] = (
    *(_described, _described, _renamed, _values, _labels),
    _lost,
)


def _damaged(source: random.Random, data: bytearray) -> bytes:
    kind = source.random()
    if kind < 0.2:
        return bytes(data[: source.randrange(len(data))])
    if kind < 0.6:
        for _ in range(source.choice((1, 2, 8))):
            data[source.randrange(len(data))] = source.randrange(256)
    return bytes(data)


@cache
def _graph() -> Graph:
    tensors = {"x": Tensor("x", SHAPE), "y": Tensor("y", (1, 5))}
    return Graph("fuzzed", (), tensors, ("x",), ("y",))


def read(path: Path) -> str:
    """As `verify --inputs` or `--calibration` does, by the file's name."""
    with limits.given(LIMITS):
        if path.stem == "inputs":
            found = from_npz(path, [Port("x", SHAPE, "float32")])["x"]
            assert found.shape == SHAPE
            return "inputs"
        loaded = samples.load(path, _graph())
        assert np.isfinite(loaded.inputs["x"]).all()
        assert loaded.inputs["x"].shape == (len(loaded), *SHAPE)
        assert loaded.labels is None or loaded.labels.shape == (len(loaded), 1)
        return "samples"


SUBJECT = Subject("arrays", make, read, seconds=5, megabytes=400)

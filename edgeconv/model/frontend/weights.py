"""The constants of a model as numpy arrays, mapped from disk where their form allows."""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.wire_format import map_file
from edgeconv.ir.layout import Shape
from edgeconv.model.frontend.mapped_constants import SELF
from edgeconv.model.frontend.model_file import ModelFile

Values = npt.NDArray[Any]

# Types whose elements lie in the file as numpy holds them in memory.
_PLAIN = frozenset(
    f"{kind}{bits}"
    for kind, widths in {
        "float": (16, 32, 64),
        "int": (8, 16, 32, 64),
        "uint": (8, 16, 32, 64),
    }.items()
    for bits in widths
)


class Weights:
    """Arrays from TensorProtos; data files are mapped once each, relative to the model."""

    def __init__(self, file: ModelFile) -> None:
        self._folder = file.path.parent
        self._maps: dict[str, mmap.mmap] = {SELF: file.content}

    def files(self) -> list[mmap.mmap]:
        """The model file, then the data files it refers to, by name."""
        return [self._maps[location] for location in sorted(self._maps)]

    def map_all(self, model: onnx.ModelProto) -> None:
        """Map every data file of the top-level initializers, so that ``files`` is complete."""
        for tensor in model.graph.initializer:
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                self._map(tensor, _entries(tensor).get("location", SELF))

    def array(self, tensor: onnx.TensorProto) -> Values:
        """The value of ``tensor``: read only, and a view of the file where that is possible.

        Raises EdgeconvError when its shape is none, when its data does not fill it, and when
        external data is missing, too short or outside of the folder.
        """
        if tensor.data_type not in onnx.TensorProto.DataType.values()[1:]:
            raise _broken(tensor, f"element type {tensor.data_type}", "ONNX defines no such type")
        shape = _shape(tensor.name, tensor.dims)
        if tensor.HasField("segment"):
            raise _broken(tensor, "a segment of a tensor", "tensors are stored whole")
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return self._external(tensor, shape)
        try:
            value = numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            raise _broken(tensor, str(error), "its data must fill its shape") from None
        if value.shape != shape:
            got = f"data for shape {list(value.shape)}, not {list(shape)}"
            raise _broken(tensor, got, "its data must fill its shape")
        return value

    def dense(self, sparse: onnx.SparseTensorProto) -> Values:
        """The value of a sparse tensor; its indices are linear or one row per value."""
        values, indices = self.array(sparse.values), self.array(sparse.indices)
        shape = _shape(sparse.values.name, sparse.dims)
        where = f"tensor {sparse.values.name!r}"
        limits.held("folded-bytes", math.prod(shape) * values.itemsize, where)
        rows = indices[:, None] if indices.ndim == 1 else indices
        sizes = (math.prod(shape),) if indices.ndim == 1 else shape
        if values.ndim != 1 or indices.dtype != np.int64 or rows.shape != (values.size, len(sizes)):
            got = f"values {list(values.shape)}, indices {list(indices.shape)} of {indices.dtype}"
            rule = "a sparse tensor has n values and n int64 indices, or rows of them"
            raise _broken(sparse.values, got, rule)
        if ((rows < 0) | (rows >= np.array(sizes, np.int64))).any():
            got = f"an index outside of {list(sizes)}"
            raise _broken(sparse.values, got, "its indices must lie in its shape")
        full = np.zeros(shape, values.dtype)
        full[tuple(rows.T) if indices.ndim > 1 else np.unravel_index(indices, shape)] = values
        return full

    def _external(self, tensor: onnx.TensorProto, shape: Shape) -> Values:
        entries = _entries(tensor)
        try:
            offset, length = int(entries.get("offset", "0")), int(entries.get("length", "-1"))
        except ValueError:
            raise _broken(tensor, str(entries), "offset and length are numbers") from None
        content = self._map(tensor, entries.get("location", SELF))
        length = len(content) - offset if length < 0 else length
        if offset < 0 or offset + length > len(content):
            got = f"{length} bytes from {offset} on of a file of {len(content)}"
            raise _broken(tensor, got, "the file must hold all of its data", "is it truncated?")
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if dtype.name not in _PLAIN:
            plain = onnx.TensorProto(
                name=tensor.name,
                dims=shape,
                data_type=tensor.data_type,
                raw_data=content[offset : offset + length],
            )
            return self.array(plain)
        count = math.prod(shape)
        if count * dtype.itemsize > length:
            got = f"{length} bytes for shape {list(shape)} of {dtype.name}"
            raise _broken(tensor, got, "its data must fill its shape")
        if count == 0:
            return np.zeros(shape, dtype)
        return np.frombuffer(content, dtype.newbyteorder("<"), count, offset).reshape(shape)

    def _map(self, tensor: onnx.TensorProto, location: str) -> mmap.mmap:
        if location not in self._maps:
            path = self._folder / location
            if "\0" in location or not path.resolve().is_relative_to(self._folder.resolve()):
                raise _broken(tensor, repr(location), "external data must lie beside the model")
            try:
                self._maps[location] = map_file(path)
            except OSError as error:
                hint = f"put the file in {self._folder}"
                raise _broken(tensor, f"{path}: {error.strerror}", "", hint) from None
            except ValueError:
                raise _broken(tensor, f"{path}: empty", "") from None
        return self._maps[location]


def non_finite(array: Values) -> bool:
    """Whether ``array`` holds a NaN or an infinity."""
    if array.dtype.kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):  # one pass without a temporary; may only fail by overflow
            return False
    return not bool(np.isfinite(array).all())


def _shape(name: str, dims: Iterable[int]) -> Shape:
    """``dims``, which are those of a tensor that can be."""
    shape = tuple(dims)
    where = f"tensor {name!r}"
    if min(shape, default=0) < 0:
        raise EdgeconvError(
            "cannot read a weight",
            where=where,
            got=f"shape {list(shape)}",
            rule="sizes are not negative",
        )
    limits.held("tensor-rank", len(shape), where)
    limits.held("tensor-elements", max((math.prod(shape), *shape)), where)
    return shape


def _entries(tensor: onnx.TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _broken(tensor: onnx.TensorProto, got: str, rule: str, hint: str = "") -> EdgeconvError:
    return EdgeconvError(
        "cannot read a weight", where=f"tensor {tensor.name!r}", got=got, rule=rule, hint=hint
    )

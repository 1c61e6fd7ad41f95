"""The cases of the ``onnx`` package: models of a node or a few, inputs, and what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from edgeconv.base.arguments import NOTHING
from edgeconv.model.frontend import Cut
from edgeconv.search.options import CompileOptions
from tests.onnx_node_cases import node_cases

Array = npt.NDArray[Any]
_FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")
_RTOL, _ATOL = 1e-3, 1e-7  # ONNX's own, where a case states none


# Cases that read a number at run time on which it depends what the program is, how many results it
# has and of which sizes -> the inputs whose value is stated, as --input-value does.
STATED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "test_affine_grid_2d_align_corners_expanded",
            "test_affine_grid_2d_expanded",
            "test_affine_grid_3d_align_corners_expanded",
            "test_affine_grid_3d_expanded",
        ),
        ("size",),
    ),
    "test_if_opt": ("cond",),
    **dict.fromkeys(("test_loop13_seq", "test_loop16_seq_none"), ("trip_count", "cond")),
    "test_melweightmatrix": (
        *("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"),
    ),
    "test_sequence_insert_at_front": ("position",),
    **dict.fromkeys(("test_split_to_sequence_1", "test_split_to_sequence_2"), ("split",)),
}

Value = Array | list[Array] | None  # a tensor, the tensors of a sequence, an optional of nothing


@dataclass(frozen=True)
class Case:
    """``data``: sets of inputs and of outputs, in the model's order."""

    name: str
    model: onnx.ModelProto
    data: Sequence[tuple[Sequence[Value], Sequence[Value]]]
    rtol: float = _RTOL
    atol: float = _ATOL

    def options(self, folder: Path, prefix: str, board: str) -> CompileOptions:
        """What compiles the model, which is written to ``folder``; ``prefix``: of names in C."""
        path = folder / f"{prefix}.onnx"
        onnx.save(self.model, path)
        return CompileOptions(
            path, board, name=prefix, input_shapes=self.input_shapes(), cut=self.cut()
        )

    def cut(self) -> Cut:
        """The values that are stated of inputs (``STATED``)."""
        given = self._all(self.data[0][0])
        numbers = {name: given[name].reshape(-1).tolist() for name in STATED.get(self.name, ())}
        texts = ((name, ",".join(map(str, each)).lower()) for name, each in numbers.items())
        return Cut(values=tuple(sorted(texts)))

    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the first data set, by name."""
        shapes = {name: array.shape for name, array in self.feeds(self.data[0][0]).items()}
        for value, given in zip(self.model.graph.input, self.data[0][0], strict=False):
            if given is None or (isinstance(given, list) and not given):
                shapes[value.name] = NOTHING
        return shapes

    def feeds(self, given: Sequence[Value]) -> dict[str, Array]:
        """Inputs as the program names them: of a sequence each tensor; none that is stated."""
        stated = STATED.get(self.name, ())
        return {name: each for name, each in self._all(given).items() if name not in stated}

    def _all(self, given: Sequence[Value]) -> dict[str, Array]:
        return _named(self.model.graph.input, given)

    def wanted(self, made: Sequence[Value]) -> dict[str, Array]:
        """Outputs likewise."""
        return _named(self.model.graph.output, made)


def _named(values: Iterable[onnx.ValueInfoProto], given: Sequence[Value]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for value, each in zip(values, given, strict=False):
        if isinstance(each, list):
            found |= {f"{value.name}_{i}": array for i, array in enumerate(each)}
        elif each is not None:
            found[value.name] = each
    return found


@cache
def cases() -> dict[str, Case]:
    """All of them, by name."""
    found = [_of_node(case) for case in node_cases()]
    data = Path(onnx.__file__).parent / "backend/test/data"
    for folder in _FOLDERS:
        found += [_of_folder(path) for path in sorted((data / folder).glob("*/"))]
    return {case.name: case for case in sorted(found, key=lambda case: case.name)}


def _value(value: Any) -> Value:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, list):
        return [np.asarray(each) for each in value]
    return np.asarray(value) if isinstance(value, np.ndarray | np.generic) else None


def _of_node(case: Any) -> Case:
    data = [([*map(_value, i)], [*map(_value, o)]) for i, o in case.data_sets]
    return Case(case.name, case.model, data, case.rtol, case.atol)


def _of_folder(path: Path) -> Case:
    model = onnx.load(path / "model.onnx")
    kinds = [*model.graph.input], [*model.graph.output]
    data = []
    for folder in sorted(path.glob("test_data_set_*")):
        sets = zip(("input", "output"), kinds, strict=True)
        data.append(tuple([*_arrays(folder, which, values)] for which, values in sets))
    return Case(path.name, model, data)  # type: ignore[arg-type]


def _arrays(folder: Path, which: str, values: Sequence[Any]) -> Iterator[Array | None]:
    for number, value in enumerate(values):
        file = folder / f"{which}_{number}.pb"
        if not file.exists() or not value.type.HasField("tensor_type"):
            yield None
            continue
        yield numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes()))

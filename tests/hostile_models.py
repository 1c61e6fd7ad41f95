"""Models that must be refused, and how a test asks for that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.app.deciding import Decider
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.search.options import CompileOptions
from tests.onnx_models import model, save

make = helper.make_node
Shape = tuple[int, ...]
SECONDS = 5.0  # of the processor, for any of these: most take milliseconds


def refused(source: onnx.ModelProto, folder: Path, board: str = "generic-c") -> EdgeconvError:
    """The error for ``source``, which comes soon."""
    path = save(source, folder / "model.onnx")
    begin = process_time()
    with pytest.raises(EdgeconvError) as caught, Decider(CompileOptions(path, board)) as decider:
        decider.decide()
    assert process_time() - begin < SECONDS
    assert caught.value.code is Exit.UNSATISFIED
    return caught.value


def text(error: EdgeconvError) -> str:
    return "\n".join((error.one_line(), *error.details))


def one(
    op_type: str,
    shape: Shape,
    constants: Mapping[str, Any] | None = None,
    outputs: int = 1,
    opset: int = 17,
    **attributes: Any,
) -> onnx.ModelProto:
    """One node of ``x`` of ``shape`` and ``constants``."""
    names = [f"y{i}" for i in range(outputs)]
    values = {name: np.asarray(value) for name, value in (constants or {}).items()}
    node = make(op_type, ["x", *values], names, name="n", **attributes)
    return model([node], {"x": shape}, dict.fromkeys(names), values, opset=opset)


def i64(*values: int) -> Any:
    return np.array(values, np.int64)


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def branch() -> onnx.GraphProto:
    value = helper.make_tensor_value_info("b", TensorProto.FLOAT, None)
    return helper.make_graph([make("Relu", ["x"], ["b"])], "branch", [], [value])

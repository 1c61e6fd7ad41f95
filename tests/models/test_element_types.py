"""A network whose inputs, constants and outputs are of many element types, through the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.command import Command
from tests.onnx_models import save

pytestmark = pytest.mark.usefixtures("unoptimised")

CONSTANTS = ("bool", "uint8", "int32", "int64", "float16", "float64")


def mixed() -> onnx.ModelProto:
    """A convolution in float16, the sum of float64, a choice by bool, and constants as outputs."""
    types = {"half": np.float16, "long": np.float64, "which": np.bool_}
    shapes = {"half": (1, 2, 5, 5), "long": (3, 4), "which": (3, 4)}
    kind = {name: helper.np_dtype_to_tensor_dtype(np.dtype(t)) for name, t in types.items()}
    filters = np.random.default_rng(3).standard_normal((3, 2, 3, 3)).astype(np.float16)
    nodes = [
        helper.make_node("Conv", ["half", "filters"], ["y"]),
        helper.make_node("Add", ["long", "long"], ["twice"]),
        helper.make_node("Where", ["which", "twice", "long"], ["chosen"]),
        helper.make_node("Not", ["which"], ["not"]),
    ]
    made = {"y": kind["half"], "chosen": kind["long"], "not": kind["which"]}
    constants = {name: np.array([1, 0, 1]).astype(name) for name in CONSTANTS}
    made |= {name: helper.np_dtype_to_tensor_dtype(c.dtype) for name, c in constants.items()}
    graph = helper.make_graph(
        nodes,
        "mixed",
        [helper.make_tensor_value_info(name, kind[name], shapes[name]) for name in types],
        [helper.make_tensor_value_info(name, each, None) for name, each in made.items()],
        [numpy_helper.from_array(c, n) for n, c in {"filters": filters, **constants}.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_every_type_is_verified(edgeconv: Command, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path, out = save(mixed(), tmp_path / "mixed.onnx"), tmp_path / "mixed"
    edgeconv.ok("compile", path, "--board", "generic-c", "-o", out, "--verify", "--selftest")
    text = (out / "mixed.h").read_text()
    for word in (
        "const uint16_t *input_half",
        "const double *input_long_",
        "int64_t *output_int64",
    ):
        assert word in text

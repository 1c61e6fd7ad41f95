"""ONNX Runtime as tests ask it: silent, and on one core, since other tests have the others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from edgeconv.model.frontend.engine_process import session_options

Values = npt.NDArray[Any]


def own_kernels() -> Any:
    """Options with which operators on integers are run by kernels of theirs, as they are written.

    Extended optimisations make filters of int8 uint8 where a processor would saturate products.
    """
    options = session_options()
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    return options


@cache
def saturates() -> bool:
    """Whether kernels of uint8 by int8 saturate sums of two products on this processor, where
    nothing is optimised: those of x86-64 without VNNI do."""
    w = numpy_helper.from_array(np.full((2, 1), 127, np.int8), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["x", "w"], ["y"])],
        "products",
        [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, [1, 2])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.INT32, [1, 1])],
        [w],
    )
    opset = helper.make_opsetid("", 17)
    made = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    found = results(made, {"x": np.full((1, 2), 255, np.uint8)}, optimised=False)
    return bool(found["y"].item() != 2 * 255 * 127)


def session(model: onnx.ModelProto | Path, *, optimised: bool = True) -> Any:
    """That runs ``model``; raises what the runtime raises where it refuses it."""
    options = session_options()
    options.intra_op_num_threads = 1
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    given = str(model) if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(given, options, ["CPUExecutionProvider"])


def results(
    model: onnx.ModelProto | Path, feeds: Mapping[str, Values], *, optimised: bool = True
) -> dict[str, Values]:
    """What it makes of ``feeds``, by the name of the output."""
    running = session(model, optimised=optimised)
    names = [output.name for output in running.get_outputs()]
    return dict(zip(names, running.run(names, dict(feeds)), strict=True))

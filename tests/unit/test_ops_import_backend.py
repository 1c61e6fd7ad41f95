"""Every importer against the test cases that ONNX ships for its operators."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.kernels.ops import importers
from edgeconv.model.frontend import load
from tests.ir_interpreter import computed, evaluate
from tests.onnx_node_cases import node_cases
from tests.onnx_suite.passing import INEXACT

# Operators without an importer that their ONNX definition brings in.
DEFINED_BY_OTHERS = (
    "Mish",
    "RMSNormalization",
    "RotaryEmbedding",
    "SwiGLU",
)

# Operators that ONNX has no float32 case for: test_ops_import.py and test_quantised.py have.
NOT_COVERED = {
    *("Cast", "CastLike"),
    *("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"),
    *("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"),
    # what has no counterpart in the interpreter: tests/onnx_suite compiles and runs it
    *("ArgMax", "ArgMin", "BitCast", "CumProd", "CumSum", "Hardmax", "OneHot", "Range", "TopK"),
    *("GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND", "Trilu"),
    *("GRU", "LSTM", "RNN"),
    *("AffineGrid", "CenterCropPad", "ConstantOfShape", "STFT"),
    *("BlackmanWindow", "HammingWindow", "HannWindow", "Einsum", "GlobalLpPool"),
    *("ai.onnx.ml.SVMClassifier", "ai.onnx.ml.TreeEnsembleRegressor"),
    *("Compress", "NonMaxSuppression", "NonZero", "TfIdfVectorizer", "Unique"),
}


@cache
def cases() -> dict[str, list[Any]]:
    """Operator -> its cases of one node whose data is float32 before and after."""
    by_operator: dict[str, list[Any]] = defaultdict(list)
    for case in node_cases():
        nodes = case.model.graph.node
        inputs, outputs = case.data_sets[0]
        arrays = [*inputs, *outputs]
        if len(nodes) != 1 or not all(isinstance(a, np.ndarray | np.generic) for a in arrays):
            continue
        if inputs and inputs[0].dtype == np.float32 == outputs[0].dtype:
            by_operator[nodes[0].op_type].append(case)
    return by_operator


def check_case(case: Any, folder: Path) -> None:
    """Import ``case`` and compare every output; raises EdgeconvError when it is refused.

    Inputs of other types than float32 become constants.  Where the operator demands it, so do all
    but the first.
    """
    inputs, outputs = case.data_sets[0]
    names = [value.name for value in case.model.graph.input]
    arrays = dict(zip(names, map(np.asarray, inputs), strict=True))
    integers = {name for name in names if arrays[name].dtype != np.float32}
    refusal = None
    for attempt, constants in enumerate((integers, set(names[1:]))):
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        del model.graph.input[:]
        model.graph.input.extend(v for v in case.model.graph.input if v.name not in constants)
        for name in sorted(constants):
            model.graph.initializer.append(numpy_helper.from_array(arrays[name], name))
        feeds = {name: arrays[name] for name in names if name not in constants}
        path = folder / f"{case.name}{attempt}.onnx"
        onnx.save(model, path)
        try:
            graph = load(path, input_shapes={name: a.shape for name, a in feeds.items()})
        except EdgeconvError as error:
            refusal = error
            continue
        if not computed(graph):
            continue  # tests/onnx_suite compiles and runs it
        values = evaluate(graph, feeds)
        for name, want in zip(graph.outputs, outputs, strict=True):
            np.testing.assert_allclose(
                values[name], want, case.rtol, max(case.atol, 1e-6), err_msg=case.name
            )
        return
    if refusal is not None:
        raise refusal


@pytest.mark.parametrize("operator", sorted({*importers(), *DEFINED_BY_OTHERS} - NOT_COVERED))
def test_onnx_cases(operator: str, tmp_path: Path) -> None:
    assert cases()[operator], "ONNX ships no case"
    for case in cases()[operator]:
        if case.name not in INEXACT:
            check_case(case, tmp_path)

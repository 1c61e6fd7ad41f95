"""Operators with several outputs of which something reads only some, each set of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.defs import OpSchema

from edgeconv.base.errors import EdgeconvError
from edgeconv.kernels.ops import importers, typed_importers
from edgeconv.model.frontend import load
from edgeconv.model.frontend.definitions import row_of
from edgeconv.model.frontend.running import prepared
from edgeconv.model.passes import optimise
from tests.onnx_models import Values

pytest.importorskip("onnxruntime", reason="what runs graphs in these tests")

_RNG = np.random.default_rng(11)
_ML, _MICROSOFT, _TRAINING = "ai.onnx.ml", "com.microsoft", "ai.onnx.preview.training"


def _some(*shape: int) -> Values:
    return _RNG.standard_normal(shape).astype(np.float32)


def _above_zero(*shape: int) -> Values:
    return np.abs(_some(*shape))


def _recurrent(gates: int) -> dict[str, Values]:
    return {"w": _some(2, gates * 3, 4), "r": _some(2, gates * 3, 3)}


def _trees() -> dict[str, Any]:
    return {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0],
        "nodes_values": [0.1, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "class_treeids": [0, 0, 0, 0], "class_nodeids": [1, 1, 2, 2], "class_ids": [0, 1, 0, 1],
        "class_weights": [0.2, 0.8, 0.7, 0.3], "classlabels_int64s": [4, 7],
    }  # fmt: skip


Shapes = dict[str, tuple[int, ...]]
_SEQUENCE: Shapes = {"x": (5, 2, 4)}
_BOTH: dict[str, Any] = {"hidden_size": 3, "direction": "bidirectional"}
_QUERIES: Shapes = dict.fromkeys("qkv", (1, 2, 5, 4))
_VECTORS: dict[str, Any] = {
    "coefficients": [0.3, -0.7, 0.9, 0.4],
    "support_vectors": [0.1, 0.5, -1.0, 0.2, 0.8, -0.3, 1.2, 0.0],
    "vectors_per_class": [2, 2], "rho": [0.1], "classlabels_ints": [3, 5], "kernel_type": "RBF",
    "kernel_params": [0.5, 0.0, 3.0], "prob_a": [-1.5], "prob_b": [0.2],
}  # fmt: skip

# Domain, operator, opset, outputs, shapes of inputs, constants behind them, attributes.
Case = tuple[str, str, int, int, Shapes, dict[str, Values], dict[str, Any]]
CASES: list[Case] = [
    ("", "MaxPool", 22, 2, {"x": (1, 2, 7, 6)}, {}, {"kernel_shape": [3, 2], "strides": [2, 2]}),
    ("", "MaxPool", 11, 2, {"x": (1, 2, 9)}, {}, {"kernel_shape": [3], "auto_pad": "SAME_UPPER"}),
    ("", "LayerNormalization", 17, 3, {"x": (2, 3, 4)}, {"s": _some(4), "b": _some(4)}, {}),
    ("", "LSTM", 14, 3, _SEQUENCE, _recurrent(4), _BOTH),
    ("", "GRU", 14, 2, _SEQUENCE, _recurrent(3), _BOTH),
    ("", "RNN", 14, 2, _SEQUENCE, _recurrent(1), _BOTH),
    ("", "TopK", 11, 2, {"x": (2, 7)}, {"k": np.array([3])}, {}),
    ("", "Split", 13, 3, {"x": (2, 6)}, {"sizes": np.array([1, 2, 3])}, {"axis": 1}),
    ("", "Split", 18, 3, {"x": (2, 6)}, {}, {"axis": 1, "num_outputs": 3}),
    ("", "DynamicQuantizeLinear", 11, 3, {"x": (2, 6)}, {}, {}),
    ("", "Dropout", 13, 2, {"x": (2, 6)}, {}, {}),
    ("", "SoftmaxCrossEntropyLoss", 13, 2, {"x": (3, 4)}, {"at": np.array([0, 3, 2])}, {}),
    ("", "Attention", 23, 4, _QUERIES, {}, {}),
    ("", "LinearAttention", 27, 2, dict.fromkeys("qkv", (1, 3, 8)), {},
     {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}),
    ("", "CausalConvWithState", 27, 2, {"x": (1, 3, 6)}, {"w": _some(3, 1, 4)}, {}),
    ("", "Unique", 11, 4, {"x": (5,)}, {}, {}),
    ("", "BatchNormalization", 15, 3, {"x": (2, 3, 4)},
     {"s": _some(3), "b": _some(3), "m": _some(3), "v": _above_zero(3)}, {"training_mode": 1}),
    (_ML, "LinearClassifier", 1, 2, {"x": (3, 4)}, {},
     {"coefficients": [*np.linspace(-1, 1, 12)], "intercepts": [0.5] * 3,
      "classlabels_ints": [1, 2, 3]}),
    (_ML, "SVMClassifier", 1, 2, {"x": (3, 2)}, {}, _VECTORS),
    (_ML, "TreeEnsembleClassifier", 1, 2, {"x": (3, 2)}, {}, _trees()),
    (_TRAINING, "Momentum", 1, 2, {"x": (3,), "g": (3,), "v": (3,)}, {},
     {"alpha": 0.9, "beta": 0.5, "mode": "standard", "norm_coefficient": 0.1}),
    (_TRAINING, "Adagrad", 1, 2, {"x": (3,), "g": (3,)}, {"h": _above_zero(3)}, {}),
    (_TRAINING, "Adam", 1, 3, {"x": (3,), "g": (3,), "v": (3,)}, {"h": _above_zero(3)}, {}),
    (_MICROSOFT, "MultiHeadAttention", 1, 3, dict.fromkeys("qkv", (1, 3, 8)), {}, {"num_heads": 2}),
    (_MICROSOFT, "Attention", 1, 2, {"x": (1, 3, 8)}, {"w": _some(8, 24), "b": _some(24)},
     {"num_heads": 2}),
]  # fmt: skip
# Of ONNX; of BatchNormalization either one or all are written.
_MAY_LEAVE_OUT = [case for case in CASES if not case[0] and case[1] != "BatchNormalization"]
# A set of outputs that an operator is refused with, and what the refusal says.
_REFUSED = {"BatchNormalization": ((True, False, False), "export the model in eval mode")}
# Of outputs that no inference knows the size of, what a model states: of five different numbers.
_STATED = {"Unique": [(TensorProto.FLOAT, [5]), *[(TensorProto.INT64, [5])] * 3]}
_IDS = [f"{op_type}-{opset}" for _, op_type, opset, *_ in CASES]
_FIRST = {_TRAINING: {"rate": np.float32(0.1), "updates": np.array(1)}}  # of the inputs


def _output(op_type: str, index: int) -> onnx.ValueInfoProto:
    stated = _STATED.get(op_type)
    if stated is None:
        return onnx.ValueInfoProto(name=f"y{index}")
    return helper.make_tensor_value_info(f"y{index}", *stated[index])


def _model(case: Case, read: tuple[bool, ...], *, left_out: bool) -> onnx.ModelProto:
    """One node that writes all outputs, or leaves out those that nothing reads."""
    domain, op_type, opset, count, shapes, constants, attrs = case
    outputs = [f"y{i}" for i in range(count)]
    if left_out:
        outputs = [name if wanted else "" for name, wanted in zip(outputs, read, strict=True)]
        while not outputs[-1]:
            outputs.pop()
    first = _FIRST.get(domain, {})
    inputs = [*first, *shapes, *constants]
    node = helper.make_node(op_type, inputs, outputs, name="node", domain=domain, **attrs)
    graph = helper.make_graph(
        [node],
        "test",
        [helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()],
        [_output(op_type, i) for i, wanted in enumerate(read) if wanted],
        [
            numpy_helper.from_array(np.asarray(value), name)
            for name, value in {**first, **constants}.items()
        ],
    )
    opsets = [helper.make_opsetid("", opset if not domain else 17)]
    opsets += [helper.make_opsetid(domain, opset)] if domain else []
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _subsets(count: int) -> Iterator[tuple[bool, ...]]:
    return (read for read in product((False, True), repeat=count) if any(read))


def _computed(model: onnx.ModelProto, inputs: dict[str, Values], folder: Path) -> dict[str, Values]:
    path = folder / "model.onnx"
    onnx.save(model, path)
    graph = load(path)
    assert optimise(graph).outputs == graph.outputs
    return prepared(graph)({name: inputs[name] for name in graph.inputs})


@pytest.mark.parametrize("case", CASES, ids=_IDS)
def test_each_set_of_outputs(case: Case, tmp_path: Path) -> None:
    """Alone they are what they are beside the others."""
    _, op_type, _, count, shapes, *_ = case
    inputs = {name: _some(*shape) for name, shape in shapes.items()}
    whole = _computed(_model(case, (True,) * count, left_out=False), inputs, tmp_path)
    assert len(whole) == count
    refused, why = _REFUSED.get(op_type, ((), ""))
    for read in _subsets(count):
        model = _model(case, read, left_out=False)
        if read == refused:
            with pytest.raises(EdgeconvError) as caught:
                _computed(model, inputs, tmp_path)
            assert why in "\n".join(caught.value.details)
            continue
        found = _computed(model, inputs, tmp_path)
        assert found.keys() == {f"y{i}" for i, wanted in enumerate(read) if wanted}
        for name, value in found.items():
            np.testing.assert_allclose(
                value, whole[name], rtol=1e-5, atol=1e-6, err_msg=f"{name} of {read}"
            )


@pytest.mark.parametrize("case", _MAY_LEAVE_OUT, ids=lambda case: f"{case[1]}-{case[2]}")
def test_outputs_that_are_left_out(case: Case, tmp_path: Path) -> None:
    """Those that ONNX has as optional have no name where nothing reads them."""
    _, op_type, opset, count, shapes, *_ = case
    schema = onnx.defs.get_schema(op_type, opset)
    optional = [
        schema.outputs[min(i, len(schema.outputs) - 1)].option
        == OpSchema.FormalParameterOption.Optional
        for i in range(count)
    ]
    inputs = {name: _some(*shape) for name, shape in shapes.items()}
    whole = _computed(_model(case, (True,) * count, left_out=False), inputs, tmp_path)
    for read in _subsets(count):
        if all(wanted or may for wanted, may in zip(read, optional, strict=True)):
            found = _computed(_model(case, read, left_out=True), inputs, tmp_path)
            for name, value in found.items():
                np.testing.assert_allclose(
                    value, whole[name], rtol=1e-5, atol=1e-6, err_msg=f"{name} of {read}"
                )


def test_the_sum_of_a_skip_layer_normalization(tmp_path: Path) -> None:
    """Mean and inverse deviation, which stand between, are made in training only."""
    shapes: Shapes = {"x": (1, 3, 4), "skip": (1, 3, 4)}
    constants = {"gamma": _some(4)}
    case: Case = (_MICROSOFT, "SkipLayerNormalization", 1, 4, shapes, constants, {})
    inputs = {name: _some(*shape) for name, shape in shapes.items()}
    normalised, total = (True, False, False, False), (False, False, False, True)
    both = _computed(_model(case, (True, False, False, True), left_out=True), inputs, tmp_path)
    np.testing.assert_allclose(both["y3"], inputs["x"] + inputs["skip"], rtol=1e-6)
    for read, name in ((normalised, "y0"), (total, "y3")):
        found = _computed(_model(case, read, left_out=True), inputs, tmp_path)
        np.testing.assert_allclose(found[name], both[name], rtol=1e-5)
    with pytest.raises(EdgeconvError) as caught:
        _computed(_model(case, normalised, left_out=False), inputs, tmp_path)
    assert "made in training only" in "\n".join(caught.value.details)


def test_every_operator_of_onnx_is_among_them() -> None:
    """Whatever is compiled and has several outputs."""
    several = set()
    for schema in onnx.defs.get_all_schemas():
        last = (
            schema.outputs[-1].option if schema.outputs else OpSchema.FormalParameterOption.Single
        )
        if len(schema.outputs) < 2 and last != OpSchema.FormalParameterOption.Variadic:
            continue
        name = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
        node = helper.make_node(schema.name, [], [], domain=schema.domain)
        names = ("has_function", "has_context_dependent_function")
        body = any(getattr(schema, name) for name in names)  # which onnx does not publish types of
        if name in importers() or name in typed_importers() or row_of(node) or body:
            several.add((schema.domain, schema.name))
    several -= {("", "SequenceMap")}  # whose outputs are sequences, of which all or none is read
    assert several <= {(domain, op_type) for domain, op_type, *_ in CASES}

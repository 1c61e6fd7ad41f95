"""Loop, Scan and If, as layers or written out: the graph computes what ONNX Runtime makes of the
model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import load
from edgeconv.model.frontend.running import prepared
from tests.command import BOARD, Command
from tests.recurrent_models import expected

Array = npt.NDArray[Any]
_KINDS = {
    "float": onnx.TensorProto.FLOAT,
    "bool": onnx.TensorProto.BOOL,
    "int64": onnx.TensorProto.INT64,
}


def _value(name: str, shape: Sequence[int] | None, kind: str = "float") -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, _KINDS[kind], shape)


def _model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: dict[str, Any] | None = None,
) -> onnx.ModelProto:
    held = [numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "control", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _loop(condition: Sequence[onnx.NodeProto], *, collects: bool = True) -> onnx.ModelProto:
    """h = tanh(h + x), six times, or as long as ``condition``, which writes ``goes_on``, says; what
    it collects is the sums."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["h", "x"], ["sum"]),
            helper.make_node("Tanh", ["sum"], ["h_out"]),
            *condition,
        ],
        "body",
        [
            helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            _value("going", [], "bool"),
            _value("h", None),
        ],
        [_value("goes_on", [], "bool"), _value("h_out", None), *[_value("sum", None)] * collects],
    )
    results = ["last", "all"] if collects else ["last"]
    node = helper.make_node("Loop", ["trips", "yes", "h0"], results, "loop", body=body)
    constants = {"trips": np.int64(6), "yes": np.True_, "most": np.float32(1.5)}
    inputs = [_value("x", [2, 3]), _value("h0", [2, 3])]
    return _model([node], inputs, [_value(name, None) for name in results], constants)


def _scan() -> onnx.ModelProto:
    """Running sums along the second axis, from behind, and their squares in the order of x."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "row"], ["sum_out"]),
            helper.make_node("Mul", ["sum_out", "sum_out"], ["square"]),
        ],
        "body",
        [_value("sum", [2]), _value("row", [2])],
        [_value("sum_out", [2]), _value("square", [2])],
    )
    node = helper.make_node(
        "Scan",
        ["h0", "x"],
        ["last", "squares"],
        "scan",
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[1],
        scan_output_axes=[-1],
        scan_output_directions=[1],
    )
    inputs = [_value("h0", [2]), _value("x", [2, 5])]
    return _model([node], inputs, [_value("last", [2]), _value("squares", [2, 5])])


def _scans() -> onnx.ModelProto:
    """Two scans, as opsets before 9 have them."""
    scan = _scan()
    scan.opset_import[0].version = 8
    scan.ir_version = 3
    (node,) = scan.graph.node
    node.input.insert(0, "")
    kept = [each for each in node.attribute if each.name in ("body", "num_scan_inputs")]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("directions", [1])])
    for value, shape in ((0, (2, 2)), (1, (2, 5, 2))):
        scan.graph.input[value].CopyFrom(_value(scan.graph.input[value].name, shape))
        scan.graph.output[value].CopyFrom(_value(scan.graph.output[value].name, shape))
    return scan


def _if(rows: int) -> onnx.ModelProto:
    """A condition of run time; the other branch has a result of so many rows, 0: the transposed."""
    other = ("Concat", ["x"] * rows) if rows else ("Transpose", ["x"])
    branches = [
        helper.make_graph(
            [helper.make_node(op, inputs, ["result"])], op, [], [_value("result", None)]
        )
        for op, inputs in (("Exp", ["x"]), other)
    ]
    if rows:
        branches[1].node[0].attribute.append(helper.make_attribute("axis", 0))
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["condition"]),
        helper.make_node(
            "If", ["condition"], ["y"], "if", then_branch=branches[0], else_branch=branches[1]
        ),
    ]
    outputs = [_value("y", None)]
    return _model(nodes, [_value("x", [1, 3])], outputs, {"zero": np.float32(0)})


def _sequence(output: str) -> onnx.ModelProto:
    """x cut in rows, of which the last comes first and the second goes: 3 rows of 4."""
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["rows"], axis=0),
        helper.make_node("SequenceAt", ["rows", "last"], ["row"]),
        helper.make_node("SequenceInsert", ["rows", "row", "first"], ["more"]),
        helper.make_node("SequenceErase", ["more", "second"], ["fewer"]),
        helper.make_node("ConcatFromSequence", ["fewer"], ["y"], axis=0),
    ]
    constants = {"last": np.int64(-1), "first": np.int64(0), "second": np.int64(2)}
    kind = _value(output, [4, 2])
    if output != "y":
        kind = helper.make_tensor_sequence_value_info(output, onnx.TensorProto.FLOAT, [1, 2])
    return _model(nodes, [_value("x", [4, 2])], [kind], constants)


_GOES_ON = [helper.make_node("Identity", ["going"], ["goes_on"])]
_COUNTED = [  # until a sum that it makes is large
    helper.make_node("ReduceMax", ["sum"], ["peak"], keepdims=0),
    helper.make_node("Less", ["peak", "most"], ["goes_on"]),
]


@pytest.mark.parametrize(
    "model",
    [_loop(_GOES_ON), _loop(_COUNTED, collects=False), _scan(), _scans(), _if(1), _sequence("y")],
    ids=["loop", "bounded loop", "scan", "scans", "if", "sequence"],
)
def test_control_flow_computes_the_same(model: onnx.ModelProto, tmp_path: Path) -> None:
    onnx.save(model, tmp_path / "net.onnx")
    run = prepared(load(tmp_path / "net.onnx"))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        feeds: dict[str, Array] = {
            value.name: rng.uniform(
                -1, 1, [d.dim_value for d in value.type.tensor_type.shape.dim]
            ).astype(np.float32)
            for value in model.graph.input
        }
        got = run(feeds)
        names = [value.name for value in model.graph.output]
        for name, want in zip(names, expected(model, feeds), strict=True):
            np.testing.assert_allclose(got[name], want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (_loop(_COUNTED), "its condition is computed at run time, and so is the size of what"),
        (_if(0), "its branches have results [1, 3] and [3, 1]"),
    ],
    ids=["loop", "if"],
)
def test_what_is_not_known_is_refused(model: onnx.ModelProto, said: str, tmp_path: Path) -> None:
    onnx.save(model, tmp_path / "net.onnx")
    with pytest.raises(EdgeconvError) as error:
        load(tmp_path / "net.onnx")
    assert said in "\n".join(error.value.details)


def test_an_output_that_is_a_sequence_is_its_tensors(tmp_path: Path) -> None:
    onnx.save(_sequence("fewer"), tmp_path / "net.onnx")
    outputs = load(tmp_path / "net.onnx").outputs
    assert outputs == tuple(f"fewer_{i}" for i in range(len(outputs)))
    assert outputs


def test_many_trips_need_a_higher_limit(tmp_path: Path) -> None:
    """Of bodies that are written out, as few trips are."""
    onnx.save(_recurrent(3), tmp_path / "net.onnx")
    with limits.given({"loop-trips": 2}), pytest.raises(EdgeconvError, match="loop-trips"):
        load(tmp_path / "net.onnx")


def test_trips_have_their_constants_in_common(edgeconv: Command, tmp_path: Path) -> None:
    """A recurrent layer that arrives as a Loop: as many bytes for any number of steps."""
    sizes = set()
    for trips in (5, 9):
        onnx.save(_recurrent(trips), tmp_path / "net.onnx")
        edgeconv.ok("compile", tmp_path / "net.onnx", "--board", BOARD, "-o", tmp_path / "net")
        report = json.loads((tmp_path / "net" / "report.json").read_text())
        sizes.add(report["flash"]["weights"])
    assert len(sizes) == 1


def _recurrent(trips: int) -> onnx.ModelProto:
    random = np.random.default_rng(7)
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["x_i"], axis=0),
        helper.make_node("MatMul", ["x_i", "w"], ["of_input"]),
        helper.make_node("Add", ["of_input", "b"], ["biased"]),
        helper.make_node("MatMul", ["before", "r"], ["of_state"]),
        helper.make_node("Add", ["biased", "of_state"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["state"]),
        helper.make_node("Identity", ["going"], ["goes_on"]),
    ]
    going = [_value("i", [], "int64"), _value("going", [], "bool"), _value("before", [1, 5])]
    left = [_value("goes_on", [], "bool"), _value("state", [1, 5])]
    drawn = {"w": (3, 5), "r": (5, 5), "b": (5,)}
    constants = [
        numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
        for name, shape in drawn.items()
    ]
    body = helper.make_graph(nodes, "step", going, left, constants)
    loop = helper.make_node("Loop", ["trips", "always", "first"], ["y"], body=body)
    given = {"trips": np.int64(trips), "always": np.bool_(True), "first": np.ones((1, 5), "f")}
    return _model([loop], [_value("x", [trips, 1, 3])], [_value("y", [1, 5])], given)

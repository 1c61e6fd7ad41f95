"""TopK of every element type, NonMaxSuppression of odd boxes: as ONNX Runtime has them, and ONNX's
reference evaluator where the runtime lacks a type."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

pytest.importorskip("onnxruntime", reason="it runs what is compared")
from tests.models.data_dependent_graph import Values, expected
from tests.models.data_dependent_programs import check_in_c, check_rewritten, merged, rewritten

pytestmark = pytest.mark.usefixtures("unoptimised")

# Of ONNX 18.  ONNX Runtime has no TopK of the last three.
TYPES = ("float", "double", "float16", "int8", "int16", "int32", "int64", "uint8")
MORE_TYPES = ("uint16", "uint32", "uint64")
SIZE = 6
# (axis, k, largest); no k: as many as there are.
WHOLE = tuple(itertools.product((0, -1), (0, 1, 3, None), (1, 0)))
FEW = ((0, 3, 1), (-1, None, 0), (-1, 1, 1))
IN_FULL = ("float", "int64", "uint8")  # of the others few: all of them take the compiler 20 s


def drawn(kind: str) -> Values:
    """Many equal ones; infinities and NaN where the type has them."""
    rng = np.random.default_rng(len(kind))
    dtype = np.dtype({"float": "float32", "double": "float64"}.get(kind, kind))
    low = 0 if dtype.kind == "u" else -4
    x = rng.integers(low, 5, (4, SIZE)).astype(dtype)
    if dtype.kind != "f":
        x[1] = np.iinfo(dtype).max
        x[2, 1::2] = np.iinfo(dtype).min
        return x
    x[0, 2] = x[1, ::2] = np.nan
    x[2] = [np.inf, np.nan, -np.inf, np.inf, np.nan, 0]
    x[3] = -np.inf
    return x


def tops(
    kind: str, ways: Sequence[tuple[int, int | None, int]] = WHOLE, *, opset: int = 18
) -> tuple[onnx.ModelProto, dict[str, Values]]:
    """Of the largest and the smallest, few and all and none, along each axis, as ``ways`` say."""
    nodes, outputs = [], []
    x = drawn(kind)
    elem = helper.np_dtype_to_tensor_dtype(x.dtype)
    for axis, k, largest in ways:
        size = x.shape[axis] if k is None else k
        tag = f"{kind}_{axis % 2}_{size}_{largest}"
        names = [f"v_{tag}", f"i_{tag}"]
        nodes.append(
            helper.make_node("TopK", [kind, f"{kind}_k{size}"], names, axis=axis, largest=largest)
        )
        shape = [size, SIZE] if axis == 0 else [4, size]
        outputs += [helper.make_tensor_value_info(names[0], elem, shape)]
        outputs += [helper.make_tensor_value_info(names[1], TensorProto.INT64, shape)]
    sizes = {name: int(name.rpartition("k")[2]) for name in (node.input[1] for node in nodes)}
    held = [numpy_helper.from_array(np.array([k], np.int64), name) for name, k in sizes.items()]
    given = [helper.make_tensor_value_info(kind, elem, x.shape)]
    graph = helper.make_graph(nodes, "tops", given, outputs, held)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return made, {kind: x}


def merged_tops(
    *, in_full: Sequence[str]
) -> tuple[onnx.ModelProto, dict[str, Values], dict[str, Values]]:
    """One model of all types, its inputs and what comes out."""
    made, given, wanted = [], dict[str, Values](), dict[str, Values]()
    for kind in (*TYPES, *MORE_TYPES):
        model, feeds = tops(kind, WHOLE if kind in in_full else FEW)
        made.append(model)
        given |= feeds
        if kind in TYPES:
            wanted |= expected(model, feeds)
        else:
            names = [output.name for output in model.graph.output]
            found: Any = ReferenceEvaluator(model).run(None, feeds)
            wanted |= dict(zip(names, found, strict=True))
    return merged(made), given, wanted


def test_the_runtime_and_the_reference_agree() -> None:
    """On equal elements, of which that with the smaller index is first, and on NaN, which is more
    than any number."""
    for kind in ("float", "int32"):
        model, feeds = tops(kind)
        found: Any = ReferenceEvaluator(model).run(None, feeds)
        for one, other in zip(expected(model, feeds).values(), found, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "in_full", [IN_FULL, pytest.param((*TYPES, *MORE_TYPES), marks=pytest.mark.slow)], ids=len
)
def test_the_first_few_of_every_type(tmp_path: Path, in_full: Sequence[str]) -> None:
    model, given, wanted = merged_tops(in_full=in_full)
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    check_in_c(path, "generic-c", [given], [wanted])


def test_bfloat16(tmp_path: Path) -> None:
    """From opset 24 on; as float32 has the same numbers."""
    x = drawn("float")
    wanted = expected(*tops("float"))
    model, _ = tops("float", opset=24)
    text = model.SerializeToString()
    other = onnx.ModelProto.FromString(text)
    for value in (*other.graph.input, *other.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.BFLOAT16
    path = tmp_path / "net.onnx"
    onnx.save(other, path)
    narrow = {
        name: value.astype(ml_dtypes.bfloat16) if value.dtype == np.float32 else value
        for name, value in wanted.items()
    }
    check_in_c(path, "generic-c", [{"float": x.astype(ml_dtypes.bfloat16)}], [narrow])


def suppressions() -> tuple[onnx.ModelProto, dict[str, Values]]:
    """Two batches and three classes; corners turned, boxes without area or inside one another,
    infinite scores, equal ones, and NaN where a limit keeps it out."""
    rng = np.random.default_rng(3)
    corner = rng.integers(0, 6, (2, 24, 2)).astype(np.float32)
    size = rng.integers(-3, 4, (2, 24, 2)).astype(np.float32)
    boxes = np.concatenate([corner, corner + size], axis=2)
    centred = np.concatenate([corner, np.abs(size)], axis=2)
    scores = rng.integers(-3, 4, (2, 3, 24)).astype(np.float32)
    scores[0, 1, 3], scores[1, 2, ::5] = np.inf, -np.inf
    odd = scores.copy()
    odd[:, :, 2::7] = np.nan
    constants = {
        "many": np.int64(1000),
        "two": np.array([2]),
        "less": np.int64(-1),
        "half": np.float32(0.5),
        "none": np.zeros(1, np.float32),
        "all": np.float32(1.0),
    }
    rows = {
        "a": ("boxes", "scores", "many"),
        "b": ("boxes", "scores", "two", "half"),
        "c": ("boxes", "scores", "many", "half", "none"),
        "d": ("boxes", "scores", "many", "all", "half"),
        "e": ("boxes", "odd", "many", "half", "none"),
        "f": ("boxes", "odd", "two", "", "half"),
        "g": ("centred", "scores", "many", "half"),
        "h": ("centred", "odd", "two", "none", "none"),
        "i": ("boxes", "scores", "less"),
        "j": ("boxes", "scores"),
    }
    nodes = [
        helper.make_node("NonMaxSuppression", inputs, [name], center_point_box=int(name in "gh"))
        for name, inputs in rows.items()
    ]
    feeds = {"boxes": boxes, "centred": centred, "scores": scores, "odd": odd}
    graph = helper.make_graph(
        nodes,
        "suppressions",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in feeds.items()],
        [helper.make_tensor_value_info(n, TensorProto.INT64, [f"n_{n}", 3]) for n in rows],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()],
    )
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


def test_boxes(tmp_path: Path) -> None:
    model, feeds = suppressions()
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    wanted = expected(model, feeds)
    assert not check_rewritten(rewritten(path), [feeds], [wanted])
    check_in_c(path, "generic-c", [feeds], [wanted])


def test_no_score_is_no_box(tmp_path: Path) -> None:
    """Without a limit ONNX Runtime takes boxes whose score is NaN; here all but those are taken."""
    model, feeds = suppressions()
    del model.graph.node[:], model.graph.output[:]
    model.graph.node.append(
        helper.make_node("NonMaxSuppression", ["boxes", "odd", "many", "all"], ["y"])
    )
    model.graph.output.append(helper.make_tensor_value_info("y", TensorProto.INT64, ["n", 3]))
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    rows = [
        (batch, label, box)
        for batch, label in itertools.product(range(2), range(3))
        for box in sorted(range(24), key=lambda i: -feeds["scores"][batch, label, i])
        if not np.isnan(feeds["odd"][batch, label, box])
    ]
    check_in_c(path, "generic-c", [feeds], [{"y": np.array(rows, np.int64)}])

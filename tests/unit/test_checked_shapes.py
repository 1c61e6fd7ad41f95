"""Shapes that onnx infers are held to what operators are defined to make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from onnx import numpy_helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.layout import Shape
from edgeconv.model.frontend import load
from edgeconv.model.frontend.inference import inferable
from tests.examples import examples
from tests.imported_models import I64, check_model, node_model, weights
from tests.onnx_models import save
from tests.onnx_suite.cases import Case, cases

pytest.importorskip("onnxruntime", reason="the reference engine of these tests")

quick = settings(
    max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def shape_of(source: onnx.ModelProto, folder: Path) -> Shape:
    graph = load(save(source, folder / "model.onnx"))
    return graph[graph.outputs[0]].shape


def inferred(source: onnx.ModelProto) -> list[int]:
    """What onnx takes the shape of the output for; without dimensions where it does not know."""
    known = onnx.shape_inference.infer_shapes(source, data_prop=True).graph.output[0]
    return [d.dim_value for d in known.type.tensor_type.shape.dim]


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize(("extra", "opset"), [(0, 11), (1, 11), (1, 22)])
def test_same_padding_takes_output_padding_away(
    auto_pad: str, extra: int, opset: int, dilation: int, tmp_path: Path
) -> None:
    attrs: dict[str, Any] = {
        "auto_pad": auto_pad, "strides": [2, 2], "output_padding": [extra, extra],
        "dilations": [dilation] * 2, "group": 2,
    }  # fmt: skip
    source = node_model("ConvTranspose", opset, [(1, 2, 3, 4)], [weights(2, 3, 4, 3)], **attrs)
    graph = check_model(source, {"x0": (1, 2, 3, 4)}, tmp_path)
    assert graph[graph.outputs[0]].shape == (1, 6, 6, 8)
    assert (inferred(source) == [1, 6, 6, 8]) == (not extra)  # what this is about


@st.composite
def transposed(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, Any], tuple[int, ...]]:
    """Input sizes, attributes and kernel of a transposed convolution that ONNX Runtime takes."""
    rank = draw(st.integers(1, 3))

    def each(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank))

    sizes, kernel, strides, dilations = each(1, 5), each(1, 4), each(1, 4), each(1, 2)
    attrs: dict[str, Any] = {"strides": strides, "dilations": dilations}
    extra = [draw(st.integers(0, stride - 1)) for stride in strides]
    attrs |= {"output_padding": extra} if draw(st.booleans()) else {}
    extra = attrs.get("output_padding", [0] * rank)
    attrs["auto_pad"] = draw(st.sampled_from(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    each_full = zip(sizes, strides, spans, extra, strict=True)
    full = [(n - 1) * s + span + e for n, s, span, e in each_full]
    if draw(st.booleans()):
        most = [n + s - 1 - e for n, s, e in zip(full, strides, extra, strict=True)]
        attrs["output_shape"] = [draw(st.integers(1, n)) for n in most]
    elif attrs["auto_pad"] == "NOTSET":
        attrs["pads"] = [draw(st.integers(0, 2)) for _ in range(2 * rank)]
        ends = zip(full, attrs["pads"][:rank], attrs["pads"][rank:], strict=True)
        assume(all(n > begin + end for n, begin, end in ends))
    return tuple(sizes), attrs, tuple(kernel)


@quick
@given(of=transposed(), groups=st.sampled_from([1, 2]))
def test_transposed_windows(
    of: tuple[tuple[int, ...], dict[str, Any], tuple[int, ...]], groups: int, tmp_path: Path
) -> None:
    """An output_shape smaller than the input, too, of which onnx infers some dimensions only."""
    sizes, attrs, kernel = of
    w = weights(4, 2, *kernel)
    source = node_model("ConvTranspose", 11, [(1, 4, *sizes)], [w], group=groups, **attrs)
    check_model(source, {"x0": (1, 4, *sizes)}, tmp_path)


LAST64, LAST32 = np.iinfo(I64).max, np.iinfo(np.int32).max


@pytest.mark.parametrize(
    ("start", "end", "step", "count"),
    [
        (-9, np.iinfo(I64).min, -1, 1),  # begins before the first element: there
        (4, LAST64, -1, 5),  # no end, as ONNX Runtime has it
        (9, LAST32, -2, 3),
        (1, LAST64, 1, 4),
        (3, -6, -1, 4),
    ],
)
def test_slices(start: int, end: int, step: int, count: int, tmp_path: Path) -> None:
    bounds = [np.array([value], I64) for value in (start, end, 1, step)]
    source = node_model("Slice", 13, [(2, 5, 3)], bounds)
    graph = check_model(source, {"x0": (2, 5, 3)}, tmp_path)
    assert graph[graph.outputs[0]].shape == (2, count, 3)


REFUSED = {
    "more than the kernel reaches": (
        node_model("ConvTranspose", 11, [(1, 1, 3)], [weights(1, 1, 2)], output_shape=[8]),
        "less than a stride lies beyond them",
    ),
    "all is left out": (
        node_model("ConvTranspose", 11, [(1, 1, 3)], [weights(1, 1, 2)], pads=[2, 2]),
        "pads leave a pixel of every dimension",
    ),
    "channels in no blocks": (
        node_model("DepthToSpace", 13, [(1, 4, 3, 3)], blocksize=3),
        "multiple of 9",
    ),
    "pixels in no blocks": (
        node_model("SpaceToDepth", 13, [(1, 2, 1, 6)], blocksize=2),
        "multiples of blocksize 2",
    ),
    "a kernel that does not fit": (
        node_model("Conv", 11, [(1, 1, 6)], [weights(1, 1, 4)], dilations=[3], strides=[3]),
        "a kernel fits",
    ),
    "a window that does not fit": (
        node_model("MaxPool", 8, [(1, 1, 2)], kernel_shape=[4]),
        "a kernel fits",
    ),
    "a border of less than nothing": (
        node_model("Pad", 18, [(1, 2)], [np.array([-1, 0, -1, 0], I64)]),
        "no more is cropped than there is",
    ),
    "SAME that leaves out pixels": (
        node_model("Conv", 11, [(1, 1, 8)], [weights(1, 1, 1)], strides=[4], auto_pad="SAME_UPPER"),
        "auto_pad is ambiguous",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    """Nodes that their operators give no shape, for some of which onnx infers one."""
    source, rule = REFUSED[name]
    with pytest.raises(EdgeconvError) as caught:
        load(save(source, tmp_path / "model.onnx"))
    assert rule in "\n".join((str(caught.value), *caught.value.details))


def _stated(source: onnx.ModelProto, *shape: int) -> onnx.ModelProto:
    dims = source.graph.output[0].type.tensor_type.shape.dim
    del dims[:]
    dims.extend(onnx.TensorShapeProto.Dimension(dim_value=size) for size in shape)
    return source


def test_another_shape_is_noted_where_one_is_stated(tmp_path: Path) -> None:
    attrs: dict[str, Any] = {"auto_pad": "SAME_LOWER", "strides": [2], "output_padding": [1]}
    source = node_model("ConvTranspose", 11, [(1, 1, 3)], [weights(1, 1, 3)], **attrs)
    assert load(save(_stated(source, 1, 1, 6), tmp_path / "same.onnx")).notes == ()
    (note,) = load(save(_stated(source, 1, 1, 7), tmp_path / "other.onnx")).notes
    assert "'y0' is 1x1x6, stated 1x1x7" in note


def test_what_follows_is_not_noted_again(tmp_path: Path) -> None:
    relu = onnx.helper.make_node("Relu", ["y0"], ["z"], "relu")
    scales = np.array([1, 1, 0.7], np.float32)
    source = node_model("Resize", 13, [(1, 1, 20)], [None, scales], mode="linear")
    source.graph.value_info.append(_stated(source, 1, 1, 13).graph.output[0])
    source.graph.node.append(relu)
    source.graph.output[0].name = "z"
    (note,) = load(save(source, tmp_path / "model.onnx")).notes
    assert note.endswith("'y0' is 1x1x14, stated 1x1x13")


def test_constants_are_evaluated_by_the_same_definition(tmp_path: Path) -> None:
    """onnx's evaluator drops the last window of this, which ONNX Runtime has."""
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    attrs: dict[str, Any] = {"kernel_shape": [3], "strides": [4], "ceil_mode": 1}
    source = node_model("MaxPool", 12, [], [x], auto_pad="VALID", **attrs)
    with pytest.raises(EdgeconvError) as caught:
        shape_of(source, tmp_path)
    assert "cannot be evaluated here" in "\n".join(caught.value.details)


@pytest.mark.parametrize("given", [{}, {"onesided": 1}, {"onesided": 0}])
@pytest.mark.parametrize("windowed", [True, False])
def test_spectra_have_one_side_unless_asked(
    given: dict[str, int], windowed: bool, tmp_path: Path
) -> None:
    """onnx's inference takes two sides where nothing is said."""
    length = np.array(16, I64)
    window = [np.hanning(16).astype(np.float32)] if windowed else [None, length]
    source = node_model("STFT", 17, [(1, 64, 1)], [np.array(8, I64), *window], **given)
    source.graph.node.append(onnx.helper.make_node("Flatten", ["y0"], ["z"], "flat"))
    source.graph.output[0].name = "z"
    sides = 16 if given.get("onesided") == 0 else 9
    assert shape_of(source, tmp_path) == (1, 7 * sides * 2)


def _inferred(case: Case, node: onnx.NodeProto) -> dict[str, bytes] | None:
    """Types of the outputs of ``node``, which stands in ``case``; None where it has none."""
    opsets = {o.domain: o.version for o in case.model.opset_import}
    schema = onnx.defs.get_schema(node.op_type, opsets[node.domain], node.domain)
    given = dict(zip((v.name for v in case.model.graph.input), case.data[0][0], strict=True))
    data = {
        name: numpy_helper.from_array(value, name)
        for name, value in given.items()
        if isinstance(value, np.ndarray) and value.dtype != object and value.size <= 1024
    }
    kinds = {value.name: value.type for value in case.model.graph.input}
    first = given.get(node.input[0]) if node.input else None
    shape = first.shape if isinstance(first, np.ndarray) else None
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    schema, node = inferable(schema, node, shape)
    try:
        found = onnx.shape_inference.infer_node_outputs(
            schema, node, kinds, data, opset_imports=imports
        )
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return None
    return {name: kind.SerializeToString() for name, kind in found.items()}


def test_defaults_written_out_change_no_shape() -> None:
    """Of every operator that ONNX ships a case for, every attribute that has a default."""
    wrong, tried = set(), set()
    for case in cases().values():
        if len(case.model.graph.node) != 1:
            continue
        node = case.model.graph.node[0]
        opsets = {o.domain: o.version for o in case.model.opset_import}
        schema = onnx.defs.get_schema(node.op_type, opsets[node.domain], node.domain)
        for name, attribute in schema.attributes.items():
            if not attribute.default_value.type or (node.op_type, name) in tried:
                continue
            tried.add((node.op_type, name))
            bare, spelled = onnx.NodeProto(), onnx.NodeProto()
            bare.CopyFrom(node)
            kept = [each for each in node.attribute if each.name != name]
            del bare.attribute[:]
            bare.attribute.extend(kept)
            spelled.CopyFrom(bare)
            spelled.attribute.append(attribute.default_value)
            if _inferred(case, bare) != _inferred(case, spelled):
                wrong.add((node.op_type, name))
    assert len(tried) > 150
    assert not wrong


@pytest.mark.parametrize("axis", [0, -3])
def test_concat_is_as_large_as_its_inputs(axis: int, tmp_path: Path) -> None:
    """Of a negative axis onnx's inference of older opsets says nothing."""
    source = node_model("Concat", 10, [(7, 2, 2), (2, 2, 2)], [], axis=axis)
    source.graph.output[0].type.CopyFrom(
        onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, (4, 2, 2))
    )
    assert shape_of(source, tmp_path) == (9, 2, 2)


def test_sizes_that_no_model_can_state(tmp_path: Path) -> None:
    source = node_model("Resize", 19, [(1, 1, 4, 4)], [None, np.array([1, 1, 1, 1e30], np.float32)])
    with pytest.raises(EdgeconvError, match="too large to compile"):
        shape_of(source, tmp_path)

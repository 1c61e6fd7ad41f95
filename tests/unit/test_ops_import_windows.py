"""Windows of convolutions and pools against the reference engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import load
from tests.examples import examples
from tests.imported_models import check_model, node_model, weights
from tests.ir_interpreter import evaluate
from tests.onnx_models import save

pytest.importorskip("onnxruntime", reason="the reference engine of these tests")


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Spatial input sizes, and attributes of a window over them."""
    rank = draw(st.integers(1, 3))
    per_dim = {
        "kernel_shape": st.integers(1, 3), "strides": st.integers(1, 3),
        "dilations": st.integers(1, 2),
    }  # fmt: skip
    attrs: dict[str, Any] = {
        name: draw(st.lists(values, min_size=rank, max_size=rank))
        for name, values in per_dim.items()
    }
    sizes = tuple(draw(st.integers(1, 8)) for _ in range(rank))
    auto_pad = draw(st.sampled_from(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if auto_pad == "NOTSET":
        attrs["pads"] = [draw(st.integers(0, k - 1)) for k in attrs["kernel_shape"] * 2]
    else:
        attrs["auto_pad"] = auto_pad
        if auto_pad != "VALID":  # the engines disagree on dilation here
            attrs["dilations"] = [1] * rank
    spans = [
        (k - 1) * d + 1 for k, d in zip(attrs["kernel_shape"], attrs["dilations"], strict=True)
    ]
    pads = attrs.get("pads", [0] * (2 * rank))
    same = auto_pad.startswith("SAME")
    for i, (size, span) in enumerate(zip(sizes, spans, strict=True)):
        assume(same or size + pads[i] + pads[rank + i] >= span)
    return sizes, attrs


quick = settings(
    max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quick
@given(window=windows(), groups=st.sampled_from([1, 2, 4]))
def test_conv_windows(
    window: tuple[tuple[int, ...], dict[str, Any]], groups: int, tmp_path: Path
) -> None:
    sizes, attrs = window
    w = weights(4, 4 // groups, *attrs["kernel_shape"])
    shape = (2, 4, *sizes)
    source = node_model("Conv", 11, [shape], [w, weights(4)], group=groups, **attrs)
    try:
        check_model(source, {"x0": shape}, tmp_path)
    except EdgeconvError as error:
        if "leave out more than 2 elements" not in "".join(error.details):
            raise
        reject()


@quick
@given(
    window=windows(),
    average=st.booleans(),
    ceil_mode=st.integers(0, 1),
    count_include_pad=st.integers(0, 1),
)
def test_pool_windows(
    window: tuple[tuple[int, ...], dict[str, Any]],
    average: bool,
    ceil_mode: int,
    count_include_pad: int,
    tmp_path: Path,
) -> None:
    sizes, attrs = window
    if "auto_pad" not in attrs:
        attrs["ceil_mode"] = ceil_mode
    else:  # where SAME leaves out elements the engine refuses, or crops
        assume(all(k >= s for k, s in zip(attrs["kernel_shape"], attrs["strides"], strict=True)))
    if average:
        attrs["count_include_pad"] = count_include_pad
    op_type = "AveragePool" if average else "MaxPool"
    source = node_model(op_type, 19, [(1, 2, *sizes)], **attrs)
    try:
        check_model(source, {"x0": (1, 2, *sizes)}, tmp_path)
    except EdgeconvError as error:
        if "every window must cover" not in "".join(error.details):
            raise
        reject()


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("kernel", "stride"), [(1, 2), (2, 3)])
def test_same_that_leaves_out_one_element(
    auto_pad: str, kernel: int, stride: int, tmp_path: Path
) -> None:
    """Nothing is padded; what is left out is the last element."""
    shape = (1, 2, 2 * stride, 6 * stride)
    attrs: dict[str, Any] = {
        "kernel_shape": [kernel] * 2, "strides": [stride] * 2, "auto_pad": auto_pad,
    }  # fmt: skip
    source = node_model("AveragePool", 22, [shape], **attrs)
    (node,) = check_model(source, {"x0": shape}, tmp_path).nodes
    assert node.attrs["pads"] == (0, 0, 0, 0)
    maximum = node_model("MaxPool", 12, [shape], **attrs)  # which ONNX Runtime refuses
    (node,) = load(save(maximum, tmp_path / "maximum.onnx")).nodes
    assert node.attrs["pads"] == (0, 0, 0, 0)


@quick
@given(window=windows(), p=st.sampled_from([1, 2, 3]))
def test_lp_pool_with_ceil_mode(
    window: tuple[tuple[int, ...], dict[str, Any]], p: int, tmp_path: Path
) -> None:
    """What the last windows have beyond the padding counts as nothing."""
    sizes, attrs = window
    assume("auto_pad" not in attrs or all(s == 1 for s in attrs["strides"]))
    source = node_model("LpPool", 18, [(1, 2, *sizes)], p=p, ceil_mode=1, **attrs)
    check_model(source, {"x0": (1, 2, *sizes)}, tmp_path)


@pytest.mark.parametrize(
    "pads", [[0, 0, 7, 3, 0, 0, 2, 9], [0, -1, 4, 1, 0, 3, 0, 8], [0, 0, 3, 0, 0, 0, 3, 0]]
)
def test_pad_wraps_more_than_once(pads: list[int], tmp_path: Path) -> None:
    shape = (1, 2, 3, 4)
    source = node_model("Pad", 19, [shape], [np.array(pads, np.int64)], mode="wrap")
    check_model(source, {"x0": shape}, tmp_path)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    ("sizes", "kernel", "pads"),
    [
        ((2, 5, 6, 3), (1, 2, 3, 1), (0, 1, 1, 0, 0, 0, 1, 0)),  # images, channels behind
        ((4, 1, 3, 1, 2), (2, 1, 2, 1, 1), (0,) * 10),
        ((2, 1, 3, 2), (1, 1, 1, 1), (0,) * 8),
    ],
)
def test_windows_over_many_dimensions(
    op_type: str, sizes: tuple[int, ...], kernel: tuple[int, ...], pads: tuple[int, ...],
    tmp_path: Path,
) -> None:  # fmt: skip
    """By numpy: both reference engines take three dimensions, too."""
    shape, strides = (1, 2, *sizes), [min(k, 2) for k in kernel]
    attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    source = node_model(op_type, 19, [shape], **attrs)
    x = np.random.default_rng(2).standard_normal(shape, dtype=np.float32)
    border = [(0, 0), (0, 0), *zip(pads[: len(sizes)], pads[len(sizes) :], strict=True)]
    wide = np.pad(x, border, constant_values=np.nan)
    taken = sliding_window_view(wide, (1, 1, *kernel))
    for axis, stride in enumerate(strides):
        taken = np.take(taken, range(0, taken.shape[2 + axis], stride), 2 + axis)
    over = tuple(range(-len(shape), 0))
    want = np.nanmax(taken, over) if op_type == "MaxPool" else np.nanmean(taken, over)
    graph = load(save(source, tmp_path / "model.onnx"))
    assert all(len(node.attrs["kernel"]) <= 3 for node in graph.nodes if node.op == "Pool")
    np.testing.assert_allclose(evaluate(graph, {"x0": x})["y0"], want, rtol=1e-5, atol=1e-6)

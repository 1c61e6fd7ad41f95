"""Resize by sizes and by scales against the reference engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.imported_models import I64, check_model, f32, node_model

pytest.importorskip("onnxruntime", reason="the reference engine of these tests")


RESIZES: list[dict[str, Any]] = [
    {"mode": mode, "coordinate_transformation_mode": coordinates}
    for mode in ("nearest", "linear", "cubic")
    for coordinates in ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")
] + [
    *(
        {"mode": "nearest", "nearest_mode": nearest}
        for nearest in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    ),
    {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
]


@pytest.mark.parametrize("attrs", RESIZES, ids=lambda attrs: "-".join(map(str, attrs.values())))
@pytest.mark.parametrize("size", [(10, 12), (3, 4), (7, 11), (5, 1)])
def test_resize_to_sizes(attrs: dict[str, Any], size: tuple[int, int], tmp_path: Path) -> None:
    sizes = np.array([1, 2, *size], I64)
    source = node_model("Resize", 13, [(1, 2, 5, 6)], [None, None, sizes], **attrs)
    check_model(source, {"x0": (1, 2, 5, 6)}, tmp_path)


@pytest.mark.parametrize("scale", [1 / 3, 0.3, 0.5, 0.7, 1.5, 2.0, 2.6])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("size", [7, 9])  # 7 * 0.7: an element lies half way between two
def test_resize_by_scales(scale: float, mode: str, size: int, tmp_path: Path) -> None:
    scales = f32(1, 1, scale, 2)
    source = node_model("Resize", 11, [(1, 1, size, 4)], [f32(), scales], mode=mode)
    check_model(source, {"x0": (1, 1, size, 4)}, tmp_path)


@pytest.mark.parametrize(
    ("size", "scale", "coordinates", "rounding"),
    [
        (16, 0.7, "half_pixel", "round_prefer_floor"),  # 10.5 / 0.7 - 0.5 is 14.5
        (17, 0.7, "pytorch_half_pixel", "round_prefer_floor"),
        (4, 1 / 3, "half_pixel", "floor"),  # 0.5 / (1 / 3) - 0.5 is 1
        (7, 1 / 3, "asymmetric", "floor"),
        (7, 0.5, "half_pixel_symmetric", "ceil"),
        (7, 0.6, "half_pixel_symmetric", "round_prefer_floor"),
    ],
)
def test_resize_to_the_exact_neighbour(
    size: int, scale: float, coordinates: str, rounding: str, tmp_path: Path
) -> None:
    """Where a position is whole or half way between two, it must not be rounded before that."""
    shape = (1, 1, size, 1)
    attrs: dict[str, Any] = {
        "coordinate_transformation_mode": coordinates, "nearest_mode": rounding,
    }  # fmt: skip
    scales = f32(1, 1, scale, 1)
    source = node_model("Resize", 19, [shape], [None, scales], mode="nearest", **attrs)
    check_model(source, {"x0": shape}, tmp_path)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_resize_with_axes(policy: str, tmp_path: Path) -> None:
    source = node_model(
        "Resize", 18, [(1, 2, 5, 6)], [None, None, np.array([9, 7], I64)],
        axes=[2, 3], keep_aspect_ratio_policy=policy, mode="linear",
    )  # fmt: skip
    check_model(source, {"x0": (1, 2, 5, 6)}, tmp_path)


_SIZE = 22
_FRACTIONAL = (0.7, 1.2, 16 / 7, 4.2, 1.01)  # 22 by 1.01 are 22 again: copied


@pytest.mark.parametrize("scale", _FRACTIONAL)
@pytest.mark.parametrize("coordinates", ["asymmetric", "half_pixel", "align_corners"])
@pytest.mark.parametrize("mode", ["linear", "cubic", "floor", "ceil", "round_prefer_ceil"])
def test_resize_by_scales_that_give_no_whole_size(
    mode: str, coordinates: str, scale: float, tmp_path: Path
) -> None:
    """As in ONNX Runtime: the corner is that of the elements there are, and of two neighbours the
    quotient in float32 decides."""
    attrs: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode not in ("linear", "cubic"):
        attrs |= {"mode": "nearest", "nearest_mode": mode}
    shape = (1, 1, _SIZE, 6)
    source = node_model("Resize", 19, [shape], [None, f32(1, 1, scale, scale)], **attrs)
    check_model(source, {"x0": shape}, tmp_path)


@pytest.mark.parametrize(
    ("op_type", "opset", "size", "scale", "want"),
    [
        ("Upsample", 9, 15, 2.6, 39),
        ("Resize", 10, 20, 0.7, 14),
        ("Resize", 19, 20, 0.7, 14),
        ("Resize", 19, 24, 5 / 3, 40),
    ],
)
def test_sizes_are_products_in_float32(
    op_type: str, opset: int, size: int, scale: float, want: int, tmp_path: Path
) -> None:
    """Where onnx's inference of shapes has one element less."""
    constants = [f32(1, 1, scale, 1)] if opset < 11 else [None, f32(1, 1, scale, 1)]
    source = node_model(op_type, opset, [(1, 1, size, 4)], constants, mode="linear")
    graph = check_model(source, {"x0": (1, 1, size, 4)}, tmp_path)
    assert graph[graph.outputs[0]].shape == (1, 1, want, 4)


def test_linear_of_opset_10_shrinks_and_grows(tmp_path: Path) -> None:
    source = node_model("Resize", 10, [(1, 2, 6, 5)], [f32(1, 1, 1.5, 0.5)], mode="linear")
    check_model(source, {"x0": (1, 2, 6, 5)}, tmp_path)

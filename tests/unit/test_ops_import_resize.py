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

"""TensorFlow Lite models of operators on integers with a scale: types, grids and fused activations
that networks have more seldom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.tflite_cases import Case, numbers, whole

_SHORT = (1 / 4096, 1 / 2048)  # scales of int16


def _of_two() -> list[Case]:
    found = []
    pair, vector = [(1, 4, 3, 6)] * 2, [(1, 4, 3, 6), (6,)]
    for kind in ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "MAXIMUM", "MINIMUM"):
        same = kind in ("MAXIMUM", "MINIMUM")
        for dtype, scales in (("int8", (0.0371, 0.0913)), ("int16", _SHORT)):
            more: dict[str, Any] = {"dtype": dtype, "scales": scales, "same": same}
            for label, operands in (("of two", pair), ("by a vector", vector)):
                found.append(Case(kind, operands, pair[:1], {}, label=label, **more))
    for kind in ("ADD", "SUB", "MUL"):
        for label, constant in (
            ("a constant", numbers(1)),
            ("constants by channel", numbers(6)),
            ("constants by row", numbers(4, 1, 1)),
            ("constants", numbers(1, 4, 3, 6)),
        ):
            more = {"scales": (0.0371, 0.0913), "label": f"and {label}"}
            found.append(Case(kind, [pair[0], constant], pair[:1], {}, "int8", **more))
        more = {"scales": (0.0371, 0.0913), "label": "of a constant"}
        found.append(Case(kind, [numbers(1), pair[0]], pair[:1], {}, "int8", **more))
        for activation in ("RELU6", "RELU_N1_TO_1"):
            options = {"activation": activation}
            more = {"scales": (0.0371, 0.0413), "label": f"of two {activation}"}
            found.append(Case(kind, pair, pair[:1], options, "int8", **more))
    found.append(Case("DIV", pair, pair[:1], {}, "int8", 0, offset=0))
    for scales in ((0.0123, 0.0456), (0.5, 0.00390625), (0.2, 0.3)):
        found.append(Case("ADD", pair, pair[:1], {}, "int8", scales=scales, label=f"{scales[0]}"))
    found.append(Case("BATCH_MATMUL", [(2, 5, 4), (2, 4, 6)], [(2, 5, 6)], {}, "int16", 0, _SHORT))
    deep: dict[str, Any] = {"scales": (0.00021, 0.0009), "label": "deep"}
    matrices = [(2, 3, 24), (2, 5, 24)]
    found.append(Case("BATCH_MATMUL", matrices, [(2, 3, 5)], {"adj_y": True}, "int16", 0, **deep))
    return found


def _slopes_and_squares() -> list[Case]:
    """PRELU and SQUARED_DIFFERENCE."""
    x, found = (1, 4, 3, 6), []
    slopes = {"by channel": numbers(6), "alike": np.full(1, 0.25, np.float32), "each": x}
    for label, slope in slopes.items():
        more: dict[str, Any] = {"scales": (0.0371, 0.0213), "label": label}
        found.append(Case("PRELU", [x, slope], [x], {}, "int8", **more))
    more = {"scales": _SHORT, "label": "by channel"}
    found.append(Case("PRELU", [x, numbers(6)], [x], {}, "int16", 0, **more))
    for label, scale in (("far", 0.9), ("near", 0.0071)):
        more = {"scales": (0.0371, scale), "label": label}
        found.append(Case("SQUARED_DIFFERENCE", [x, x], [x], {}, "int8", **more))
    more = {"label": "and constants by channel"}
    found.append(Case("SQUARED_DIFFERENCE", [x, numbers(6)], [x], {}, "int8", **more))
    return found


def _of_one() -> list[Case]:
    found = []
    x: list[Sequence[int]] = [(1, 4, 9)]
    for kind in ("RELU", "RELU6", "RELU_N1_TO_1"):
        scales = (0.0371, 0.0413)
        found.append(Case(kind, x, x, {}, "int8", scales=scales, label="other grid"))
    for kind in ("RELU", "RELU6"):
        found.append(Case(kind, x, x, {}, "int16", scales=_SHORT, label="other grid"))
    found.append(Case("TANH", x, x, {}, "int8", scales=(0.05, 0.01), label="other grid"))
    for kind in ("ABS", "NEG", "RSQRT", "SQRT", "EXP", "LOG", "ELU", "GELU"):
        own: dict[str, Any] = {"approximate": True} if kind == "GELU" else {}
        positive = kind in ("SQRT", "RSQRT", "LOG")
        zero: dict[str, Any] = {"zero": -128, "offset": -128} if positive else {}
        found.append(Case(kind, x, x, own, "int8", **zero))
    found.append(Case("LEAKY_RELU", x, x, {"alpha": 0.3}, "int16", 0, _SHORT))
    more: dict[str, Any] = {"scales": (1 / 3000, 1 / 9000), "label": "steep"}
    found.append(Case("LEAKY_RELU", x, x, {"alpha": 0.07}, "int16", 0, **more))
    for beta in (2.0, 0.7):
        scales, options = (0.1, 1 / 256), {"beta": beta}
        more = {"scales": scales, "offset": -128, "label": f"beta {beta}"}
        found.append(Case("SOFTMAX", x, x, options, "int8", **more))
    found.append(Case("SOFTMAX", x, x, {"beta": 1.0}, "int16", 0, (1 / 4096, 1 / 32768)))
    for shape, scale in (((40, 7), 0.0011), ((2, 150), 0.00009)):
        more = {"scales": (scale, 1 / 32768), "label": f"{scale}"}
        found.append(Case("SOFTMAX", [shape], [shape], {"beta": 1.0}, "int16", 0, **more))
    found.append(Case("LOG_SOFTMAX", x, x, {}, "int8", scales=(0.1, 16 / 256), offset=127))
    found.append(Case("L2_NORMALIZATION", x, x, {}, "int8", scales=(0.1, 1 / 128), offset=0))
    found.append(Case("CAST", x, x, {}, "int8", same=True))
    return found


def _windows() -> list[Case]:
    found = []
    x, near = [(1, 5, 6, 4)], {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    window = {**near, "kernel_w": 2, "kernel_h": 2}
    for activation in ("RELU", "RELU6"):
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            options = {**window, "activation": activation}
            found.append(Case(kind, x, x, options, "int8", same=True, label=activation))
    for side in (2, 3):  # windows with halves, and without
        options = {"padding": "VALID", "kernel_w": side, "kernel_h": side}
        options |= {"stride_w": side, "stride_h": side}
        apart: dict[str, Any] = {"scales": (1 / 1024,) * 2, "same": True, "label": f"{side}x{side}"}
        shapes = [(1, 6, 6, 4)], [(1, 6 // side, 6 // side, 4)]
        found.append(Case("AVERAGE_POOL_2D", *shapes, options, "int16", 0, **apart))
    for height, width, activation in ((3, 2, "NONE"), (4, 3, "RELU"), (1, 6, "NONE")):
        options = {"padding": "SAME", "stride_w": 2, "stride_h": 1, "activation": activation}
        options |= {"kernel_w": width, "kernel_h": height}
        apart = {"scales": (1 / 1024,) * 2, "same": True, "label": f"{height}x{width} SAME"}
        shapes = [(1, 5, 6, 4)], [(1, 5, 3, 4)]
        found.append(Case("AVERAGE_POOL_2D", *shapes, options, "int16", 0, **apart))
    for kind in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        for dtype, scales in (("int16", _SHORT), ("uint8", (0.03, 0.04))):
            same, options = kind.startswith("REDUCE"), {"keep_dims": True}
            zero = 100 if dtype == "uint8" else 0
            more: dict[str, Any] = {"scales": scales, "same": same, "offset": zero}
            operands = [(1, 4, 5, 3), whole(1, 2)]
            shape = [(1, 1, 1, 3)]
            found.append(Case(kind, operands, shape, options, dtype, zero, **more))
    for kind, filters in (("CONV_2D", (4, 3, 3, 4)), ("DEPTHWISE_CONV_2D", (1, 3, 3, 4))):
        for activation in ("RELU", "RELU6", "RELU_N1_TO_1"):
            operands = [*x, numbers(*filters), numbers(4)]
            options = {**near, "activation": activation}
            options |= {"depth_multiplier": 1} if kind == "DEPTHWISE_CONV_2D" else {}
            found.append(Case(kind, operands, x, options, "int8", label=f"4 to 4 {activation}"))
    for size in ((7, 9), (3, 2)):
        options = {"align_corners": False, "half_pixel_centers": True}
        shape = [(1, *size, 4)]
        more = {"scales": _SHORT, "same": True, "label": f"{size[0]}x{size[1]}"}
        operands = [*x, whole(*size)]
        found.append(Case("RESIZE_BILINEAR", operands, shape, options, "int16", 0, **more))
    return found


def _moves() -> list[Case]:
    found = []
    x = (1, 4, 3, 2)
    for dtype in ("float32", "int8"):
        operands = [x, whole(0, 1, 0, 0), whole(1, 2, 3, 1), whole(1, 1, 2, 1)]
        options = {"offset": True}
        more: dict[str, Any] = {"same": True, "label": "offset"}
        found.append(Case("STRIDED_SLICE", operands, [(1, 2, 2, 1)], options, dtype, **more))
    for kind in ("TRANSPOSE", "PAD", "TILE", "SLICE"):
        operands = {
            "TRANSPOSE": [x, whole(0, 2, 3, 1)],
            "PAD": [x, whole(0, 0, 1, 0, 0, 2, 0, 0).reshape(4, 2)],
            "TILE": [x, whole(1, 2, 1, 1)],
            "SLICE": [x, whole(0, 1, 1, 0), whole(1, 2, 2, 2)],
        }[kind]
        shape = {
            "TRANSPOSE": (1, 3, 2, 4),
            "PAD": (1, 5, 5, 2),
            "TILE": (1, 8, 3, 2),
            "SLICE": (1, 2, 2, 2),
        }[kind]
        for dtype in ("int16", "uint8"):
            zero = 0 if dtype == "int16" else 120
            scales = _SHORT if dtype == "int16" else (0.03125, 0.046875)
            more = {"scales": scales, "same": True}
            found.append(Case(kind, operands, [shape], {}, dtype, zero, **more))
    return found


INTEGER_CASES = [*_of_two(), *_slopes_and_squares(), *_of_one(), *_windows(), *_moves()]

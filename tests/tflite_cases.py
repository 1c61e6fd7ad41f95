"""TensorFlow Lite models of one operator each, with inputs, and what its runtime makes of them.

``tflite_expected.npz`` has the outputs of LiteRT's reference kernels (`tests/tflite_engines.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tflite_models import Sketch

Values = npt.NDArray[Any]
EXPECTED = Path(__file__).parent / "tflite_expected.npz"


@dataclass(frozen=True)
class Case:
    """``operands``: shapes of inputs, and constants; ``shapes``: of the outputs.

    ``dtype``: of inputs and outputs; those of integers have ``scales`` (of inputs, of outputs)."""

    kind: str
    operands: Sequence[Any]
    shapes: Sequence[Sequence[int]]
    options: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    zero: int = 3
    scales: tuple[float, float] = (0.03125, 0.046875)
    same: bool = False  # scale and zero point of the outputs are those of the inputs
    offset: int | None = None  # zero point of the outputs
    label: str = ""

    @property
    def name(self) -> str:
        """What it is called."""
        return " ".join(filter(None, (self.kind, self.dtype, self.label)))

    def write(self) -> bytes:
        """The model."""
        sketch, inputs, outputs = self.sketch()
        return sketch.bytes(inputs, outputs)

    def sketch(self) -> tuple[Sketch, list[int], list[int]]:
        """The model as it is before it is written, its inputs and outputs."""
        sketch, inputs, operands = Sketch(), [], []
        scaled = self.dtype != "float32"
        zero = self.zero if self.dtype != "int16" else 0
        for index, each in enumerate(self.operands):
            if isinstance(each, np.ndarray):
                operands.append(self._constant(sketch, f"constant_{index}", each, scaled, index))
                continue
            more: dict[str, Any] = {"scale": [self.scales[0]], "zero": [zero]} if scaled else {}
            operands.append(sketch.tensor(f"input_{index}", each, self.dtype, **more))
            inputs.append(operands[-1])
        outputs = []
        for index, shape in enumerate(self.shapes):
            scale, own = (self.scales[0], zero) if self.same else (self.scales[1], -zero)
            own = own if self.offset is None else self.offset
            if self.kind == "DEQUANTIZE":
                outputs.append(sketch.tensor(f"output_{index}", shape))
                continue
            more = {"scale": [scale], "zero": [own]} if scaled else {}
            outputs.append(sketch.tensor(f"output_{index}", shape, self.dtype, **more))
        sketch.operator(self.kind, operands, outputs, **self.options)
        return sketch, inputs, outputs

    def _constant(self, sketch: Sketch, name: str, values: Values, scaled: bool, index: int) -> int:
        if values.dtype != np.float32 or not scaled:
            return sketch.constant(name, values, values.dtype.name)
        if index == (3 if self.kind == "TRANSPOSE_CONV" else 2):  # a bias
            unit = self.scales[0] * 0.0078125
            kind = "int64" if self.dtype == "int16" else "int32"
            return sketch.constant(name, np.rint(values / unit), kind, scale=[unit], zero=[0])
        scale, old = 0.0078125, self.dtype == "uint8"  # one zero point for all weights, then
        stored = np.clip(np.rint(values / scale), -127, 127) + (120 if old else 0)
        kind = "uint8" if old else "int8"
        stored = np.maximum(stored, np.iinfo(kind).min)
        return sketch.constant(name, stored, kind, scale=[scale], zero=[120 if old else 0])

    def inputs(self) -> dict[str, Values]:
        """Numbers for its inputs, the same every time."""
        rng = np.random.default_rng(sum(map(ord, self.name)))
        found: dict[str, Values] = {}
        for index, each in enumerate(self.operands):
            if not isinstance(each, np.ndarray):
                values = rng.uniform(-3, 3, each)
                if self.kind in ("SQRT", "RSQRT", "LOG", "POW"):
                    values = np.abs(values) + 0.25
                whole = np.rint(values / self.scales[0]) + (128 if self.dtype == "uint8" else 0)
                stored = values if self.dtype == "float32" else whole
                found[f"input_{index}"] = stored.astype(self.dtype)
        return found


def numbers(*shape: int, seed: int = 1) -> Values:
    """Weights."""
    return np.random.default_rng(seed).uniform(-0.9, 0.9, shape).astype(np.float32)


def whole(*values: int) -> Values:
    """An operand of int32."""
    return np.array(values, np.int32)


def _rounded_otherwise() -> list[Case]:
    """Operators whose kernels round in ways of their own: factors, zero points and counts."""
    found = []
    for dtype, zero, own in (("int8", 20, -30), ("uint8", 120, 140)):
        own_zero: dict[str, Any] = {"dtype": dtype, "zero": zero, "offset": own}
        for scales in ((0.03125, 0.015625), (0.0371, 0.0113), (0.0041, 0.097)):
            more = {**own_zero, "scales": scales, "label": f"{scales[0]}"}
            found.append(Case("HARD_SWISH", [(1, 16, 9)], [(1, 16, 9)], **more))
            for shape, axes, kept in (
                ((1, 8, 8, 3), (1, 2), (1, 1, 1, 3)),
                ((1, 5, 7, 6), (2, 1), (1, 1, 1, 6)),
                ((1, 6, 4, 9), (3,), (1, 6, 4, 1)),
            ):
                named = {**more, "label": f"{more['label']} {axes}"}
                operands = [shape, whole(*axes)]
                found.append(Case("MEAN", operands, [kept], {"keep_dims": True}, **named))
    for size in ((1, 9), (11, 3)):
        for corners, half in ((False, False), (True, False), (False, True)):
            operands = [(1, 6, 7, 3), whole(*size)]
            named = {"label": f"6x7 to {size[0]}x{size[1]} {corners:d}{half:d}", "same": True}
            how = {"align_corners": corners, "half_pixel_centers": half}
            shape = (1, *size, 3)
            found.append(Case("RESIZE_BILINEAR", operands, [shape], how, "int8", zero=-90, **named))
    return found


def _both(*arguments: Any, **more: Any) -> list[Case]:
    return [Case(*arguments, **more), Case(*arguments, **{**more, "dtype": "int8"})]


def _windows() -> list[Case]:
    found = []
    for padding, out, stride in (("SAME", (3, 3), 2), ("VALID", (2, 2), 2), ("SAME", (5, 6), 1)):
        options: dict[str, Any] = {"padding": padding, "stride_w": stride, "stride_h": stride}
        more = {"label": f"{padding} {stride}"}
        for activation in ("NONE", "RELU6"):
            found += _both(
                "CONV_2D",
                [(1, 5, 6, 3), numbers(4, 3, 3, 3), numbers(4)],
                [(1, *out, 4)],
                {**options, "activation": activation},
                label=f"{more['label']} {activation}",
            )
        found += _both(
            "DEPTHWISE_CONV_2D",
            [(1, 5, 6, 3), numbers(1, 3, 3, 6), numbers(6)],
            [(1, *out, 6)],
            {**options, "activation": "NONE", "depth_multiplier": 2},
            **more,
        )
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            found += _both(
                kind,
                [(1, 5, 6, 3)],
                [(1, *out, 3)],
                {**options, "kernel_w": 3, "kernel_h": 3, "activation": "NONE"},
                same=True,
                **more,
            )
    dilated = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "dilation_w": 2, "dilation_h": 2}
    found += _both(
        "CONV_2D",
        [(1, 5, 6, 3), numbers(4, 3, 3, 3), numbers(4)],
        [(1, 5, 6, 4)],
        dilated,
        label="dilated",
    )
    found += _both(
        "CONV_2D",
        [(1, 5, 6, 4), numbers(6, 1, 1, 4), numbers(6)],
        [(1, 2, 2, 6)],
        {"padding": "SAME", "stride_w": 3, "stride_h": 3},
        label="1x1 stride 3",
    )
    found += _both(
        "FULLY_CONNECTED",
        [(2, 8), numbers(5, 8), numbers(5)],
        [(2, 5)],
        {"activation": "RELU"},
    )
    found += _both(
        "FULLY_CONNECTED", [(1, 2, 2, 2), numbers(5, 8)], [(1, 5)], {}, label="flattened"
    )
    found += _both(
        "FULLY_CONNECTED",
        [(1, 3, 8), numbers(5, 8), numbers(5)],
        [(1, 3, 5)],
        {"keep_num_dims": True},
        label="kept",
    )
    return found


def _transposed() -> list[Case]:
    """Results smaller than input times stride, with filters of even sizes, with what no window
    reaches, and with a bias."""
    found = []
    for padding, size, given, kernel, strides in (
        ("SAME", (8, 10), (4, 5), (3, 3), (2, 2)),
        ("SAME", (7, 9), (4, 5), (4, 2), (2, 2)),
        ("SAME", (4, 5), (4, 5), (3, 2), (1, 1)),
        ("SAME", (12, 5), (4, 5), (2, 3), (3, 1)),
        ("VALID", (9, 11), (4, 5), (3, 3), (2, 2)),
        ("VALID", (10, 14), (4, 5), (3, 2), (2, 3)),
    ):
        operands = [whole(1, *size, 3), numbers(3, *kernel, 2), (1, *given, 2)]
        options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
        label = f"{padding} {size[0]}x{size[1]}"
        found += _both("TRANSPOSE_CONV", operands, [(1, *size, 3)], options, label=label)
        label = f"{label} bias"
        more = [*operands, numbers(3)]
        found += _both("TRANSPOSE_CONV", more, [(1, *size, 3)], options, label=label)
    options["activation"] = "RELU"
    found.append(Case("TRANSPOSE_CONV", more, [(1, *size, 3)], options, label="RELU"))
    for dtype, scales, offset in (("uint8", (0.03125, 0.046875), 120), ("int16", (1e-4, 3e-4), 0)):
        other: dict[str, Any] = {"dtype": dtype, "scales": scales, "offset": offset}
        found.append(Case("TRANSPOSE_CONV", more, [(1, *size, 3)], options, **other))
    return found


def _other_integers() -> list[Case]:
    """Unsigned, as networks were quantised first, and 16 bits of activations."""
    found = []
    near = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    kernel = {"kernel_w": 3, "kernel_h": 3}
    conv = [(1, 5, 6, 3), numbers(4, 3, 3, 3), numbers(4)]
    depthwise = [(1, 5, 6, 3), numbers(1, 3, 3, 6), numbers(6)]
    dense = [(2, 8), numbers(5, 8), numbers(5)]
    for dtype, scales, offset in (
        ("uint8", (0.03125, 0.046875), 120),
        ("int16", (0.0001, 0.0003), 0),
    ):
        more: dict[str, Any] = {"dtype": dtype, "scales": scales, "offset": offset}
        found.append(Case("CONV_2D", conv, [(1, 5, 6, 4)], near, **more))
        options = {**near, "depth_multiplier": 2}
        found.append(Case("DEPTHWISE_CONV_2D", depthwise, [(1, 5, 6, 6)], options, **more))
        found.append(Case("FULLY_CONNECTED", dense, [(2, 5)], {"activation": "RELU"}, **more))
        pool = {**near, **kernel}
        alike: dict[str, Any] = {"dtype": dtype, "scales": scales, "same": True}
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            found.append(Case(kind, [(1, 5, 6, 3)], [(1, 5, 6, 3)], pool, **alike))
        found.append(Case("RESHAPE", [(1, 4, 3), whole(2, 6)], [(2, 6)], **alike))
        found.append(Case("CONCATENATION", [(1, 4), (1, 4)], [(1, 8)], {"axis": 1}, **alike))
    operands = [(1, 4, 3, 2), (1, 4, 3, 2)]
    for kind in ("ADD", "MUL"):
        found.append(Case(kind, operands, operands[:1], {}, "uint8", offset=100))
    scales = (1 / 4096, 1 / 32768)
    for kind in ("LOGISTIC", "TANH"):
        found.append(Case(kind, [(1, 4, 5)], [(1, 4, 5)], {}, "int16", 0, scales))
    return found


def _elementwise() -> list[Case]:
    found = []
    for kind in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"):
        same = kind in ("MAXIMUM", "MINIMUM")
        options = {} if same else {"activation": "RELU"}
        found += _both(kind, [(1, 4, 3, 2), (1, 4, 3, 2)], [(1, 4, 3, 2)], options, same=same)
        found += _both(
            kind, [(1, 4, 3, 2), (1, 1, 1, 2)], [(1, 4, 3, 2)], label="broadcast", same=same
        )
    unary = ["ABS", "NEG", "SQRT", "RSQRT", "EXP", "LOG", "FLOOR", "CEIL", "ROUND", "SQUARE", "ELU"]
    found += [Case(kind, [(1, 4, 3)], [(1, 4, 3)]) for kind in unary]
    found += [Case(kind, [(1, 4, 3), (1, 4, 3)], [(1, 4, 3)]) for kind in ("DIV", "POW")]
    found.append(Case("SQUARED_DIFFERENCE", [(1, 4, 3), (1, 4, 3)], [(1, 4, 3)]))
    for kind in ("RELU", "RELU6", "RELU_N1_TO_1"):
        found += _both(kind, [(1, 4, 5)], [(1, 4, 5)], same=True)
    found += _both("HARD_SWISH", [(1, 4, 5)], [(1, 4, 5)])
    found += _both("LEAKY_RELU", [(1, 4, 5)], [(1, 4, 5)], {"alpha": 0.125})
    found += _both("PRELU", [(1, 2, 3, 4), numbers(1, 1, 4)], [(1, 2, 3, 4)])
    found += [
        Case("GELU", [(1, 4, 5)], [(1, 4, 5)], {"approximate": bool(a)}, label=str(a))
        for a in (0, 1)
    ]
    found.append(Case("LOG_SOFTMAX", [(1, 2, 5)], [(1, 2, 5)]))
    found.append(Case("L2_NORMALIZATION", [(1, 2, 2, 5)], [(1, 2, 2, 5)]))
    for kind, scale, offset in (("LOGISTIC", 256, -128), ("SOFTMAX", 256, -128), ("TANH", 128, 0)):
        soft: dict[str, Any] = {"beta": 1.0} if kind == "SOFTMAX" else {}
        scales = (0.03125, 1 / scale)
        found += _both(kind, [(1, 4, 5)], [(1, 4, 5)], soft, scales=scales, offset=offset)
    found.append(Case("SOFTMAX", [(1, 4, 5)], [(1, 4, 5)], {"beta": 0.5}, label="beta"))
    found.append(Case("QUANTIZE", [(1, 4, 5)], [(1, 4, 5)], dtype="int8"))
    found.append(Case("DEQUANTIZE", [(1, 4, 5)], [(1, 4, 5)], dtype="int8"))
    return found


def _movement() -> list[Case]:
    found = []
    x = (1, 4, 3, 2)

    def moves(kind: str, operands: Sequence[Any], *shapes: Sequence[int], **more: Any) -> None:
        label = more.pop("label", "")
        found.extend(_both(kind, operands, shapes, more, same=True, label=label))

    moves("RESHAPE", [x, whole(1, 6, -1)], (1, 6, 4))
    moves("RESHAPE", [x], (2, 12), new_shape=[2, -1], label="by option")
    moves("SQUEEZE", [(1, 4, 1, 2)], (4, 2))
    moves("SQUEEZE", [(1, 4, 1, 2)], (1, 4, 2), squeeze_dims=[2], label="one")
    moves("EXPAND_DIMS", [(4, 2), whole(-1)], (4, 2, 1))
    moves("TRANSPOSE", [x, whole(0, 3, 1, 2)], (1, 2, 4, 3))
    moves("CONCATENATION", [x, x], (1, 4, 3, 4), axis=-1)
    moves("CONCATENATION", [x, x], (1, 8, 3, 2), axis=1, label="rows")
    moves("PACK", [(4, 2), (4, 2)], (4, 2, 2), axis=1, count=2)
    moves("UNPACK", [(4, 2, 3)], (4, 3), (4, 3), axis=1, count=2)
    moves("SPLIT", [whole(3), (1, 2, 2, 4)], (1, 2, 2, 2), (1, 2, 2, 2), count=2)
    moves("SPLIT_V", [(1, 2, 2, 5), whole(2, -1), whole(3)], (1, 2, 2, 2), (1, 2, 2, 3), count=2)
    moves("SLICE", [x, whole(0, 1, 0, 0), whole(1, 2, -1, 1)], (1, 2, 3, 1))
    ones = whole(1, 1, 1, 1)
    moves(
        "STRIDED_SLICE",
        [x, whole(0, 3, 0, 0), whole(1, 0, 3, 2), whole(1, -1, 2, 1)],
        (1, 3, 2, 2),
        begin=0,
    )
    moves(
        "STRIDED_SLICE",
        [x, whole(0, 1, 0, -1), whole(0, 0, 0, 0), ones],
        (1, 3, 3),
        label="masks",
        begin=5,
        end=7,
        shrink=8,
    )
    moves(
        "STRIDED_SLICE",
        [x, whole(0, 0, 1), whole(0, 0, 2), whole(1, 1, 1)],
        (1, 1, 4, 3, 1),
        label="new axis",
        ellipsis=2,
        new_axis=1,
    )
    pads = np.array([[0, 0], [1, 2], [2, 0], [0, 1]], np.int32)
    moves("PAD", [x, pads], (1, 7, 5, 3))
    found.append(Case("PAD", [x, pads], [(1, 7, 5, 3)], dtype="int8", label="other grid"))
    found.append(Case("PADV2", [x, pads, np.array(1.5, np.float32)], [(1, 7, 5, 3)]))
    moves(
        "MIRROR_PAD",
        [x, np.array([[0, 0], [1, 2], [2, 0], [0, 1]], np.int32)],
        (1, 7, 5, 3),
        mode=0,
    )
    edges = np.array([[0, 0], [1, 1], [1, 0], [0, 1]], np.int32)
    moves("MIRROR_PAD", [x, edges], (1, 6, 4, 3), mode=1, label="edge")
    moves("GATHER", [x, whole(2, 0)], (1, 4, 2, 2), axis=2)
    moves("TILE", [(2, 3), whole(2, 1)], (4, 3))
    moves("SPACE_TO_DEPTH", [(1, 4, 4, 3)], (1, 2, 2, 12), block_size=2)
    moves("DEPTH_TO_SPACE", [(1, 2, 2, 12)], (1, 4, 4, 3), block_size=2)
    found.append(Case("BROADCAST_TO", [(1, 3), whole(2, 3)], [(2, 3)]))
    return found


def _reductions() -> list[Case]:
    found = []
    for kind in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        same = kind.startswith("REDUCE")
        for keep, shape in ((True, (1, 1, 1, 5)), (False, (1, 5))):
            operands = [(1, 4, 3, 5), whole(1, 2)]
            label = "kept" if keep else ""
            found += _both(kind, operands, [shape], {"keep_dims": keep}, same=same, label=label)
    found.append(Case("REDUCE_PROD", [(1, 4, 3), whole(2)], [(1, 4)], {"keep_dims": False}))
    for kind in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        for size in ((7, 8), (2, 2)):
            for corners, half in ((False, False), (True, False), (False, True)):
                found += _both(
                    kind,
                    [(1, 4, 5, 2), whole(*size)],
                    [(1, *size, 2)],
                    {"align_corners": corners, "half_pixel_centers": half},
                    same=True,
                    label=f"{size[0]}x{size[1]} {corners:d}{half:d}",
                )
    found.append(
        Case(
            "RESIZE_NEAREST_NEIGHBOR",
            [(1, 4, 5, 2), whole(7, 8)],
            [(1, 7, 8, 2)],
            {"align_corners": False, "half_pixel_centers": False},
            dtype="int8",
            label="other grid",
        )
    )
    for x, y in ((False, False), (True, False), (False, True)):
        shapes = [(2, 4, 3) if x else (2, 3, 4), (2, 5, 4) if y else (2, 4, 5)]
        found.append(
            Case(
                "BATCH_MATMUL",
                shapes,
                [(2, 3, 5)],
                {"adj_x": x, "adj_y": y},
                label=f"{x:d}{y:d}",
            )
        )
        for zero, own, scales in ((3, -9, (0.03125, 0.25)), (-120, -77, (0.0371, 1.13))):
            found.append(
                Case(
                    "BATCH_MATMUL",
                    [(2, 4, 12) if x else (2, 12, 4), (2, 15, 4) if y else (2, 4, 15)],
                    [(2, 12, 15)],
                    {"adj_x": x, "adj_y": y},
                    dtype="int8",
                    zero=zero,
                    offset=own,
                    scales=scales,
                    label=f"{x:d}{y:d} {scales[0]}",
                )
            )
    return found


CASES = [
    *(*_windows(), *_other_integers(), *_elementwise(), *_movement(), *_reductions()),
    *(*_rounded_otherwise(), *_transposed()),
]

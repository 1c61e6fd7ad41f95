"""TensorFlow Lite models of recurrent layers, of operators that run other graphs, and of chains of
operators that become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from tests.tflite_models import Graph, Sketch
from tests.tflite_more_cases import Absent, Constant, Operand, Shape, Variable, case, drawn, real
from tests.tflite_typed_cases import TypedCase


def _lstm_operands(
    hidden: int, inputs: int, *, coupled: bool, peepholes: bool, seed: int
) -> list[Operand]:
    """Weights of one direction, from the first on to the last bias."""

    def weights(i: int, *shape: int) -> Constant:
        return Constant(real(*shape, seed=seed + i, low=-0.7, high=0.7), "float32")

    first: list[Operand] = [weights(i, hidden, inputs) for i in range(4)]
    first += [weights(i, hidden, hidden) for i in range(4, 8)]
    first += [weights(i, hidden) if peepholes else Absent() for i in range(8, 11)]
    first += [weights(i, hidden) for i in range(11, 15)]
    if coupled:
        for i in (0, 4, 8, 11):
            first[i] = Absent()
    return first


def _recurrent() -> list[TypedCase]:
    found = []
    hidden, inputs = 5, 3
    none = [Absent()]
    for label, coupled, peepholes, major, clip in (
        ("", False, False, False, 0.0),
        ("time major", False, False, True, 10.0),
        ("coupled", True, False, False, 0.0),
        ("peepholes", False, True, False, 0.0),
        ("clipped", False, False, False, 0.125),
        ("clipped peepholes", False, True, False, 0.25),
    ):
        shape = (6, 2) if major else (2, 6)
        operands: list[Operand] = [real(*shape, inputs)]
        operands += _lstm_operands(hidden, inputs, coupled=coupled, peepholes=peepholes, seed=20)
        operands += [*none * 2, Variable(2, hidden), Variable(2, hidden), *none * 4]
        options = {"activation": "TANH", "time_major": major, "cell_clip": clip}
        found.append(
            case(
                "UNIDIRECTIONAL_SEQUENCE_LSTM",
                f"float32 {label}".strip(),
                operands,
                [((*shape, hidden), "float32")],
                options,
            )
        )
    found += [_integer_lstm("int8", 1), _integer_lstm("int16", 2)]
    for merge in (True, False):
        operands = [real(2, 6, inputs)]
        for seed in (40, 60):
            operands += _lstm_operands(hidden, inputs, coupled=False, peepholes=False, seed=seed)
            operands += none * 2
        operands += [Variable(2, hidden) for _ in range(4)] + none * 9
        results = [((2, 6, 2 * hidden), "float32")] if merge else [((2, 6, hidden), "float32")] * 2
        options = {"activation": "TANH", "time_major": False, "merge_outputs": merge}
        found.append(
            case("BIDIRECTIONAL_SEQUENCE_LSTM", f"float32 {merge:d}", operands, results, options)
        )
    for activation in ("TANH", "RELU"):
        own = [
            Constant(real(*s, seed=80 + i, low=-0.5, high=0.5), "float32")
            for i, s in enumerate(((hidden, inputs), (hidden, hidden), (hidden,)))
        ]
        operands = [real(2, 6, inputs), *own, Variable(2, hidden)]
        options = {"activation": activation, "time_major": False}
        found.append(
            case(
                "UNIDIRECTIONAL_SEQUENCE_RNN",
                f"float32 {activation}",
                operands,
                [((2, 6, hidden), "float32")],
                options,
            )
        )
        for merge in (True, False):
            both = [
                real(2, 6, inputs),
                *own,
                Variable(2, hidden),
                *own,
                Variable(2, hidden),
                *none * 3,
            ]
            results = (
                [((2, 6, 2 * hidden), "float32")] if merge else [((2, 6, hidden), "float32")] * 2
            )
            found.append(
                case(
                    "BIDIRECTIONAL_SEQUENCE_RNN",
                    f"float32 {activation} {merge:d}",
                    both,
                    results,
                    {**options, "merge_outputs": merge},
                )
            )
    return found


def _integer_lstm(dtype: str, seed: int) -> TypedCase:
    """Weights of int8, a state of the type of the input, a cell of int16."""
    rng, hidden, inputs = np.random.default_rng(seed), 6, 5
    unit = 0.25 if dtype == "int8" else 1 / 1024  # of the input: that of `case`
    state: dict[str, Any] = {"scale": [1 / 128 if dtype == "int8" else 1 / 32768], "zero": [0]}
    wide = "int32" if dtype == "int8" else "int64"

    def weights(*shape: int) -> Constant:
        return Constant(rng.integers(-127, 128, shape), "int8", scale=[0.005], zero=[0])

    operands: list[Operand] = [drawn(dtype, 2, 6, inputs, seed=seed)]
    operands += [weights(hidden, inputs) for _ in range(4)]
    operands += [weights(hidden, hidden) for _ in range(4)] + [Absent()] * 3
    biases = (rng.integers(-900, 900, hidden) for _ in range(4))
    operands += [Constant(b, wide, scale=[unit * 0.005], zero=[0]) for b in biases]
    operands += [Absent()] * 2
    operands.append(Variable(2, hidden, dtype=dtype, **state))
    operands.append(Variable(2, hidden, dtype="int16", scale=[2.0**-11], zero=[0]))
    operands += [Absent()] * 4
    options = {"activation": "TANH", "cell_clip": 10.0}
    results = [((2, 6, hidden), dtype)]
    kind = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    return case(kind, dtype, operands, results, options, grid=state)


def _svdf() -> list[TypedCase]:
    """Of one run, whose state is zeros."""
    found = []
    inputs, units, length = 5, 3, 4
    for rank, activation in ((1, "NONE"), (2, "RELU")):
        count, options = units * rank, {"rank": rank, "activation": activation}
        rng = np.random.default_rng(rank)
        operands: list[Operand] = [
            real(2, inputs),
            Constant(real(count, inputs, seed=1), "float32"),
            Constant(real(count, length, seed=2), "float32"),
            Constant(real(units, seed=3), "float32"),
            Variable(2, count * length),
        ]
        found.append(case("SVDF", f"float32 {rank}", operands, [((2, units), "float32")], options))
        operands = [
            drawn("int8", 2, inputs),
            Constant(rng.integers(-90, 90, (count, inputs)), "int8", scale=[0.01], zero=[0]),
            Constant(rng.integers(-900, 900, (count, length)), "int16", scale=[0.001], zero=[0]),
            Constant(rng.integers(-9000, 9000, units), "int32", scale=[1e-6], zero=[0]),
            Variable(2, count * length, dtype="int16", scale=[0.001], zero=[0]),
        ]
        results, relu = [((2, units), "int8")], {**options, "activation": "RELU"}
        grid: dict[str, Any] = {"scale": [0.25], "zero": [-128]}
        found.append(case("SVDF", f"int8 {rank}", operands, results, relu, grid=grid))
    return found


def _detections() -> list[TypedCase]:
    """Boxes of a grid of anchors, fewer and more than there is room for."""
    found = []
    for label, most, least, background in (("few", 12, 0.75, 1), ("many", 5, 0.1, 0)):
        count, classes = 30, 4
        options = {
            "max_detections": most,
            "max_classes_per_detection": 1,
            "num_classes": classes,
            "nms_score_threshold": least,
            "nms_iou_threshold": 0.5,
            "use_regular_nms": False,
            "y_scale": 10.0,
            "x_scale": 10.0,
            "h_scale": 5.0,
            "w_scale": 5.0,
        }
        places = np.stack(np.meshgrid(np.arange(6) / 6, np.arange(5) / 5), axis=-1).reshape(-1, 2)
        anchors = np.concatenate([places, np.full((count, 2), 0.3)], axis=1)
        operands = [
            real(1, count, 4, seed=5),
            real(1, count, classes + background, seed=6, low=0.0, high=1.0),
            Constant(anchors, "float32"),
        ]
        shapes: list[Shape] = [(1, most, 4), (1, most), (1, most), (1,)]
        results = [(shape, "float32") for shape in shapes]
        own = bytes(flexbuffers.Dumps(options))
        kind = "TFLite_Detection_PostProcess"
        found.append(case(kind, label, operands, results, own=own))
    corners = real(30, 2, seed=7)
    boxes = np.concatenate([corners, corners + real(30, 2, seed=8, low=0.5, high=2.0)], axis=1)
    for label, most, least in (("few", 16, 0.6), ("many", 4, 0.0)):
        scores = real(30, seed=9, low=0.0, high=1.0)
        limits = (Constant(value, "float32") for value in (0.4, least))
        four: list[Operand] = [boxes, scores, Constant(most), *limits]
        counted: list[tuple[Shape, str]] = [((most,), "int32"), ((), "int32")]
        found.append(case("NON_MAX_SUPPRESSION_V4", label, four, counted))
        five = [*four, Constant(0.0, "float32")]
        scored: list[tuple[Shape, str]] = [counted[0], ((most,), "float32"), counted[1]]
        found.append(case("NON_MAX_SUPPRESSION_V5", label, five, scored))
    return found


def _of_one(kind: str, *constants: Any, shape: Shape = (2, 3)) -> Graph:
    """A graph of one operator of its inputs, and of a constant where there is one."""
    sketch = Sketch()
    x = sketch.tensor("x", shape)
    places = [x, *(sketch.constant(f"c{i}", c, "float32") for i, c in enumerate(constants))]
    y = sketch.tensor("y", shape)
    sketch.operator(kind, places, [y])
    return sketch, [x], [y]


def _counting(steps: int) -> list[Graph]:
    """Whether a counter is below ``steps``; the counter and one more, and numbers doubled, to which
    a tensor is added."""
    test = Sketch()
    i = test.tensor("i", (), "int32")
    test.tensor("x", (2, 3))
    most = test.constant("most", steps, "int32")
    goes = test.tensor("goes", (), "bool")
    test.operator("LESS", [i, most], [goes])
    body = Sketch()
    i, x = body.tensor("i", (), "int32"), body.tensor("x", (2, 3))
    one, weights = body.constant("one", 1, "int32"), body.constant("w", real(2, 3), "float32")
    after, twice, y = (
        body.tensor("j", (), "int32"),
        body.tensor("t", (2, 3)),
        body.tensor("y", (2, 3)),
    )
    body.operator("ADD", [i, one], [after])
    body.operator("ADD", [x, x], [twice])
    body.operator("ADD", [twice, weights], [y])
    return [(test, [0, 1], [goes]), (body, [0, 1], [after, y])]


def _control() -> list[TypedCase]:
    found = []
    bodies = [_of_one("ABS"), _of_one("MUL", real(2, 3))]
    for truth in (True, False):
        operands: list[Operand] = [np.array([truth]), real(2, 3)]
        options = {"then": 1, "else": 2}
        found.append(
            case("IF", f"{truth:d}", operands, [((2, 3), "float32")], options, bodies=bodies)
        )
    operands = [Constant(0), real(2, 3)]
    results = [((), "int32"), ((2, 3), "float32")]
    found.append(case("WHILE", "", operands, results, {"cond": 1, "body": 2}, bodies=_counting(5)))
    return found


def _chain(
    label: str,
    shape: Shape,
    kernel: Shape,
    block: Sequence[int],
    *,
    depthwise: bool = False,
    one: bool = False,
    dtype: str = "float32",
) -> TypedCase:
    """A dilated convolution as TensorFlow writes it: blocks, "valid" convolution, and back."""
    sketch = Sketch()
    sizes, channels = shape[1:-1], shape[-1]
    whole = dtype == "int8"
    grid: dict[str, Any] = {"scale": [0.05], "zero": [7]} if whole else {}
    result: dict[str, Any] = {"scale": [0.1], "zero": [-5]} if whole else {}
    x = sketch.tensor("input_0", shape, dtype, **grid)
    around = [
        (b * (k - 1) // 2, b * (k - 1) - b * (k - 1) // 2)
        for b, k in zip(block, kernel, strict=False)
    ]
    more = [-(size + sum(pad)) % b for size, pad, b in zip(sizes, around, block, strict=False)]
    pads = [(a, b + m) for (a, b), m in zip(around, more, strict=True)]
    crops = [(0, m) for m in more]
    n = len(block)
    inside = [(size + sum(p)) // b for size, p, b in zip(sizes, pads, block, strict=False)]
    batch = shape[0] * int(np.prod(block))
    blocked = sketch.tensor("blocked", (batch, *inside, *sizes[n:], channels), dtype, **grid)
    operands = [
        sketch.constant(f"{name}_{i}", v, "int32")
        for i, (name, v) in enumerate((("block", block), ("pads", pads)))
    ]
    sketch.operator("SPACE_TO_BATCH_ND", [x, *operands], [blocked])
    taps = [*kernel, 1] if one else list(kernel)
    out_c = channels if depthwise else 4
    filters = (1, *taps, channels) if depthwise else (out_c, *taps, channels)
    unit: dict[str, Any] = {"scale": [0.01], "zero": [0]} if whole else {}
    weights = (
        np.random.default_rng(3).integers(-99, 99, filters) if whole else real(*filters, seed=3)
    )
    w = sketch.constant("w", weights, "int8" if whole else "float32", **unit)
    units: dict[str, Any] = {"scale": [0.05 * 0.01], "zero": [0]} if whole else {}
    b = sketch.constant(
        "b", np.arange(out_c) * (100 if whole else 1), "int32" if whole else "float32", **units
    )
    after = [size - k + 1 for size, k in zip(inside, kernel, strict=False)] + list(sizes[n:])
    image, made = blocked, (batch, *after, out_c)
    if one:
        axis = sketch.constant("axis", 2, "int32")
        image = sketch.tensor("image", (batch, *inside, 1, channels), dtype, **grid)
        sketch.operator("EXPAND_DIMS", [blocked, axis], [image])
        made = (batch, *after, 1, out_c)
    y = sketch.tensor("conv", made, dtype, **result)
    kind = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    more_options: dict[str, Any] = {"depth_multiplier": 1} if depthwise else {}
    sketch.operator(
        kind, [image, w, b], [y], padding="VALID", stride_w=1, stride_h=1, **more_options
    )
    if one:
        flat = sketch.tensor("flat", (batch, *after, out_c), dtype, **result)
        sketch.operator("SQUEEZE", [y], [flat], squeeze_dims=[2])
        y = flat
    last = (shape[0], *sizes, out_c)
    z = sketch.tensor("output_0", last, dtype, **result)
    operands = [
        sketch.constant(f"{name}_back", v, "int32")
        for name, v in (("block", block), ("crops", crops))
    ]
    sketch.operator("BATCH_TO_SPACE_ND", [y, *operands], [z])
    data = sketch.bytes([x], [z])
    given = {"input_0": drawn(dtype, *shape)}
    return TypedCase("CONV_2D", [], [last], label=f"dilated {label}", data=data, given=given)


def _dilated() -> list[TypedCase]:
    return [
        _chain("2x3", (1, 9, 11, 3), (3, 3), (2, 3)),
        _chain("2x2 depthwise", (2, 8, 9, 3), (3, 3), (2, 2), depthwise=True),
        _chain("4 along one dimension", (1, 13, 3), (3,), (4,), one=True),
        _chain("2x2 int8", (1, 9, 10, 3), (3, 3), (2, 2), dtype="int8"),
    ]


GRAPH_CASES = [*_recurrent(), *_svdf(), *_detections(), *_control(), *_dilated()]

"""TensorFlow Lite models of operators that find places, read and write at places, make tensors of
sizes, and compute with integers that have no scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tflite_models import Graph, Sketch
from tests.tflite_typed_cases import TypedCase

Values = npt.NDArray[Any]
Shape = Sequence[int]
_GRID: dict[str, Any] = {"scale": [0.25], "zero": [3]}


class Constant:
    """An operand that is known when compiling."""

    def __init__(self, values: Any, dtype: str = "int32", **more: Any) -> None:
        self.values, self.more = np.asarray(values, dtype), more


class Absent:
    """An operand that is left out."""


class Variable:
    """A state, which begins with zeros."""

    def __init__(self, *shape: int, dtype: str = "float32", **more: Any) -> None:
        self.shape, self.dtype, self.more = shape, dtype, more


Operand = Any  # an array, or one of these


def _grid(dtype: str) -> dict[str, Any]:
    if dtype in ("int8", "uint8"):
        return _GRID
    return {"scale": [1 / 1024], "zero": [0]} if dtype == "int16" else {}


def case(
    kind: str,
    label: str,
    operands: Sequence[Operand],
    results: Sequence[tuple[Shape, str]],
    options: Mapping[str, Any] | None = None,
    *,
    bodies: Sequence[Graph] = (),
    own: bytes = b"",
    grid: Mapping[str, Any] | None = None,
) -> TypedCase:
    """A model of one operator: arrays are inputs; integers of 8 and 16 bits have a scale,
    results that of ``grid`` where there is one."""
    sketch, given = Sketch(), {}
    places, inputs = list[int](), list[int]()
    for index, each in enumerate(operands):
        if isinstance(each, Absent):
            places.append(-1)
        elif isinstance(each, Constant):
            dtype = each.values.dtype.name
            places.append(sketch.constant(f"constant_{index}", each.values, dtype, **each.more))
        elif isinstance(each, Variable):
            more = {**_grid(each.dtype), **each.more}
            place = sketch.tensor(f"state_{index}", each.shape, each.dtype, variable=True, **more)
            places.append(place)
        else:
            name = f"input_{len(inputs)}"
            dtype = each.dtype.name
            places.append(sketch.tensor(name, each.shape, dtype, **_grid(dtype)))
            inputs.append(places[-1])
            given[name] = each
    outputs = [
        sketch.tensor(f"output_{index}", shape, dtype, **(grid or _grid(dtype)))
        for index, (shape, dtype) in enumerate(results)
    ]
    sketch.operator(kind, places, outputs, own, **(options or {}))
    data = sketch.bytes(inputs, outputs, bodies)
    shapes = [shape for shape, _ in results]
    return TypedCase(kind, [], shapes, same=True, label=label, data=data, given=given)


def real(*shape: int, seed: int = 0, low: float = -3.0, high: float = 3.0) -> Values:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def drawn(dtype: str, *shape: int, seed: int = 0) -> Values:
    """Numbers of that type, of which integers differ along every axis."""
    if dtype == "float32":
        return real(*shape, seed=seed)
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    low, high = (0, 256) if dtype == "uint8" else (-120, 121)
    return rng.integers(low, high, shape).astype(dtype)


def _indexed() -> list[TypedCase]:
    found = []
    for dtype in ("float32", "int8", "int32"):
        x, shape = drawn(dtype, 2, 5, 7), (2, 5, 7)
        if dtype != "int32":
            for kind in ("ARG_MAX", "ARG_MIN"):
                options = {"output_type": 2}
                for axis, left in ((2, (2, 5)), (-2, (2, 7))):
                    found.append(
                        case(
                            kind,
                            f"{dtype} {axis}",
                            [x, Constant(axis)],
                            [(left, "int32")],
                            options,
                        )
                    )
        if dtype != "int8":
            found.append(
                case(
                    "TOPK_V2",
                    dtype,
                    [drawn(dtype, 3, 9), Constant(4)],
                    [((3, 4), dtype), ((3, 4), "int32")],
                )
            )
        places = Constant([[1, 4], [0, 0], [1, 2]])
        found.append(case("GATHER_ND", dtype, [x, places], [((3, 7), dtype)]))
        flipped = case("REVERSE_V2", dtype, [x, Constant([1])], [(shape, dtype)])
        found.append(flipped)
        block = drawn(dtype, 1, 2, 7, seed=4)
        begin = Constant([1, 4, -2])
        found.append(case("DYNAMIC_UPDATE_SLICE", dtype, [x, block, begin], [(shape, dtype)]))
        lengths = Constant([3, 5])
        options = {"seq_dim": 1, "batch_dim": 0}
        found.append(case("REVERSE_SEQUENCE", dtype, [x, lengths], [(shape, dtype)], options))
        value = Constant(drawn(dtype, 1)[0], dtype, **_grid(dtype))
        found.append(
            case("FILL", f"{dtype} constant", [Constant([2, 3]), value], [((2, 3), dtype)])
        )
        given = drawn(dtype, 1).reshape(())
        found.append(case("FILL", dtype, [Constant([2, 3]), given], [((2, 3), dtype)]))
        found.append(
            case(
                "GATHER",
                f"{dtype} batch",
                [drawn(dtype, 2, 3, 5, 4), Constant([[1, 4, 0], [2, 2, 3]])],
                [((2, 3, 3, 4), dtype)],
                {"axis": 2, "batch_dims": 1},
            )
        )
        wide = Constant([[0, 0], [2, 3], [3, 1]])
        found.append(
            case("MIRROR_PAD", f"{dtype} 3", [x, wide], [((2, 10, 11), dtype)], {"mode": 1})
        )
    found.append(
        case(
            "GATHER_ND",
            "int32 run time",
            [drawn("int32", 4, 5), np.array([[3, 1], [0, 4]], np.int32)],
            [((2,), "int32")],
        )
    )
    for exclusive, reverse in ((False, False), (True, False), (False, True)):
        options = {"exclusive": exclusive, "reverse": reverse}
        label = f"float32 {exclusive:d}{reverse:d}"
        x = real(3, 4, 5)
        found.append(case("CUMSUM", label, [x, Constant(1)], [(x.shape, "float32")], options))
    found.append(case("ZEROS_LIKE", "float32", [real(2, 3)], [((2, 3), "float32")]))
    found.append(case("ZEROS_LIKE", "int32", [drawn("int32", 2, 3)], [((2, 3), "int32")]))
    shaped = case("SHAPE", "", [real(2, 3, 1)], [((3,), "int32")], {"out_type": 2})
    found.append(shaped)
    steps = [Constant(2), Constant(11), Constant(3)]
    found.append(case("RANGE", "int32", steps, [((3,), "int32")]))
    found.append(case("RANK", "", [real(2, 3, 1)], [((), "int32")]))
    table = Constant(real(9, 4), "float32")
    ids = np.array([3, 8, 0, 3], np.int32)
    found.append(case("EMBEDDING_LOOKUP", "float32", [ids, table], [((4, 4), "float32")]))
    rows = Constant(drawn("int8", 9, 4), "int8", scale=[0.5], zero=[0])
    found.append(case("EMBEDDING_LOOKUP", "int8", [ids, rows], [((4, 4), "float32")]))
    for dtype in ("float32", "int32"):
        updates = drawn(dtype, 3, 4)
        operands = [Constant([[1], [3], [1]]), updates, Constant([5, 4])]
        found.append(case("SCATTER_ND", dtype, operands, [((5, 4), dtype)]))
    ends = [Constant(2.5, "float32"), Constant(-1.0, "float32")]
    hot = [np.array([[0, 3], [2, -1]], np.int32), Constant(4), *ends]
    found.append(case("ONE_HOT", "last", hot, [((2, 2, 4), "float32")], {"axis": -1}))
    found.append(case("ONE_HOT", "first", hot, [((4, 2, 2), "float32")], {"axis": 0}))
    pair = [Constant([2, 1, 5]), Constant([4, 1])]
    found.append(case("BROADCAST_ARGS", "", pair, [((3,), "int32")]))
    return found


def _arithmetic() -> list[TypedCase]:
    found = []
    for kind in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"):
        pair: list[Operand] = [drawn("int32", 2, 3, 4), drawn("int32", 3, 1, seed=1)]
        found.append(case(kind, "int32", pair, [((2, 3, 4), "int32")]))
    three: list[Operand] = [real(2, 3), real(2, 3, seed=1), real(2, 3, seed=2)]
    found.append(case("ADD_N", "float32", three, [((2, 3), "float32")]))
    found.append(case("RELU_0_TO_1", "float32", [real(3, 5)], [((3, 5), "float32")]))
    for kind in ("SIN", "COS", "SIGN"):
        found.append(case(kind, "float32", [real(3, 5)], [((3, 5), "float32")]))
    y = np.array([[3, -4, 7, 2, -5]], np.int32)
    for kind in ("FLOOR_DIV", "FLOOR_MOD"):
        found.append(case(kind, "int32", [drawn("int32", 3, 5), y], [((3, 5), "int32")]))
        reals: list[Operand] = [real(3, 5), y.astype(np.float32) / 4]
        found.append(case(kind, "float32", reals, [((3, 5), "float32")]))
    found.append(case("ATAN2", "float32", [real(4, 9), real(4, 9, seed=2)], [((4, 9), "float32")]))
    pair = [drawn("int32", 3, 4), drawn("int32", 3, 4, seed=1)]
    found.append(case("BITWISE_XOR", "int32", pair, [((3, 4), "int32")]))
    grid = {"min": -1.5, "max": 2.0, "bits": 8, "narrow": False}
    found.append(case("FAKE_QUANT", "float32", [real(4, 9)], [((4, 9), "float32")], grid))
    for kind in ("REDUCE_ANY", "REDUCE_ALL"):
        for keep, shape in ((True, (2, 1, 4)), (False, (2, 4))):
            x = np.random.default_rng(3).integers(0, 3, (2, 2, 4)).astype(bool)
            found.append(
                case(kind, f"{keep:d}", [x, Constant([1])], [(shape, "bool")], {"keep_dims": keep})
            )
    for kind in ("REDUCE_MAX", "SUM", "REDUCE_PROD"):
        small = np.random.default_rng(3).integers(-5, 6, (2, 3, 4)).astype(np.int32)
        operands = [small, Constant([2])]
        found.append(case(kind, "int32", operands, [((2, 3), "int32")], {"keep_dims": False}))
    found.append(case("SQUARED_DIFFERENCE", "int32", pair, [((3, 4), "int32")]))
    return found


def _windows() -> list[TypedCase]:
    found = []
    for padding, out in (("SAME", (3, 3)), ("VALID", (2, 2))):
        options = {"padding": padding, "stride_w": 2, "stride_h": 2, "kernel_w": 3, "kernel_h": 3}
        x = real(1, 5, 6, 3)
        found.append(case("L2_POOL_2D", padding, [x], [((1, *out, 3), "float32")], options))
    for padding, sizes, dilation in (
        ("SAME", (2, 3, 3), 1),
        ("VALID", (1, 2, 2), 1),
        ("SAME", (4, 5, 6), 2),
    ):
        stride = 2 if dilation == 1 else 1
        options = {f"stride_{axis}": stride for axis in "dwh"}
        options |= {f"dilation_{axis}": dilation for axis in "dwh"}
        operands: list[Operand] = [
            real(1, 4, 5, 6, 2),
            Constant(real(3, 3, 3, 2, 4, seed=1), "float32"),
            Constant(real(4, seed=2), "float32"),
        ]
        results = [((1, *sizes, 4), "float32")]
        options |= {"padding": {"SAME": 0, "VALID": 1}[padding]}
        found.append(case("CONV_3D", f"{padding} {dilation}", operands, results, options))
    for dtype in ("float32", "int8"):
        x = drawn(dtype, 2, 5, 6, 3)
        operands = [x, Constant([2, 3]), Constant([[1, 0], [1, 2]])]
        found.append(case("SPACE_TO_BATCH_ND", dtype, operands, [((12, 3, 3, 3), dtype)]))
        x = drawn(dtype, 12, 3, 3, 3)
        operands = [x, Constant([2, 3]), Constant([[1, 0], [1, 2]])]
        found.append(case("BATCH_TO_SPACE_ND", dtype, operands, [((2, 5, 6, 3), dtype)]))
    narrow = [real(4, 5, 2), Constant([2]), Constant([[2, 1]])]
    found.append(case("SPACE_TO_BATCH_ND", "3 dimensions", narrow, [((8, 4, 2), "float32")]))
    return found


MORE_CASES = [*_indexed(), *_arithmetic(), *_windows()]

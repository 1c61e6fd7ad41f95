"""Models of which a dimension is data-dependent, in the shapes that exporters of detectors
write, as text of onnx.parser: what is in front of ``body`` makes ``score`` and ``boxes``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import parser

COUNT = 40  # boxes
CLASSES = 3
SHARES = (0.5, 0.0, 1.0, 0.1)  # of boxes that are good enough

# The rows that are good enough, their places, and how many they are.
KEPT = """
    value = Gather <axis = 1> (score, zero) good = Greater (value, limit)
    k = NonZero (good) place = Transpose (k) p = Squeeze (k, zeros)
    some = Compress <axis = 0> (boxes, good) n = Shape (p)
"""

# One class for all boxes, all that are good enough, suppressed, and padded to a fixed number: what
# ultralytics writes.
YOLO = """
    best = ReduceMax <keepdims = 0> (score, one)
    label = ArgMax <axis = -1, keepdims = 0> (score)
    good = Greater (best, limit)
    found = NonZero (good)
    place = Transpose <perm = [1, 0]> (found)
    found2 = NonZero (good)
    place2 = Transpose <perm = [1, 0]> (found2)
    kept = GatherND (boxes, place)
    kept_score = GatherND (best, place2)
    kept_label = GatherND (label, place)
    size = Shape (kept_label)
    number = Gather (size, zero)
    number1 = Unsqueeze (number, zeros)
    tall = Concat <axis = 0> (number1, one)
    column = Reshape (kept_label, tall)
    wide = Concat <axis = 0> (number1, four)
    wide1 = Reshape (wide, minus)
    size2 = Shape (wide1)
    ones = ConstantOfShape <value = int64[1] {1}> (size2)
    minuses = Mul (ones, minus)
    free = Equal (wide1, minuses)
    wide2 = Where (free, ones, wide1)
    columns = Expand (column, wide2)
    offset = Cast <to = 1> (columns)
    moved = Add (kept, offset)
    moved3 = Unsqueeze (moved, zeros)
    score2 = Unsqueeze (kept_score, zeros)
    score3 = Unsqueeze (score2, zeros)
    rows = NonMaxSuppression (moved3, score3, many, overlap)
    picked = Gather <axis = 1> (rows, two)
    picked1 = Squeeze (picked, one)
    first = Slice (picked1, zeros, six, zeros, one)
    a = Gather <axis = 0> (kept, first)
    b = Gather <axis = 0> (kept_score, first)
    c = Gather <axis = 0> (kept_label, first)
    b1 = Reshape (b, tall_shape)
    c1 = Reshape (c, tall_shape)
    c2 = Cast <to = 1> (c1)
    all = Concat <axis = -1> (a, b1, c2)
    all_size = Shape (all)
    have = Gather (all_size, zero)
    each = Gather (all_size, one0)
    lack = Sub (six0, have)
    total = Mul (lack, each)
    flat = Reshape (all, minus)
    total1 = Unsqueeze (total, zeros)
    ends = Concat <axis = 0> (zeros, total1)
    padded = Pad (flat, ends)
    each1 = Unsqueeze (each, zeros)
    whole = Concat <axis = 0> (six, each1)
    y = Reshape (padded, whole)
"""

# Every class by itself, the best few of it, all side by side, suppressed where there are any: what
# torchvision writes.
SSD_CLASS = """
    score{0} = Gather <axis = 1> (score, class{0})
    good{0} = Greater (score{0}, limit)
    found{0} = NonZero (good{0})
    place{0} = Transpose <perm = [1, 0]> (found{0})
    kept_score{0} = GatherND (score{0}, place{0})
    kept{0} = GatherND (boxes, place{0})
    size{0} = Shape (kept_score{0})
    number{0} = Gather (size{0}, zero)
    number1{0} = Unsqueeze (number{0}, zeros)
    both{0} = Concat <axis = 0> (six, number1{0})
    fewer{0} = ReduceMin <keepdims = 0> (both{0})
    k{0} = Reshape (fewer{0}, one)
    top{0}, at{0} = TopK <axis = -1> (kept_score{0}, k{0})
    box{0} = Gather (kept{0}, at{0})
    size2{0} = Shape (top{0})
    label{0} = ConstantOfShape <value = int64[1] {{{0}}}> (size2{0})
"""
SSD = (
    "".join(SSD_CLASS.format(i) for i in range(CLASSES))
    + """
    box = Concat <axis = 0> (box0, box1, box2)
    top = Concat <axis = 0> (top0, top1, top2)
    label = Concat <axis = 0> (label0, label1, label2)
    size = Shape (box)
    many_numbers = ReduceProd <keepdims = 0> (size)
    nothing = Equal (many_numbers, zero)
    empty = Cast <to = 9> (nothing)
    keep = If (empty) <
        then_branch = none () => (int64[0] a) { a = Constant <value = int64[0] {}> () },
        else_branch = some () => (int64[N] b) {
            most = ReduceMax <keepdims = 0> (box)
            further = Add (most, one_float)
            number_ = Cast <to = 1> (label)
            offset = Mul (number_, further)
            offset1 = Unsqueeze (offset, one)
            moved = Add (box, offset1)
            moved3 = Unsqueeze (moved, zeros)
            top2_ = Unsqueeze (top, zeros)
            top3_ = Unsqueeze (top2_, zeros)
            rows = NonMaxSuppression (moved3, top3_, many, overlap)
            picked = Gather <axis = 1> (rows, two)
            b = Squeeze (picked, one)
        }
    >
    first = Slice (keep, zeros, six, zeros, one)
    y0 = Gather <axis = 0> (box, first)
    y1 = Gather <axis = 0> (top, first)
    y2 = Gather <axis = 0> (label, first)
    left, above, right, below = Split <axis = 1> (y0, fours)
    left1 = Squeeze (left, one)
    above1 = Squeeze (above, one)
    width = Sub (right, left)
    width1 = Squeeze (width, one)
    y3 = Mul (width1, above1)
"""
)

# Whatever reads along what is data-dependent.
ALONG = """
    best = ReduceMax <keepdims = 0> (score, one)
    good = Greater (best, limit)
    kept = Compress <axis = 0> (boxes, good)
    y0 = ReduceMax <keepdims = 0> (kept, zeros)
    y1 = ReduceSum <keepdims = 1> (kept, zeros)
    y2 = ReduceMean <keepdims = 0> (kept, both)
    y3 = ArgMax <axis = 0, keepdims = 0> (kept)
    y4 = Gather <axis = 0> (kept, minus)
    y5 = CumSum (kept, zero)
    y6 = Softmax <axis = 1> (kept)
    turned = Transpose <perm = [1, 0]> (kept)
    y7 = MatMul (kept, matrix)
    y8 = Slice (turned, one, many, one)
    size = Shape (kept)
    y9 = Div (size, twos)
    flat = Flatten <axis = 0> (kept)
    y10 = Squeeze (flat, zeros)
    place = NonZero (good)
    rows = Transpose <perm = [1, 0]> (place)
    negative = Neg (kept)
    y11 = ScatterND (boxes, rows, negative)
    column = Gather <axis = 1> (kept, zero)
    y12, y13 = TopK <axis = 0, largest = 0> (column, one)
    y14 = Identity (size)
"""

_CONSTANTS = f"""
    float limit = {{0.5}}, float overlap = {{0.4}}, float one_float = {{1.0}},
    float[4, 3] matrix = {{1, 0, 2, -1, 1, 1, 0, 3, 0.5, 0.25, -2, 1}},
    int64 zero = {{0}}, int64 one0 = {{1}}, int64 six0 = {{6}},
    int64[1] zeros = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] four = {{4}},
    int64[1] six = {{6}}, int64[1] minus = {{-1}}, int64[1] many = {{9223372036854775807}},
    int64[2] both = {{0, 1}}, int64[2] twos = {{2, 2}}, int64[2] tall_shape = {{-1, 1}},
    int64[4] fours = {{1, 1, 1, 1}},
    {", ".join(f"int64 class{i} = {{{i}}}" for i in range(CLASSES))}
"""

_OUTPUTS = {
    "yolo": (YOLO, "float[6, 6] y"),
    "ssd": (SSD, "float[M, 4] y0, float[M] y1, int64[M] y2, float[M] y3"),
    "along": (
        ALONG,
        (
            "float[4] y0, float[1, 4] y1, float y2, int64[4] y3, float[1, 4] y4, float[M, 4] y5, "
            "float[M, 4] y6, float[M, 3] y7, float[4, L] y8, int64[2] y9, float[K] y10, "
            f"float[{COUNT}, 4] y11, float[1] y12, int64[1] y13, int64[2] y14"
        ),
    ),
}
NAMES = tuple(_OUTPUTS)


def model(name: str, body: str = "", outputs: str = "") -> onnx.ModelProto:
    """One of them by its name, or of another ``body``."""
    if not body:
        body, outputs = _OUTPUTS[name]
    used = [each for each in _CONSTANTS.replace("\n", " ").split(", ") if each.strip()]
    constants = ", ".join(each.strip() for each in used)
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 18]> {name} '
        f"(float[{COUNT}, {CLASSES}] score, float[{COUNT}, 4] boxes) => ({outputs}) "
        f"<{constants}> {{{body}}}"
    )


def feeds(seed: int, share: float) -> dict[str, npt.NDArray[Any]]:
    """``share`` of the boxes have a class with a score above the limit."""
    rng = np.random.default_rng(seed)
    good = rng.random((COUNT, 1)) < share
    score = np.where(good, 0.5, 0.0) + 0.49 * rng.random((COUNT, CLASSES))
    corner = rng.random((COUNT, 2))
    boxes = np.concatenate([corner, corner + rng.random((COUNT, 2))], axis=1)
    return {"score": score.astype(np.float32), "boxes": boxes.astype(np.float32)}

"""Of a size that is data-dependent: what is read along it, counted from its end, or computed
of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.model import frontend, passes
from tests.data_dependent_models import COUNT, KEPT, feeds, model
from tests.onnx_models import save

pytest.importorskip("onnxruntime", reason="it runs what is compared")
from tests.models.data_dependent_programs import check_computed

pytestmark = pytest.mark.usefixtures("unoptimised")

EDGES = {
    "infinite": (
        (
            "none = Sub (some, some) low = Log (none) high = Neg (low) a = ReduceMax (low, zeros) "
            "b = ArgMax <axis = 0> (low) c = ReduceMin (high, zeros) d = ArgMin <axis = 0> (high) "
            "e, f = TopK <axis = 0> (low, one) g, h = TopK <axis = 0, largest = 0> (high, one)"
        ),
        (
            "float[1, 4] a, int64[1, 4] b, float[1, 4] c, int64[1, 4] d, float[1, 4] e, "
            "int64[1, 4] f, float[1, 4] g, int64[1, 4] h"
        ),
    ),
    "the last of the smallest": (
        (
            "none = Sub (some, some) zero8 = Cast <to = 2> (none) "
            "a = ArgMax <axis = 0, select_last_index = 1> (zero8)"
        ),
        "int64[1, 4] a",
    ),
    "no axes": ("a = ReduceSum <noop_with_empty_axes = 1> (some)", "float[M, 4] a"),
    "of 32 bits": (
        (
            "n0 = Squeeze (n) c = Cast <to = 6> (n0) from = Cast <to = 6> (zero) "
            "by = Cast <to = 6> (one0) a = Range (from, c, by) q = Cast <to = 6> (p) b = Add (q, c)"
        ),
        "int32 c, int32[M] a, int32[N] b",
    ),
    "ends": (
        (
            "less = Sub (n, six) a = Slice (some, zeros, less, zeros) "
            "b = Slice (boxes, zeros, less, zeros) c = Slice (some, one, lowest, zeros) "
            "d = Slice (some, beyond, many, zeros)"
        ),
        "float[M, 4] a, float[N, 4] b, float[K, 4] c, float[L, 4] d",
    ),
    "written from the end": (
        (
            "before = Sub (place, six) other = Neg (some) a = ScatterND (boxes, before, other) "
            "last = Unsqueeze (minus, zeros) row = Slice (boxes, zeros, one, zeros) "
            "b = ScatterND (some, last, row)"
        ),
        f"float[{COUNT}, 4] a, float[M, 4] b",
    ),
    "from the end, and by steps": (
        (
            "a = Slice (some, back, many, zeros) b = Slice (some, back, lowest, zeros, minus) "
            "c = Slice (some, zeros, back, zeros, two) d = Slice (some, many, one, zeros, back) "
            "e = Slice (boxes, n, many, zeros, two)"
        ),
        "float[M, 4] a, float[N, 4] b, float[K, 4] c, float[L, 4] d, float[I, 4] e",
    ),
    "sums and products along": (
        (
            "a = Softmax <axis = 0> (some) b = CumSum <reverse = 1> (some, zero) "
            "turned = Transpose (some) c = MatMul (turned, some) "
            "first = Gather <axis = 1> (some, zero) d = MatMul (first, some) "
            "column = Unsqueeze (first, one) e = MatMul (turned, column)"
        ),
        "float[M, 4] a, float[M, 4] b, float[4, 4] c, float[4] d, float[4, 1] e",
    ),
    "elements by elements": (
        (
            "wide = Shape (some) row = Unsqueeze (p, one) at = Expand (row, wide) "
            "a = ScatterElements <axis = 0> (boxes, at, some) "
            "b = GatherElements <axis = 0> (boxes, at) "
            "from_end = Sub (at, forty) "
            'c = ScatterElements <axis = 0, reduction = "add"> (boxes, from_end, some) '
            "d = GatherElements <axis = 0> (boxes, from_end) "
            "last = Expand (minus, wide) e = GatherElements <axis = 0> (some, last) "
            "single = Slice (last, zeros, one) row0 = Slice (boxes, zeros, one) "
            "f = ScatterElements (some, single, row0)"
        ),
        (
            f"float[{COUNT}, 4] a, float[M, 4] b, float[{COUNT}, 4] c, float[M, 4] d, "
            "float[M, 4] e, float[M, 4] f"
        ),
    ),
    "tuples from the end": (
        (
            "other = NonZero (some) places = Transpose (other) four_ = Constant <value = int64[2] "
            "{0, 4}> () back2 = Sub (places, four_) a = GatherND (some, back2) "
            "neg = Neg (a) b = ScatterND (boxes, back2, neg)"
        ),
        f"float[M] a, float[{COUNT}, 4] b",
    ),
    "second results": (
        (
            "a, b = Dropout (some) ones = Constant <value = float[4] {1, 1, 1, 1}> () "
            "c, d, e = LayerNormalization (some, ones) image = Unsqueeze (some, one) "
            "f, g = MaxPool <kernel_shape = [2], strides = [2]> (image)"
        ),
        (
            "float[M, 4] a, bool[M, 4] b, float[N, 4] c, float[N, 1] d, float[N, 1] e, "
            "float[K, 1, 2] f, int64[K, 1, 2] g"
        ),
    ),
    "shapes from far away": (
        (
            "s = Shape (some) a = Slice (s, lowest, lowest, zeros, minus) "
            "b = Slice (s, minus, lowest, zeros, minus) far = Neg (beyond) "
            "c = Slice (s, far, lowest, zeros, minus)"
        ),
        "int64[K] a, int64[2] b, int64[L] c",
    ),
    "no boxes": (
        (
            "row = Unsqueeze (boxes, zeros) s2 = Unsqueeze (value, both) "
            "a = NonMaxSuppression (row, s2) b = NonMaxSuppression (row, s2, zero)"
        ),
        "int64[M, 3] a, int64[N, 3] b",
    ),
    "one number": ("a = Size (some) b = Equal (a, zero)", "int64 a, bool b"),
    "k": ("k0 = Sub (n, one) a, b = TopK (value, k0)", "float[M] a, int64[M] b"),
    "boxes of a loop": (
        (
            "row = Unsqueeze (boxes, zeros) s = Unsqueeze (value, both) "
            "a, b = Loop (one0, true, one0) "
            "<body = again (int64 i, bool go, int64 x) => (bool on, int64 z, int64[M, 3] all) "
            "{ on = Identity (go) z = Add (x, i) all = NonMaxSuppression (row, s, many0, overlap) "
            "first = Slice (all, zeros, two, zeros) }>"
        ),
        "int64 a, int64[1, M, 3] b",
    ),
}


@pytest.mark.parametrize("what", EDGES)
def test_edges(what: str, tmp_path: Path) -> None:
    body, outputs = EDGES[what]
    made = (
        "lowest = Constant <value = int64[1] {-9223372036854775808}> () "
        "beyond = Constant <value = int64[1] {50}> () true = Constant <value = bool {1}> () "
        "many0 = Constant <value = int64 {100}> () forty = Constant <value = int64 {40}> () "
        "back = Constant <value = int64[1] {-2}> ()"
    )
    path = save(model("edges", f"{made} {KEPT} {body}", outputs), tmp_path / "net.onnx")
    given = [feeds(seed, share) for seed, share in ((0, 0.5), (1, 1.0), (2, 0.1))]
    check_computed(passes.optimise(frontend.load(path)), path, given)

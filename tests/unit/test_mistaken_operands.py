"""Operands and attributes that an operator cannot have are refused by a word, whatever the model
states of the result."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import load
from tests.onnx_models import save

_HEAD = '<ir_version: 9, opset_import: ["" : 20]>'
_NEWER = '<ir_version: 11, opset_import: ["" : 23]>'

# Of a Scan: what is summed up so far.
_SUMS = "b (float[2] a, float[2] n) => (float[2] t, float[2] o) { t = Add(a, n)  o = Identity(t) }"

# What is between inputs and result, and what is said of it.
CASES = {
    "value of Pad": (
        "(float[2,3] x, int64[4] p, float[2] v) => (float[4,5] y) { y = Pad(x, p, v) }",
        "constant_value is one number",
    ),
    "odd pads": (
        "(float[2,3] x, int64[3] p) => (float[4,5] y) { y = Pad(x, p) }",
        "pads of shape [3]",
    ),
    "pads without axes": (
        "(float[2,3] x, int64[2] p) => (float[4,5] y) <int64[2] a = {0, 1}> { y = Pad(x, p, , a) }",
        "numbers of shape [1] for 2 axes",
    ),
    "rank of Pad": (
        "(float[2,3] x, int64[4] p) => (float[20] y) { y = Pad(x, p) }",
        "[2, 3] to [20]",
    ),
    "starts of Slice": (
        (
            "(float[2,3] x, int64[1] s, int64[2] e) => (float[1,2] y)"
            " <int64[2] a = {0, 1}> { y = Slice(x, s, e, a) }"
        ),
        "numbers of shape [1] for 2 axes",
    ),
    "rank of Slice": (
        "(float[2,3] x, int64[2] s, int64[2] e) => (float[2] y) { y = Slice(x, s, e) }",
        "[2, 3] to [2]",
    ),
    "rank of Col2Im": (
        "(float[1,5,15] x, int64[2] i, int64[2] b) => (float[2] y) { y = Col2Im(x, i, b) }",
        "columns are float32",
    ),
    "no axis of CumSum": (
        "(float[5] x) => (float[5] y) <int64[0] a = {}> { y = CumSum(x, a) }",
        "axis is one number",
    ),
    "axes of CumSum": (
        "(float[5] x, int64[2] a) => (float[5] y) { y = CumSum(x, a) }",
        "axis is one number",
    ),
    "dimensions of HannWindow": (
        "(int64 n) => (float[10,10] y) { y = HannWindow(n) }",
        "has 1 dimension(s)",
    ),
    "window of STFT": (
        "(float[1,128,1] x, int64 s, float[0] w) => (float[1,15,9,2] y) { y = STFT(x, s, w) }",
        "frames of 0 numbers",
    ),
    "bins of STFT": (
        "(float[1,128,1] x, int64 s, float[16] w) => (float[1,15,12,2] y) { y = STFT(x, s, w) }",
        "frames of 16 numbers, 12 frequencies",
    ),
    "Resize of nothing": (
        "(int64[2] s) => (float[1,3] y) <float[0,4] x = {}> { y = Resize(x, , , s) }",
        "[0, 4] to [1, 3]",
    ),
    "nearest of Resize": (
        (
            "(float[4,4] x, int64[2] s) => (float[8,8] y)"
            ' { y = Resize<mode = "nearest", nearest_mode = "">(x, , , s) }'
        ),
        "nearest_mode ''",
    ),
    "reduction of ScatterElements": (
        (
            "(float[1,5] x, int64[1,2] i, float[1,2] u) => (float[1,5] y)"
            ' { y = ScatterElements<axis = 1, reduction = "">(x, i, u) }'
        ),
        "reduction ''",
    ),
    "mode of DepthToSpace": (
        (
            "(float[1,4,2,2] x) => (float[1,1,4,4] y)"
            ' { y = DepthToSpace<blocksize = 2, mode = "RDC">(x) }'
        ),
        "none of DCR, CRD",
    ),
    "mode of Pad": (
        '(float[2,3] x, int64[4] p) => (float[4,5] y) { y = Pad<mode = "symmetric">(x, p) }',
        "none of constant, reflect, edge, wrap",
    ),
    "approximation of Gelu": (
        '(float[5] x) => (float[5] y) { y = Gelu<approximate = "erf">(x) }',
        "none of none, tanh",
    ),
    "equation of Einsum": (
        '(float[3,5,5] x) => (float[3,5] y) { y = Einsum<equation = "a:Vii">(x) }',
        "letters name dimensions",
    ),
    "four dots of Einsum": (
        '(float[3,5,5] x) => (float[3,5] y) { y = Einsum<equation = "....aii">(x) }',
        "letters name dimensions",
    ),
    "trips of Loop": (
        (
            "(float[2] x) => (float[2] y) <int64[0] n = {}, bool c = {1}>"
            " { y = Loop(n, c, x) <body = b (int64 i, bool k, float[2] v) => (bool m, float[2] w)"
            " { m = Identity(k)  w = Relu(v) }> }"
        ),
        "the count of trips is one number",
    ),
    "position in a sequence": (
        (
            "(float[2] x) => (float[2] y) <int64[0] i = {}>"
            " { s = SequenceConstruct(x, x)  y = SequenceAt(s, i) }"
        ),
        "a position is one number",
    ),
    "parts of Concat": (
        "(float[2] x) => (float[4] y) { y = Concat<axis = 0>(x, , x) }",
        "inputs of which one is absent",
    ),
    "inputs of Scan": (
        (
            "(float[2] s, float[3,2] x) => (float[2] y, float[3,2] z)"
            " { y, z = Scan(s, x) <num_scan_inputs = 4294967296,"
            f" body = {_SUMS}> }}"
        ),
        "num_scan_inputs 4294967296 of 2 inputs",
    ),
    "inputs of a body": (
        (
            "(float[2] s, float[3,2] x) => (float[2] y, float[3,2] z)"
            " { y, z = Scan(s, s, x) <num_scan_inputs = 1,"
            f" body = {_SUMS}> }}"
        ),
        "a body of 2 inputs that is given 3",
    ),
    "axes of Scan": (
        (
            "(float[2] s, float[3,2] x) => (float[2] y, float[3,2] z)"
            " { y, z = Scan(s, x) <num_scan_inputs = 1, scan_input_axes = [0, 0],"
            f" body = {_SUMS}> }}"
        ),
        "2 scan_input_axes of 1",
    ),
    "axis of Scan": (
        (
            "(float[2] s, float[3,2] x) => (float[2] y, float[3,2] z)"
            " { y, z = Scan(s, x) <num_scan_inputs = 1, scan_input_axes = [2],"
            f" body = {_SUMS}> }}"
        ),
        "scan_input_axes 2 of [3, 2]",
    ),
    "scalar of Scan": (
        (
            "(float[2] s, float x) => (float[2] y, float[3,2] z)"
            " { y, z = Scan(s, x) <num_scan_inputs = 1,"
            f" body = {_SUMS}> }}"
        ),
        "scan_input_axes 0 of []",
    ),
    "directions of Scan": (
        (
            "(float[2] s, float[3,2] x) => (float[2] y, float[3,2] z)"
            " { y, z = Scan(s, x) <num_scan_inputs = 1, scan_output_directions = [0, 0],"
            f" body = {_SUMS}> }}"
        ),
        "2 scan_output_directions of 1",
    ),
    "results of a body": (
        (
            "(float[2] x) => (float[2] y, float[3,2] z) <int64 n = {3}, bool c = {1}>"
            " { y, z = Loop(n, c, x) <body = b (int64 i, bool k, float[2] v)"
            " => (bool m, float[2] w) { m = Identity(k)  w = Relu(v) }> }"
        ),
        "a body of 2 results where 3 are read",
    ),
    "fewer parts than outputs of Split": (
        "(float[6] x) => (float[2] y, float[2] z) { y, z, w = Split<num_outputs = 2>(x) }",
        "num_outputs 2 of a node with 3 outputs",
    ),
    "more parts than outputs of Split": (
        "(float[6] x) => (float[2] y, float[2] z) { y, z = Split<num_outputs = 5>(x) }",
        "num_outputs 5 of a node with 2 outputs",
    ),
    "channels of InstanceNormalization": (
        (
            "(float[3] x, float[3] s, float[3] b) => (float[3] y)"
            " { y = InstanceNormalization(x, s, b) }"
        ),
        "the data must be [N, C, ...]",
    ),
    "channels of GlobalAveragePool": (
        "(float[3] x) => (float[3] y) { y = GlobalAveragePool(x) }",
        "the data must be [N, C, ...]",
    ),
    "channels of LRN": (
        "(float[3] x) => (float[3] y) { y = LRN<size = 3>(x) }",
        "the data must be [N, C, ...]",
    ),
    "scale of LayerNormalization": (
        (
            "(float[1,3,5] x, float[2,3,5] w) => (float[2,3,5] y)"
            " { y = LayerNormalization<axis = 0>(x, w) }"
        ),
        "Scale and B broadcast to X",
    ),
    "channels of GlobalLpPool": (
        "(float[3] x) => (float[3] y) { y = GlobalLpPool(x) }",
        "the data must be [N, C, ...]",
    ),
    "axis of Compress": (
        "(float x, bool[3] c) => (float[n] y) { y = Compress<axis = 0>(x, c) }",
        "axis 0 of 0 dimensions",
    ),
    "condition of Compress": (
        "(float[3] x, bool c) => (float[1] y) { y = Compress(x, c) }",
        "a condition [] for 1 of 3",
    ),
    "counted condition of Compress": (
        "(float[3] x, bool c) => (float[n] y) { y = Compress(x, c) }",
        "a condition of 0 dimensions",
    ),
    "axis of what is counted": (
        (
            "(float[3] x) => (float[3,1] y)"
            " { n = NonZero(x)  f = Cast<to = 1>(n)  y = Concat<axis = 3>(f, f) }"
        ),
        "axis 3 of 2 dimensions",
    ),
    "taps of filters of run time": (
        (
            "(float[1,1,3,3] x, float[1,1,8192,9] w) => (float[1,1,8194,11] y)"
            " { y = ConvTranspose(x, w) }"
        ),
        "filters of run time have nodes for each tap",
    ),
    "pixels of ConvTranspose": (
        (
            "(float[1,1,3,16777216] x, float[1,2,3,3] w) => (float[1,2,5,16777218] y)"
            " { y = ConvTranspose(x, w) }"
        ),
        "too large to compile",
    ),
    "axis of SplitToSequence": (
        ("(float x) => (float y) <int64 i = {0}> { s = SplitToSequence(x)  y = SequenceAt(s, i) }"),
        "axis 0 of []",
    ),
    "sizes of SplitToSequence": (
        (
            "(float[4] x) => (float[2] y) <int64 n = {-2}, int64 i = {0}>"
            " { s = SplitToSequence(x, n)  y = SequenceAt(s, i) }"
        ),
        "split -2",
    ),
    "indices of ScatterND": (
        "(float[3] x, int64 i, float u) => (float[3] y) { y = ScatterND(x, i, u) }",
        "indices [] of [3]",
    ),
    "updates of ScatterND": (
        "(float[3,4] x, int64[2,1] i, float[2,3] u) => (float[3,4] y) { y = ScatterND(x, i, u) }",
        "they are [2, 4]",
    ),
    "updates of ScatterElements": (
        (
            "(float[3,4] x, int64[2,2] i, float[2,1] u) => (float[3,4] y)"
            " { y = ScatterElements(x, i, u) }"
        ),
        "they are [2, 2]",
    ),
    "parts of DFT": (
        "(float[2,0] x, int64 a) => (float[2,2] y) { y = DFT(x, , a) }",
        "the last dimension is that of real and imaginary parts",
    ),
    "rank of a recurrence": (
        (
            "(float[1,3,2] x, float[1,5,2] w, float r) => (float[1,1,3,5] y)"
            " { y, h = RNN<hidden_size = 5>(x, w, r) }"
        ),
        "R is [directions, gates * hidden_size, hidden_size]",
    ),
    "largest of TopK": (
        (
            "(float[5] x) => (float[2] y, int64[2] i) <int64[1] k = {2}>"
            " { y, i = TopK<largest = 2>(x, k) }"
        ),
        "largest 2, which is neither 0 nor 1",
    ),
}
# The same in a newer opset.
NEWER = {
    "axis of RMSNormalization": (
        "(float[3,4] x, float[4] s) => (float[3,4] y) { y = RMSNormalization<axis = 2>(x, s) }",
        "axis 2 of an input of 2 dimensions",
    ),
    "output of Attention": (
        (
            "(float[1,1,2,4] q, float[1,1,3,4] k, float[1,1,3,4] v) => (float[1,1,2,4] y)"
            " { y = Attention<qk_matmul_output_mode = 4>(q, k, v) }"
        ),
        "qk_matmul_output_mode 4, which is none of 0, 1, 2, 3",
    ),
    "zero point of a small float": (
        (
            "(float8e4m3fn[3] x) => (float[3] y) <float s = {2}>"
            " { o = Constant <value_float = 0.5> ()  z = Cast <to = 17> (o)"
            "  y = DequantizeLinear(x, s, z) }"
        ),
        "a zero point 0.5 of float8_e4m3fn",
    ),
}
# Results that depend on numbers of run time, of a shape that the model states.
STATED = (
    "(float[2,3] x, int64[2] r) => (float[4] y) { y = Tile(x, r) }",
    "(float[2,3] x, int64[2] r) => (float[5,6] y) { y = Tile(x, r) }",
    "(float[2,3] x, int64[1] k) => (float[2] y, int64[2] i) { y, i = TopK(x, k) }",
    "(float[2,3] x, int64[1] k) => (float[1,2] y, int64[1,2] i) { y, i = TopK(x, k) }",
    "(float[2,3] x, int64[1] k) => (float[2,5] y, int64[2,5] i) { y, i = TopK(x, k) }",
    "(float[2,3] x, int64[1] k) => (float[2,2] y, int64[2,3] i) { y, i = TopK(x, k) }",
    "(float[6,1] x, int64[2] s) => (float[2] y, float[4] z) { y, z = Split(x, s) }",
    "(float[6,1] x, int64[2] s) => (float[2,2] y, float[4,1] z) { y, z = Split(x, s) }",
    "(float[6,1] x, int64[2] s) => (float[2,1] y, float[5,1] z) { y, z = Split(x, s) }",
    "(float[3,3,2] x, bool[2] c) => (float[3,1] y) { y = Compress<axis = -1>(x, c) }",
    "(float[3,3] x, bool[2] c) => (float[2,3] y) { y = Compress(x, c) }",
    "(float[3,3] x) => (int64[3,4] y) { y = NonZero(x) }",
    "(float x, int64 a) => (float y) { y = CumSum(x, a) }",
    "(float[6,5] x, int64[1] s) => (float[4] y) { y = CenterCropPad<axes = [0]>(x, s) }",
    (
        "(float[1,1,2,2] x, int64[1,1,2,2] i, int64[4] s) => (float[3,3] y)"
        " { y = MaxUnpool<kernel_shape = [2, 2]>(x, i, s) }"
    ),
)


@pytest.mark.parametrize("text", STATED)
def test_shapes_that_the_operator_cannot_make(text: str, tmp_path: Path) -> None:
    source = onnx.parser.parse_model(f"{_HEAD} g {text}")
    with pytest.raises(EdgeconvError):
        load(save(source, tmp_path / "model.onnx"))


@pytest.mark.parametrize("case", [*CASES, *NEWER])
def test_what_an_operator_cannot_have(case: str, tmp_path: Path) -> None:
    text, said = (CASES | NEWER)[case]
    source = onnx.parser.parse_model(f"{_NEWER if case in NEWER else _HEAD} g {text}")
    with pytest.raises(EdgeconvError) as refused:
        load(save(source, tmp_path / "model.onnx"))
    assert said in "\n".join((str(refused.value), *refused.value.details))


@pytest.mark.parametrize("end", ["input", "output"])
def test_an_end_without_a_name(end: str, tmp_path: Path) -> None:
    """The name of what is absent."""
    text = "(float[1,1,2] u, float[1,3,2] x, float[1,4,2] w, float[1,4,4] r) => (float[1,1,3,4] y)"
    source = onnx.parser.parse_model(f"{_HEAD} g {text} {{ y, h = RNN<hidden_size = 4>(x, w, r) }}")
    getattr(source.graph, end)[0].name = ""
    if end == "output":
        source.graph.node[0].output[0] = ""
    with pytest.raises(EdgeconvError, match="the model is invalid"):
        load(save(source, tmp_path / "model.onnx"))

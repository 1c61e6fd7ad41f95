"""Multi-head attention over one tensor: Attention and QAttention."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgeconv.frontend.definitions.definition import Definition, Row
from edgeconv.frontend.definitions.dynamic import products_to_float

_MASKED = float(np.finfo(np.float32).min)  # of ONNX Runtime; what softmax makes 0 of


def _attention(d: Definition) -> None:
    _only(d, ["mask_index", "past", "attention_bias", "past_sequence_length"], 3)
    joined = d.add("Add", [d.add("MatMul", [d.input(0), d.input(1)]), d.input(2)])
    _heads(d, joined, d.numbers("qkv_hidden_sizes", int))


def _quantised_attention(d: Definition) -> None:
    _only(d, ["mask_index"], 5)
    _only(d, ["past"], 8)
    joined = products_to_float(d, (0, 3, 6), (1, 4, 7))
    _heads(d, d.add("Add", [joined, d.input(2)]), [])


def _only(d: Definition, names: list[str], first: int) -> None:
    """Reject inputs that are not compiled."""
    given = [name for i, name in enumerate(names, first) if d.input(i)]
    if given or d.output(1) or d.flag("do_rotary"):
        got = given[0] if given else "a present state or rotary embedding"
        raise d.rejected(got, "attention is over all of the input, without a mask and a past")


def _heads(d: Definition, joined: str, sizes: list[int]) -> None:
    """softmax(scale Q K^T) V of each head, Q, K and V side by side in ``joined``."""
    shape, bias, heads = d.shape(0), d.shape(2), d.integer("num_heads", 0)
    if shape is None or bias is None or len(shape) != 3 or len(bias) != 1:
        got = f"input {shape and list(shape)}, bias {bias and list(bias)}"
        raise d.rejected(got, "input is [batch, sequence, channels], bias a vector")
    widths = sizes or [bias[0] // 3] * 3
    wrong = heads < 1 or any(w < 1 or w % heads for w in widths) or sum(widths) != bias[0]
    if wrong or len(widths) != 3 or widths[0] != widths[1]:
        got = f"{heads} heads of Q, K and V of {widths} channels"
        raise d.rejected(got, "heads divide the channels of each, and Q and K are alike")
    batch, length = shape[:2]
    cuts = np.cumsum([0, *widths])
    parts = []
    for i, name in enumerate("QKV"):
        bounds = (d.add_constant(f"{name}/{at}", np.array([cuts[i + at]])) for at in (0, 1))
        axis = d.add_constant(f"{name}/axis", np.array([2]))
        part = d.add("Slice", [joined, *bounds, axis])
        split = np.array([batch, length, heads, widths[i] // heads])
        rows = d.add("Reshape", [part, d.add_constant(f"{name}/shape", split)])
        parts.append(d.add("Transpose", [rows], perm=[0, 2, 3, 1] if name == "K" else [0, 2, 1, 3]))
    scores = d.add("MatMul", parts[:2])
    scale = d.number("scale", 0.0) or 1 / np.sqrt(widths[0] // heads)
    scores = d.add("Mul", [scores, d.add_constant("scale", np.float32(scale))])
    if d.flag("unidirectional"):
        later = np.triu(np.full((length, length), _MASKED, np.float32), 1)
        scores = d.add("Add", [scores, d.add_constant("later", later)])
    mixed = d.add("MatMul", [d.add("Softmax", [scores], axis=-1), parts[2]])
    rows = d.add("Transpose", [mixed], perm=[0, 2, 1, 3])
    whole = d.add_constant("whole", np.array([batch, length, widths[2]]))
    d.add("Reshape", [rows, whole], d.node.output[0])


ROWS: Mapping[str, Row] = {
    "Attention": Row(
        "input weights bias mask_index? past? attention_bias? past_sequence_length?",
        _attention,
        integers=False,
    ),
    "QAttention": Row(
        "input weight bias input_scale weight_scale mask_index? input_zero_point? "
        "weight_zero_point? past?",
        _quantised_attention,
        integers=False,  # its shapes are needed, which are not known where a reference is written
    ),
}

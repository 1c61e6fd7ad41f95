"""Multi-head attention over one tensor, Attention and QAttention, and over several,
MultiHeadAttention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgeconv.model.frontend.definitions.definition import Definition, Row
from edgeconv.model.frontend.definitions.dynamic import products_to_float

_LOWEST = float(np.finfo(np.float32).min)  # of ONNX Runtime; what softmax makes 0 of
_MASKED = -10000.0  # ONNX's default of mask_filter_value
_MASK_RULE = "a mask is [batch], [2 * batch], [batch, keys] or [batch, queries, keys]"


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The sizes of a stack: queries and keys of this call, and heads."""

    batch: int
    queries: int
    keys: int
    heads: int


def _attention(d: Definition) -> None:
    _only(d, {6: "past_sequence_length"})
    joined = d.add("Add", [d.add("MatMul", [d.input(0), d.input(1)]), d.input(2)])
    _of_one(d, joined, d.numbers("qkv_hidden_sizes", int), mask=3, past=4, bias=5)


def _quantised_attention(d: Definition) -> None:
    _only(d, {})
    joined = products_to_float(d, (0, 3, 6), (1, 4, 7))
    _of_one(d, d.add("Add", [joined, d.input(2)]), [], mask=5, past=8, bias=None)


def _only(d: Definition, others: Mapping[int, str]) -> None:
    """Reject what is not compiled."""
    given = [name for index, name in others.items() if d.input(index)]
    if d.flag("do_rotary") or d.flag("past_present_share_buffer"):
        given = ["rotary embedding" if d.flag("do_rotary") else "past_present_share_buffer"]
    if given:
        raise d.rejected(given[0], "attention is computed without, over tensors of static shapes")


def _of_one(
    d: Definition, joined: str, sizes: list[int], *, mask: int, past: int, bias: int | None
) -> None:
    """The attention of Q, K and V side by side in ``joined``; the numbers of further inputs."""
    shape, beside, heads = d.shape(0), d.shape(2), d.integer("num_heads", 0)
    if shape is None or beside is None or len(shape) != 3 or len(beside) != 1:
        got = f"input {shape and list(shape)}, bias {beside and list(beside)}"
        raise d.rejected(got, "input is [batch, sequence, channels], bias a vector")
    widths = sizes or [beside[0] // 3] * 3
    wrong = heads < 1 or any(w < 1 or w % heads for w in widths) or sum(widths) != beside[0]
    if wrong or len(widths) != 3 or widths[0] != widths[1]:
        got = f"{heads} heads of Q, K and V of {widths} channels"
        raise d.rejected(got, "heads divide the channels of each, and Q and K are alike")
    cuts = [0, widths[0], widths[0] + widths[1], sum(widths)]
    of = _Sizes(shape[0], shape[1], shape[1], heads)
    operands = [
        _by_heads(d, _cut(d, joined, cuts[i], cuts[i + 1], 2), of, shape[1]) for i in range(3)
    ]
    before = None
    if d.input(past):
        states = [_cut(d, d.input(past), i, i + 1, 0) for i in range(2)]
        axes = d.add_constant("state axis", np.array([0]))
        before = [d.add("Squeeze", [state, axes]) for state in states]
    keys, values, earlier = _with_past(d, operands[1:], before, d.shape(past), of)
    if d.output(1):
        axes = d.add_constant("states axis", np.array([0]))
        present = [d.add("Unsqueeze", [operand, axes]) for operand in (keys, values)]
        d.add("Concat", present, d.output(1), axis=0)
    bias_name = d.input(bias) if bias is not None else ""
    masks = _masks(d, mask, bias_name, of, earlier)
    _mixed(d, operands[0], keys, values, masks, of, widths[0] // heads)


def _of_several(d: Definition) -> None:
    """The attention of queries [batch, sequence, channels], and keys and values likewise, or by
    heads as they come out of a cache.  All in one tensor is not computed: no engine here does it
    either."""
    _only(d, {8: "past_sequence_length", 9: "cache_indirection"})
    if d.output(3):
        raise d.rejected("qk as an output", "scores are not kept", "cut it off with --output")
    if d.input(6) and not (d.output(1) and d.output(2)):
        rule = "with a past there are a present_key and a present_value"
        raise d.rejected("a past alone", rule, "ONNX Runtime computes otherwise without them")
    query, key, heads = d.shape(0), d.shape(1), d.integer("num_heads", 0)
    if query is None or len(query) != 3 or heads < 1 or query[2] % heads:
        got = f"query {query and list(query)} and {heads} heads"
        raise d.rejected(got, "query is [batch, sequence, channels], and heads divide the channels")
    if key is None or len(key) not in (3, 4):
        got = f"key {key and list(key)}"
        raise d.rejected(got, "key is [batch, sequence, channels] or [batch, heads, sequence, d]")
    of = _Sizes(query[0], query[1], key[-2], heads)
    operands, earlier = _operands(d, query, key, of), 0
    if len(key) == 3:
        before = [d.input(6), d.input(7)] if d.input(6) else None
        *operands[1:], earlier = _with_past(d, operands[1:], before, d.shape(6), of)
    for index in (1, 2):
        if d.output(index):
            d.add("Identity", [operands[index]], d.output(index))
    q, k, v = operands
    _mixed(d, q, k, v, _masks(d, 4, d.input(5), of, earlier), of, query[2] // heads)


def _operands(d: Definition, query: tuple[int, ...], key: tuple[int, ...], of: _Sizes) -> list[str]:
    """Queries, keys and values by heads, with their biases."""
    names, lengths = [d.input(0)], (of.queries, of.keys, of.keys)
    if len(key) == 3:
        names += [d.input(1), d.input(2)]
    bias, value = d.shape(3), d.shape(2)
    if bias is not None and d.input(3):
        last = value[2] if value is not None and len(value) == 3 else query[2]
        widths = [query[2], key[2] if len(key) == 3 else query[2], last]
        if list(bias) != [sum(widths)]:
            raise d.rejected(f"bias {list(bias)}", f"it has {sum(widths)} elements")
        cuts = [0, widths[0], widths[0] + widths[1], sum(widths)]
        pieces = [_cut(d, d.input(3), cuts[i], cuts[i + 1], 0) for i in range(len(names))]
        names = [d.add("Add", [name, piece]) for name, piece in zip(names, pieces, strict=True)]
    operands = [
        _by_heads(d, name, of, length) for name, length in zip(names, lengths, strict=False)
    ]
    return operands if len(key) == 3 else [*operands, d.input(1), d.input(2)]


def _cut(d: Definition, name: str, start: int, end: int, axis: int) -> str:
    bounds = [d.add_constant(what, np.array([at])) for what, at in (("start", start), ("end", end))]
    return d.add("Slice", [name, *bounds, d.add_constant("cut axis", np.array([axis]))])


def _by_heads(d: Definition, name: str, of: _Sizes, length: int) -> str:
    split = d.add_constant("heads", np.array([of.batch, length, of.heads, -1]))
    return d.add("Transpose", [d.add("Reshape", [name, split])], perm=[0, 2, 1, 3])


def _with_past(
    d: Definition,
    operands: list[str],
    before: list[str] | None,
    shape: tuple[int, ...] | None,
    of: _Sizes,
) -> tuple[str, str, int]:
    """Keys and values behind those ``before``, and how many these are; ``shape`` ends in them and
    the elements of a head."""
    if before is None:
        return operands[0], operands[1], 0
    if shape is None or shape[-4:-2] != (of.batch, of.heads):
        got = f"a past of {shape and list(shape)}"
        raise d.rejected(got, "a past ends in [batch, heads, sequence, channels of a head]")
    pairs = zip(before, operands, strict=True)
    keys, values = (d.add("Concat", [*pair], axis=2) for pair in pairs)
    return keys, values, int(shape[-2])


def _masks(d: Definition, mask: int, bias: str, of: _Sizes, earlier: int) -> list[str]:
    """What is added to the scores, behind ``earlier`` keys."""
    total, found = earlier + of.keys, [bias] if bias else []
    if d.input(mask):
        found.append(_mask(d, mask, of, total))
    if d.flag("unidirectional"):
        later = np.triu(np.full((of.queries, total), _LOWEST, np.float32), 1 + total - of.queries)
        found.append(d.add_constant("later", later))
    return found


def _mask(d: Definition, index: int, of: _Sizes, total: int) -> str:
    """The mask at input ``index``: keys that count, from none and up to one for each sequence, or
    whether one counts."""
    shape, name = d.shape(index), d.input(index)
    if shape is not None and shape in ((of.batch,), (2 * of.batch,)):
        numbers = d.add_constant("key numbers", np.arange(total, dtype=np.int32))
        column = d.add_constant("sequences", np.array([of.batch, 1, 1, 1]))
        ends = _cut(d, name, 0, of.batch, 0)
        counts = d.add("Less", [numbers, d.add("Reshape", [ends, column])])
        if shape == (2 * of.batch,):
            starts = _cut(d, name, of.batch, 2 * of.batch, 0)
            early = d.add("Less", [numbers, d.add("Reshape", [starts, column])])
            counts = d.add("And", [counts, d.add("Not", [early])])
    elif shape is not None and shape in ((of.batch, total), (of.batch, of.queries, total)):
        zero = d.add_constant("none", np.zeros((), np.int32))
        middle = of.queries if len(shape) == 3 else 1
        sizes = d.add_constant("mask sizes", np.array([of.batch, 1, middle, total]))
        counts = d.add("Reshape", [d.add("Greater", [name, zero]), sizes])
    else:
        raise d.rejected(f"{d.operands[index]} {shape and list(shape)}", _MASK_RULE)
    kept = d.add_constant("kept", np.float32(0))
    masked = d.add_constant("masked", np.float32(d.number("mask_filter_value", _MASKED)))
    return d.add("Where", [counts, kept, masked])


def _mixed(d: Definition, q: str, k: str, v: str, masks: list[str], of: _Sizes, width: int) -> None:
    """softmax(scale Q K^T + masks) V, heads side by side."""
    scores = d.add("MatMul", [q, d.add("Transpose", [k], perm=[0, 1, 3, 2])])
    scale = d.number("scale", 0.0) or 1 / np.sqrt(width)
    scores = d.add("Mul", [scores, d.add_constant("scale", np.float32(scale))])
    if masks:
        total = masks[0]
        for mask in masks[1:]:
            total = d.add("Add", [total, mask])
        scores = d.add("Add", [scores, total])
    mixed = d.add("MatMul", [d.add("Softmax", [scores], axis=-1), v])
    rows = d.add("Transpose", [mixed], perm=[0, 2, 1, 3])
    whole = d.add_constant("whole", np.array([of.batch, of.queries, -1]))
    d.add("Reshape", [rows, whole], d.node.output[0])


ROWS: Mapping[str, Row] = {
    "Attention": Row(
        "input weights bias mask_index? past? attention_bias? past_sequence_length?",
        _attention,
        integers=False,
    ),
    "MultiHeadAttention": Row(
        "query key value bias? key_padding_mask? attention_bias? past_key? past_value? "
        "past_sequence_length? cache_indirection?",
        _of_several,
        integers=False,
    ),
    "QAttention": Row(
        "input weight bias input_scale weight_scale mask_index? input_zero_point? "
        "weight_zero_point? past?",
        _quantised_attention,
        integers=False,  # its shapes are needed, which are not known where a reference is written
    ),
}

"""GroupQueryAttention of ``com.microsoft``: attention of decoders, in which several heads of
queries share one of keys (Ainslie et al., GQA, 2023), over a cache of keys and values
(https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.definitions.definition import Definition, Row
from edgeconv.model.frontend.definitions.fused import number

_LOWEST = float(np.finfo(np.float32).min)
_CACHED = "past_key and past_value are [batch, kv_num_heads, length, channels of a head]"


@dataclass(frozen=True, slots=True)
class _Sizes:
    """``queries``: tokens of this call; ``past``: those that there is room for in the cache that is
    read; ``keys``: in the one that is written; ``width``: channels of a head."""

    batch: int
    queries: int
    past: int
    keys: int
    heads: int
    kv_heads: int
    width: int


def _grouped(d: Definition) -> None:
    unsupported = {11: "head_sink"} if d.flag("smooth_softmax") else {}
    unsupported |= {12: "k_scale", 13: "v_scale"}
    for index, what in unsupported.items():
        if d.input(index):
            raise d.rejected(what, "keys and values are real numbers, and a sink is one of two")
    if d.integer("qk_output", 0) or d.output(3):
        raise d.rejected("qk as an output", "scores are not kept", "cut it off with --output")
    of = _sizes(d)
    q, k, v = _operands(d, of)
    before = _past_lengths(d, of)
    if d.flag("do_rotary"):
        positions = d.input(9) or _positions(d, before, of)
        options: dict[str, Any] = {"interleaved": int(d.flag("rotary_interleaved"))}
        cosines = d.shape(7)
        if cosines and 2 * cosines[-1] < of.width:  # others are not turned
            options["rotary_embedding_dim"] = 2 * cosines[-1]
        q, k = (
            d.add("RotaryEmbedding", [x, d.input(7), d.input(8), positions], **options)
            for x in (q, k)
        )
    keys, values = (_cached(d, new, index, before, of) for new, index in ((k, 3), (v, 4)))
    for index, cache in ((1, keys), (2, values)):
        if d.output(index):
            d.add("Identity", [cache], d.output(index))
    _mix(d, q, keys, values, before, of)


def _sizes(d: Definition) -> _Sizes:
    query, key, past = d.shape(0), d.shape(1), d.shape(3)
    heads, kv_heads = d.integer("num_heads", 0), d.integer("kv_num_heads", 0)
    if query is None or len(query) != 3 or min(heads, kv_heads) < 1 or heads % kv_heads:
        got = f"query {query and list(query)}, {heads} heads, {kv_heads} of keys"
        raise d.rejected(got, "query is [batch, sequence, channels], and heads share those of keys")
    parts = heads if d.input(1) else heads + 2 * kv_heads
    width = query[2] // parts
    if width * parts != query[2] or (d.input(1) and key != (*query[:2], kv_heads * width)):
        got = f"query {list(query)}, key {key and list(key)} of {heads} and {kv_heads} heads"
        raise d.rejected(got, "key is [batch, sequence, kv_num_heads times channels of a head]")
    total = d.constant(6)
    if total is None or total.size != 1:
        hint = "state shapes with --input-shape, or the value of an input with --input-value"
        raise d.rejected("a total_sequence_length computed at run time", "it is a shape", hint)
    length = 0
    if d.input(3):
        if past is None or len(past) != 4 or past[:2] + past[3:] != (query[0], kv_heads, width):
            raise d.rejected(f"past_key {past and list(past)}", _CACHED)
        length = past[2]
    keys = max(int(total.reshape(-1)[0]), length)
    if keys < query[1]:
        raise d.rejected(f"a total_sequence_length of {keys}", f"{query[1]} tokens are among it")
    return _Sizes(query[0], query[1], length, keys, heads, kv_heads, width)


def _is_prompt(d: Definition, of: _Sizes) -> bool:
    """Whether all tokens are those of this call."""
    total = d.constant(6)
    return total is not None and int(total.reshape(-1)[0]) == of.queries


def _operands(d: Definition, of: _Sizes) -> list[str]:
    """Queries, keys and values by heads: [batch, heads, tokens, channels of a head]."""
    heads = (of.heads, of.kv_heads, of.kv_heads)
    if d.input(1):
        parts = [d.input(i) for i in range(3)]
    else:
        ends = np.cumsum([0, *heads]) * of.width
        parts = [_slice(d, d.input(0), int(ends[i]), int(ends[i + 1]), 2) for i in range(3)]
    found = []
    for part, count in zip(parts, heads, strict=True):
        apart = d.add_constant("heads", np.array([of.batch, of.queries, count, of.width]))
        found.append(d.add("Transpose", [d.add("Reshape", [part, apart])], perm=[0, 2, 1, 3]))
    return found


def _slice(d: Definition, name: str, start: int, end: int, axis: int) -> str:
    bounds = [d.add_constant("bound", np.array([at])) for at in (start, end, axis)]
    return d.add("Slice", [name, *bounds])


def _past_lengths(d: Definition, of: _Sizes) -> str:
    """How many tokens of each sequence come before this call's: int64 of [batch, 1]."""
    if _is_prompt(d, of):
        return d.add_constant("past lengths", np.zeros((of.batch, 1), np.int64))
    last = d.add("Cast", [d.input(5)], to=TensorProto.INT64)
    column = d.add("Reshape", [last, d.add_constant("column", np.array([of.batch, 1]))])
    return d.add("Add", [column, d.add_constant("before", np.array(1 - of.queries))])


def _positions(d: Definition, before: str, of: _Sizes) -> str:
    return d.add("Add", [before, d.add_constant("tokens", np.arange(of.queries)[None])])


def _cached(d: Definition, new: str, index: int, before: str, of: _Sizes) -> str:
    """The cache with this call's tokens behind those of before: token j is that of the past, the
    (j - before)-th new one, or zeros."""
    if _is_prompt(d, of) and of.keys == of.queries:
        return new
    nothing = np.zeros((of.batch, of.kv_heads, 1, of.width), np.float32)
    past = [d.input(index)] if of.past else []
    joined = d.add("Concat", [*past, new, d.add_constant("no token", nothing)], axis=2)
    places = d.add_constant("places", np.arange(of.keys))
    first = d.add_constant("first new", np.array(of.past))
    last = d.add_constant("behind all", np.array(of.past + of.queries))
    rows = []
    for i in range(of.batch):
        mine = d.add(
            "Reshape", [_slice(d, before, i, i + 1, 0), d.add_constant("one", np.array([1]))]
        )
        later = d.add("Add", [d.add("Sub", [places, mine]), first])
        at = d.add("Where", [d.add("Less", [places, mine]), places, d.add("Min", [later, last])])
        own = joined if of.batch == 1 else _slice(d, joined, i, i + 1, 0)
        rows.append(d.add("Gather", [own, at], axis=2))
    return rows[0] if len(rows) == 1 else d.add("Concat", rows, axis=0)


def _shared(d: Definition, cache: str, of: _Sizes) -> str:
    """Each head of keys as often as heads of queries share it."""
    times = of.heads // of.kv_heads
    if times == 1:
        return cache
    axis = d.add_constant("shared axis", np.array([2]))
    wide = np.array([of.batch, of.kv_heads, times, of.keys, of.width])
    spread = d.add("Unsqueeze", [cache, axis])
    spread = d.add("Expand", [spread, d.add_constant("shared", wide)])
    whole = np.array([of.batch, of.heads, of.keys, of.width])
    return d.add("Reshape", [spread, d.add_constant("all heads", whole)])


def _counts(d: Definition, before: str, of: _Sizes) -> str:
    """Whether a query reads a key, [batch, 1, queries, keys]: none behind it, and none that the
    window does not reach."""
    column = d.add_constant("queries", np.array([of.batch, 1, 1, 1]))
    start = d.add("Reshape", [before, column])
    own = d.add("Add", [start, d.add_constant("own", np.arange(of.queries)[:, None])])
    keys = d.add_constant("keys", np.arange(of.keys)[None])
    counts = d.add("LessOrEqual", [keys, own])
    window = d.integer("local_window_size", -1)
    if window > 0:
        oldest = d.add("Sub", [own, d.add_constant("window", np.array(window))])
        counts = d.add("And", [counts, d.add("Greater", [keys, oldest])])
    return counts


def _mix(d: Definition, q: str, keys: str, values: str, before: str, of: _Sizes) -> None:
    """softmax(cap(scale Q K^T) + masks) V, heads side by side."""
    k, v = (_shared(d, cache, of) for cache in (keys, values))
    scores = d.add("MatMul", [q, d.add("Transpose", [k], perm=[0, 1, 3, 2])])
    scale = d.number("scale", 0.0) or 1 / np.sqrt(of.width)
    scores = d.add("Mul", [scores, number(d, "scale", float(scale))])
    cap = d.number("softcap", 0.0)
    if cap > 0:
        part = d.add("Tanh", [d.add("Div", [scores, number(d, "cap", cap)])])
        scores = d.add("Mul", [part, number(d, "cap", cap)])
    if d.input(10):
        scores = d.add("Add", [scores, d.input(10)])
    ends = [number(d, "kept", 0.0), number(d, "masked", _LOWEST)]
    mask = d.add("Where", [_counts(d, before, of), *ends])
    mixed = d.add("MatMul", [_softmax(d, d.add("Add", [scores, mask]), of), v])
    rows = d.add("Transpose", [mixed], perm=[0, 2, 1, 3])
    whole = d.add_constant("whole", np.array([of.batch, of.queries, of.heads * of.width]))
    d.add("Reshape", [rows, whole], d.node.output[0])


def _softmax(d: Definition, scores: str, of: _Sizes) -> str:
    """With a sink a further key, of value zero, takes its part: of score 0, or one for each head
    (Xiao et al., Efficient streaming language models with attention sinks, 2024)."""
    if not (d.flag("smooth_softmax") or d.input(11)):
        return d.add("Softmax", [scores], axis=-1)
    shape: Sequence[int] = (of.batch, of.heads, of.queries, 1)
    sink = number(d, "sink", 0.0)
    if d.input(11):
        sink = d.add("Reshape", [d.input(11), d.add_constant("by head", np.array([1, -1, 1, 1]))])
    column = d.add("Expand", [sink, d.add_constant("column", np.array(shape))])
    parts = d.add("Softmax", [d.add("Concat", [scores, column], axis=-1)], axis=-1)
    return _slice(d, parts, 0, of.keys, 3)


ROWS: Mapping[str, Row] = {
    "GroupQueryAttention": Row(
        "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? "
        "sin_cache? position_ids? attention_bias? head_sink? k_scale? v_scale?",
        _grouped,
        integers=False,
    )
}

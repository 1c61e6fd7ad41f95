"""Positions and embeddings of transformers, as ONNX Runtime's optimiser writes them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgeconv.model.frontend.definitions.definition import Definition, Row

_PAIR = 2  # numbers that are turned together
_RANKS = (3, 4)


def _rotary(d: Definition) -> None:
    """ONNX's RotaryEmbedding, with the operands in another order; one position is that of the first
    token."""
    shape, positions, cache = d.shape(0), d.shape(1), d.shape(2)
    if d.flag("is_packed_batching") or d.number("scale", 1.0) != 1.0:
        raise d.rejected("is_packed_batching or scale", "sequences are apart, and not scaled")
    if shape is None or positions is None or cache is None or len(shape) not in _RANKS:
        got = f"input {shape and list(shape)}"
        raise d.rejected(got, "input is [batch, sequence, channels] or [batch, heads, sequence, d]")
    length = shape[-2]
    names = [d.input(2), d.input(3), d.input(1)]
    if positions in ((), (1,)):
        numbers = d.add("Add", [d.input(1), d.add_constant("tokens", np.arange(length))])
        every = d.add_constant("every", np.array([shape[0], length]))
        names[2] = d.add("Expand", [numbers, every])
    attrs = d.attrs("interleaved", "rotary_embedding_dim")
    if len(shape) == _RANKS[0]:
        heads = d.integer("num_heads", 0) or shape[-1] // (_PAIR * cache[-1])
        if heads < 1 or shape[-1] % heads:
            raise d.rejected(f"{heads} heads of {shape[-1]} channels", "heads divide the channels")
        attrs["num_heads"] = heads
    d.add("RotaryEmbedding", [d.input(0), *names], d.node.output[0], **attrs)


def _embedded(d: Definition) -> None:
    """The normalised sum of embeddings of words, positions and segments; how many tokens of a
    sequence count."""
    ids, table = d.shape(0), d.shape(3)
    if ids is None or table is None or len(ids) != _PAIR:
        raise d.rejected(f"input_ids {ids and list(ids)}", "they are [batch, sequence]")
    if d.integer("mask_index_type", 0):
        raise d.rejected("a mask_index_type", "tokens that count are counted")
    positions = d.input(8) or d.add_constant("positions", np.arange(ids[1])[None])
    total = d.add("Gather", [d.input(2), d.input(0)])
    total = d.add("Add", [total, d.add("Gather", [d.input(3), positions])])
    if d.input(1) and d.input(4):
        total = d.add("Add", [total, d.add("Gather", [d.input(4), d.input(1)])])
    epsilon = d.number("epsilon", 1e-12)
    scaling = [d.input(5), d.input(6)]
    d.add("LayerNormalization", [total, *scaling], d.node.output[0], axis=-1, epsilon=epsilon)
    if d.output(1):
        counted = d.input(7) or d.add_constant("no mask", np.zeros(ids, np.int32))
        axis = d.add_constant("tokens", np.array([1]))
        d.add("ReduceSum", [counted, axis], d.output(1), keepdims=0)
    if d.output(2):
        d.add("Identity", [total], d.output(2))


ROWS: Mapping[str, Row] = {
    "RotaryEmbedding": Row("input position_ids cos_cache sin_cache", _rotary, integers=False),
    "EmbedLayerNormalization": Row(
        "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta "
        "mask? position_ids?",
        _embedded,
        integers=False,
    ),
}

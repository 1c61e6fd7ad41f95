"""Which operators there is a definition of."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from edgeconv.model.frontend.definitions import (
    attention,
    block_embedding,
    blocked,
    dropout,
    dynamic,
    embedding,
    ensembles,
    features,
    fused,
    grouped_attention,
    images,
    learned,
    linear,
    qonnx,
    quantised_recurrent,
    support_vectors,
    training,
)
from edgeconv.model.frontend.definitions.definition import Row

_ONNX = ("", "ai.onnx")
_EVERYWHERE = {**linear.ROWS, **dynamic.ROWS, **dropout.ROWS}
_ROWS: Mapping[str, Mapping[str, Row]] = {
    **dict.fromkeys(_ONNX, _EVERYWHERE),
    ensembles.DOMAIN: {
        **features.ROWS,
        **learned.ROWS,
        **support_vectors.ROWS,
        **ensembles.ROWS,
    },
    training.DOMAIN: training.ROWS,
    **dict.fromkeys(qonnx.DOMAINS, qonnx.ROWS),
    "com.microsoft": {
        **_EVERYWHERE,
        **attention.ROWS,
        **block_embedding.ROWS,
        **blocked.ROWS,
        **dynamic.CONTRIBUTED,
        **embedding.ROWS,
        **fused.ROWS,
        **grouped_attention.ROWS,
        **images.ROWS,
        **quantised_recurrent.CONTRIBUTED,
    },
}


def row_of(node: onnx.NodeProto) -> Row | None:
    """How the operator of ``node`` is defined; None where there is no definition of it here."""
    row = _ROWS.get(node.domain, {}).get(node.op_type)
    return row if row is not None and row.when(node) else None

"""TfIdfVectorizer of whole numbers: how often sequences of a pool occur in rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.element_types import element_type
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.elementwise import ELEMENTWISE
from edgeconv.kernels.ops.importing import ints, make_node
from edgeconv.target.targets import Target


def _import(source: Source, ctx: ImportContext) -> Sequence[Node]:
    attrs, mode = source.attrs, source.attrs["mode"]
    if "pool_int64s" not in attrs or mode not in ("TF", "IDF", "TFIDF"):
        got = f"mode {mode!r}, {'a pool of strings' if 'pool_strings' in attrs else 'no pool'}"
        raise ctx.reject(source, got, "mode is TF, IDF or TFIDF, and the pool of the type of X")
    pool, features = ints(attrs["pool_int64s"]), ints(attrs["ngram_indexes"])
    counts = [*ints(attrs["ngram_counts"]), len(pool)]
    least, most = int(attrs["min_gram_length"]), int(attrs["max_gram_length"])
    spans = [
        (begin, begin + length)
        for length, (first, behind) in enumerate(pairwise(counts), start=1)
        for begin in range(first, behind, length)
    ]
    if len(spans) != len(features) or any(end > len(pool) for _, end in spans):
        got = f"{len(spans)} grams in the pool, {len(features)} indexes"
        raise ctx.reject(source, got, "each gram of the pool has an index")
    numbered = [(*span, i) for i, span in enumerate(spans) if least <= span[1] - span[0] <= most]
    given = attrs.get("weights")
    weights = np.asarray(given, np.float32) if given and mode != "TF" else None
    kept = {
        "pool": tuple(pool[begin:end] for begin, end, _ in numbered),
        "features": tuple(features[i] for *_, i in numbered),
        "weights": None if weights is None else tuple(float(weights[i]) for *_, i in numbered),
        "skips": int(attrs["max_skip_count"]),
        "only": mode == "IDF",
    }
    return [make_node(source, "Grams", **kept)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A gram of the pool at a time."""
    x, out, call = graph[node.inputs[0]], graph[node.output], Call(node, graph, target)
    grams = node.attrs["pool"]
    starts = np.cumsum([0, *map(len, grams)]).astype(np.int32)
    pool = np.array([number for gram in grams for number in gram], np.int64)
    features, weights = np.array(node.attrs["features"], np.int32), node.attrs["weights"]
    blobs = {
        "pool": Blob("pool", pool.size, lambda: pool, dtype="int64"),
        "start": Blob("start", starts.size, lambda: starts, dtype="int32"),
        "feature": Blob("feature", features.size, lambda: features, dtype="int32"),
    }
    if weights is not None:
        values = np.array(weights, np.float32)
        blobs["weight"] = Blob("weight", values.size, lambda: values)
    count = x.shape[-1] if x.shape else 1
    params: dict[str, Param] = {
        "rows": math.prod(x.shape[:-1]),
        "count": count,
        "features": out.shape[-1],
        "grams": len(grams),
        "most_skipped": int(node.attrs["skips"]),
        "in_as": element_type(x.dtype).enumerator,
        "weighed": weights is not None,
        "only": int(node.attrs["only"]),
    }
    return kernel_layer(
        call,
        "grams",
        "ops/grams.c.j2",
        operands={"in": x.name, **blobs},
        params=params,
        headers=(*ELEMENTWISE, "ec_grams.h"),
        work=call.streams(float(x.size * pool.size * (int(node.attrs["skips"]) + 1))),
        epilogue=False,
    )


OPERATOR = Operator(
    name="Grams",
    onnx={"TfIdfVectorizer": _import},
    typed={"TfIdfVectorizer": _import},
    lower=lower,
    stored=Stored.NOTHING,
)

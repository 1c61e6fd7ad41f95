"""Kernel calls that compute with the integers of int8 and int16 tensors, what is no convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeconv.ir.candidate import INT16 as INT16_SUMS
from edgeconv.ir.candidate import INTEGERS, Candidate
from edgeconv.ir.choice import ArgKind, Blob, Layer
from edgeconv.ir.encoding import INT8, INT16, Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.options import LayoutOption


def is_int8(encoding: Encoding) -> bool:
    """Whether it is a tensor that memory holds as int8 of one scale."""
    return encoding.affine and encoding.is_per_tensor and encoding.element == INT8


def all_int8(node: Node, graph: Graph) -> bool:
    """Memory holds all run-time tensors of ``node`` so."""
    tensors = (graph[name] for name in (*node.reads(), *node.outputs) if name)
    return all(is_int8(tensor.storage) for tensor in tensors if not tensor.is_constant)


def with_int16(node: Node, graph: Graph) -> bool:
    """Memory holds them as int8 or int16 of one scale, one of them at least as int16."""
    tensors = (graph[name] for name in (*node.reads(), *node.outputs) if name)
    stored = [tensor.storage for tensor in tensors if not tensor.is_constant]
    whole = all(each.is_per_tensor and each.element in (INT8, INT16) for each in stored)
    return whole and any(each.element == INT16 for each in stored)


def with_integers(
    node: Node, options: Sequence[LayoutOption], able: Sequence[LayoutOption]
) -> Sequence[LayoutOption]:
    """``options`` of ``node``, and ``able`` in integers."""
    asked = replace(node.request, integers=True)
    whole = [replace(option, request=asked) for option in able]
    return [*whole, *options]


def in_int16(layer: Layer) -> Layer:
    """``layer``, whose kernel takes bytes of tensors that are int16, or int8."""
    return computing(layer, INT16_SUMS)


def in_integers(layer: Layer) -> Layer:
    """``layer``, whose kernel takes tensors as int8 but for those in float32, tables too, and room
    for int32."""
    tables = {blob.name for blob in layer.blobs if is_table(blob)}
    args = (
        replace(arg, c_type="int8_t")
        if (arg.kind in (ArgKind.INPUT, ArgKind.OUTPUT) and arg.c_type != "float")
        or arg.ref in tables
        else replace(arg, c_type="int32_t")
        if arg.kind is ArgKind.WORKSPACE
        else arg
        for arg in layer.args
    )
    return computing(replace(layer, args=tuple(args)), INTEGERS)


def computing(layer: Layer, compute: str) -> Layer:
    """``layer``, which says that it multiplies ``compute``."""
    candidate = Candidate(
        algorithm=layer.algorithm,
        workspace={},
        work=layer.work,
        cache_traffic=tuple,
        compute=compute,
    )
    return replace(layer, candidate=candidate)


def is_table(blob: Blob) -> bool:
    """It holds bytes."""
    return blob.dtype == "float32" and blob.storage == INT8

"""Shared pieces of ``Operator.lower``: from a node with decided layouts to a kernel call."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation
from edgeconv.ir.choice import Alias, Arg, ArgKind, Blob, Param
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.layout import Layout

FLOAT_BYTES = 4

_EPILOGUE = ("ec_lanes.h", "ec_activation.h")
_EXP = ("ec_poly.h", "ec_exp.h")
_SIGMOID = (*_EXP, "ec_sigmoid.h")
_ERF = (*_EXP, "ec_erf.h")
_ACTIVATION_NEEDS = {
    "exp": _EXP,
    "log": ("ec_poly.h", "ec_log.h"),
    "sigmoid": _SIGMOID,
    "silu": _SIGMOID,
    "gelu_tanh": _SIGMOID,
    "erf": _ERF,
    "gelu": _ERF,
    "elu": (*_EXP, "ec_expm1.h"),
    "tanh": (*_EXP, "ec_expm1.h", "ec_tanh.h"),
    "softplus": (*_EXP, "ec_log.h", "ec_softplus.h"),
}


def activation_headers(epilogue: Epilogue) -> tuple[str, ...]:
    """The kernel headers that ``ec_finish`` with this epilogue needs, in order of inclusion.

    Functions without libm come first: ec_activation.h offers those that it finds included.
    """
    kinds: tuple[Activation, ...] = (epilogue.before, epilogue.after)
    return merge_headers([(*_ACTIVATION_NEEDS.get(kind.kind, ()), *_EPILOGUE) for kind in kinds])


def merge_headers(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Every header of ``lists`` once, in an order that agrees with each of them.

    Where they leave a choice, headers keep the order in which they were first named.  Raises
    ValueError (graphlib.CycleError) when two lists contradict each other.
    """
    order: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter()
    rank: dict[str, int] = {}
    for headers in lists:
        for before, header in zip((None, *headers), headers, strict=False):
            rank.setdefault(header, len(rank))
            order.add(header, *(() if before is None else (before,)))
    order.prepare()
    merged: list[str] = []
    while order.is_active():
        ready = sorted(order.get_ready(), key=rank.__getitem__)
        merged.extend(ready)
        order.done(*ready)
    return tuple(merged)


def epilogue_param(epilogue: Epilogue) -> Param:
    """The epilogue as a template parameter; the filter ``c_epilogue`` writes it as C."""
    before, after = epilogue.before, epilogue.after
    return (
        *(before.kind, repr(before.alpha), repr(before.beta)),
        "1" if epilogue.residual else "0",
        *(after.kind, repr(after.alpha), repr(after.beta)),
    )


def read_arg(graph: Graph, name: str, c_name: str, blobs: list[Blob]) -> Arg:
    """A pointer to tensor ``name``: its place at run time or, for a constant, a blob.

    The blob, in the tensor's layout, is appended to ``blobs``.
    """
    tensor = graph[name]
    if not tensor.is_constant:
        return Arg(ArgKind.INPUT, c_name, name)
    blobs.append(constant_blob(name, tensor.constant(), tensor.layout))
    return Arg(ArgKind.WEIGHTS, c_name, name)


def constant_blob(name: str, value: npt.NDArray[np.generic], layout: Layout) -> Blob:
    """A constant stored as float32 in ``layout``."""
    return Blob(name, layout.elements(value.shape), lambda: layout.pack(value.astype(np.float32)))


def residual_args(node: Node) -> tuple[Arg, ...]:
    """The residual pointer, when the epilogue has one."""
    residual = node.epilogue.residual
    return (Arg(ArgKind.INPUT, "residual", residual),) if residual else ()


def output_arg(node: Node) -> Arg:
    """The pointer to the (only) output."""
    return Arg(ArgKind.OUTPUT, "out", node.output)


def in_place(node: Node, graph: Graph, names: Iterable[str]) -> tuple[Alias, ...]:
    """Permission for the output to overwrite any of ``names`` that has its layout and size.

    For kernels that read element i of these tensors before they write element i of the output, and
    never afterwards.
    """
    out = graph[node.output]
    return tuple(
        Alias(name, inner=node.output, outer=name)
        for name in dict.fromkeys(name for name in names if name)
        if not graph[name].is_constant
        and graph[name].shape == out.shape
        and graph[name].layout == out.layout
    )


def residual_in_place(node: Node, graph: Graph) -> tuple[Alias, ...]:
    """Permission to overwrite the residual, when nothing else of the layer reads it."""
    residual = node.epilogue.residual
    return () if residual in node.inputs else in_place(node, graph, (residual,))

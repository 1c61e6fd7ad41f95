"""Shared pieces of ``Operator.lower``: from a node with decided layouts to a kernel call."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from edgeconv.ir.array_types import array_type
from edgeconv.ir.choice import Alias, Arg, ArgKind, Blob, KernelEpilogue, Layer, Param
from edgeconv.ir.element_types import FLOAT32 as FLOAT32_TYPE
from edgeconv.ir.element_types import SMALL_INTEGERS, element_type
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.layout import Layout
from edgeconv.ir.step import Divides
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.activations import FUNCTIONS
from edgeconv.kernels.lowering.loops import in_loops
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.storage import format_of

FLOAT_BYTES = 4

_EPILOGUE = ("ec_lanes.h", "ec_activation.h", "ec_epilogue.h")
_MOST_MERGED = 1024  # results that are kept
# Functions without libm come first of all and in one order, so that no two layers disagree on it.
_FUNCTIONS = (
    *("ec_poly.h", "ec_exp.h", "ec_expm1.h", "ec_log.h", "ec_sigmoid.h", "ec_tanh.h", "ec_erf.h"),
    *("ec_softplus.h", "ec_pow.h"),
)


def c_type_of(dtype: str) -> str:
    """An element type as C has it."""
    return element_type(dtype).c_type


def is_real(dtype: str) -> bool:
    """No integers, and no bool."""
    return element_type(dtype).is_real


def activation_headers(epilogue: Epilogue) -> tuple[str, ...]:
    """The kernel headers that ``ec_finish`` with this epilogue needs, in order of inclusion.

    Functions without libm come first: ec_activation.h offers those that it finds included.
    """
    kinds = (epilogue.before.kind, epilogue.after.kind)
    return merge_headers([(*FUNCTIONS[kind].headers, *_EPILOGUE) for kind in kinds])


def merge_headers(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Every header of ``lists`` once, in an order that agrees with each of them.

    Where they leave a choice, functions without libm are first, and other headers keep the order in
    which they were first named.  Raises ValueError (graphlib.CycleError) when two lists contradict
    each other.
    """
    return _merged(tuple(lists))


@lru_cache(_MOST_MERGED)
def _merged(lists: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """As `merge_headers`: a choice among thousands of layers asks for the same few."""
    order: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter()
    rank = {header: place for place, header in enumerate(_FUNCTIONS)}
    for headers in lists:
        for before, header in zip((None, *headers), headers, strict=False):
            rank.setdefault(header, len(rank))
            order.add(header, *(() if before is None else (before,)))
    order.prepare()
    merged: list[str] = []
    ready: list[str] = []
    while order.is_active():
        ready = sorted((*ready, *order.get_ready()), key=rank.__getitem__)
        merged.append(ready.pop(0))
        order.done(merged[-1])
    return tuple(merged)


def epilogue_of(node: Node, graph: Graph) -> KernelEpilogue:
    """The epilogue of ``node``, with the formats of what it reads and writes."""
    epilogue, residual = node.epilogue, node.epilogue.residual
    return KernelEpilogue(
        epilogue.before,
        bool(residual),
        epilogue.after,
        c_format(graph, residual) if residual else "EC_F32",
        c_format(graph, node.output),
    )


def c_format(graph: Graph, name: str) -> str:
    """The storage format of a tensor as C names it."""
    return format_of(graph[name].storage).enumerator


def element_bytes(graph: Graph, name: str) -> int:
    """Bytes of an element of a tensor in memory."""
    return graph[name].element_bytes


def storage_of(graph: Graph, **operands: str | Blob) -> dict[str, Param]:
    """What templates must know of operands, given by the names of the pointers to them.

    ``<pointer>_as``: the format as C names it.  ``<pointer>_by``: what is appended to a number of
    elements to make it one of what the pointer counts, which are bytes but for float32.  An absent
    tensor ("") and a constant count as float32.
    """
    found: dict[str, Param] = {}
    for pointer, name in operands.items():
        plain = not name or isinstance(name, Blob) or graph[name].storage == FLOAT32
        found[f"{pointer}_as"] = "EC_F32" if plain else c_format(graph, str(name))
        found[f"{pointer}_by"] = "" if plain else f" * {element_bytes(graph, str(name))}"
    return found


def tensor_arg(graph: Graph, kind: ArgKind, c_name: str, name: str) -> Arg:
    """A pointer to a run-time tensor; to bytes, where it is float32 in another format."""
    tensor = graph[name]
    c_type = "unsigned char" if tensor.storage != FLOAT32 else c_type_of(tensor.dtype)
    return Arg(kind, c_name, name, c_type)


def input_arg(graph: Graph, name: str, c_name: str = "in") -> Arg:
    """A pointer to a tensor that is read; of a constant, `constants_as_blobs` makes a blob."""
    return tensor_arg(graph, ArgKind.INPUT, c_name, name)


def blob_arg(c_name: str, blob: Blob) -> Arg:
    """A pointer to a constant of the layer; to bytes, where it is float32 in another format."""
    stored = blob.dtype == "float32" and blob.storage != FLOAT32
    c_type = "unsigned char" if stored else c_type_of(blob.dtype)
    return Arg(ArgKind.WEIGHTS, c_name, blob.name, c_type)


def constant_blob(
    name: str, value: npt.NDArray[np.generic], layout: Layout, dtype: str = ""
) -> Blob:
    """A constant in ``layout``, its elements of ``dtype``: without one, integers and bool as they
    are and real numbers as float32."""
    dtype = dtype or (FLOAT32_TYPE if is_real(value.dtype.name) else value.dtype.name)
    elements = layout.elements(value.shape)
    kind = array_type(dtype)
    if kind.itemsize < 4 and (is_real(dtype) or dtype in SMALL_INTEGERS):  # as kernels read them
        bits = f"u{kind.itemsize}"
        return Blob(
            name,
            elements,
            lambda: layout.pack(value.astype(kind).view(bits)),
            dtype=np.dtype(bits).name,
        )
    return Blob(name, elements, lambda: layout.pack(value.astype(kind)), dtype=dtype)


def constants_as_blobs(layer: Layer, graph: Graph) -> Layer:
    """``layer`` with constants that its kernel reads as data in the weight image."""
    taken = {blob.name for blob in layer.blobs}
    data: dict[str, str] = {}  # name of the constant -> of its blob
    for arg in layer.args:
        if arg.kind is ArgKind.INPUT and graph[arg.ref].is_constant:
            name = arg.ref
            while name in taken:
                name += "'"
            data[arg.ref] = name
    if not data:
        return layer
    blobs = tuple(
        constant_blob(blob, graph[name].constant(), graph[name].layout, graph[name].dtype)
        for name, blob in data.items()
    )
    weight_bytes = layer.work.weight_bytes + sum(blob.bytes for blob in blobs)
    return replace(
        layer,
        args=tuple(
            Arg(ArgKind.WEIGHTS, arg.c_name, data[arg.ref], arg.c_type)
            if arg.kind is ArgKind.INPUT and arg.ref in data
            else arg
            for arg in layer.args
        ),
        blobs=(*layer.blobs, *blobs),
        work=replace(layer.work, weight_bytes=weight_bytes),
        aliases=tuple(alias for alias in layer.aliases if alias.input not in data),
    )


def residual_args(node: Node, graph: Graph) -> tuple[Arg, ...]:
    """The residual pointer, when the epilogue has one."""
    residual = node.epilogue.residual
    return (input_arg(graph, residual, "residual"),) if residual else ()


def output_arg(node: Node, graph: Graph) -> Arg:
    """The pointer to the (only) output."""
    return tensor_arg(graph, ArgKind.OUTPUT, "out", node.output)


def in_place(node: Node, graph: Graph, names: Iterable[str]) -> tuple[Alias, ...]:
    """Permission for the output to overwrite any of ``names`` that has its layout and size, and
    elements as wide.

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
        and element_bytes(graph, name) == element_bytes(graph, node.output)
    )


def residual_overwritten(node: Node, graph: Graph) -> tuple[Alias, ...]:
    """Permission for the output to overwrite the residual, which has its layout, where elements are
    as wide and nothing else of the layer is the residual too.

    For kernels that read the residual's elements before they write those of the same places.
    """
    residual = node.epilogue.residual
    if not residual or residual in node.inputs:
        return ()
    same = element_bytes(graph, residual) == element_bytes(graph, node.output)
    return (Alias(residual, node.output, residual),) if same else ()


def residual_in_place(node: Node, graph: Graph) -> tuple[Alias, ...]:
    """Permission to overwrite the residual, when nothing else of the layer reads it."""
    residual = node.epilogue.residual
    return () if residual in node.inputs else in_place(node, graph, (residual,))


def kernel_layer(
    call: Call,
    algorithm: str,
    template: str,
    *,
    operands: Mapping[str, str | Blob],
    params: Mapping[str, Param],
    headers: Sequence[str],
    functions: Sequence[str] = (),
    work: Work,
    aliases: Sequence[Alias] = (),
    workspace_bytes: int = 0,
    macs: int = 0,
    free_if_aliased: bool = False,
    divides: Divides | None = None,
    epilogue: bool = True,
    workspace: str = "workspace",
) -> Layer:
    """The kernel call of ``call``'s node.

    ``operands``: by pointer a tensor that is read or a constant made for this kernel.  They are
    the first arguments; residual, output and workspace follow.  The template sees how operands are
    stored, the node's epilogue, and ``params``, which may say otherwise; where ``epilogue`` says
    that the kernel applies none, how the output is stored ("out").  ``functions``: headers that the
    last of ``headers`` needs beside those of the epilogue.  ``work``: without constants, which are
    added.  ``workspace``: the name of the pointer to it.
    """
    node, graph = call.node, call.graph
    constants = (operand for operand in operands.values() if isinstance(operand, Blob))
    blobs = tuple(dict.fromkeys(constants))
    arguments = (
        blob_arg(pointer, operand)
        if isinstance(operand, Blob)
        else input_arg(graph, operand, pointer)
        for pointer, operand in operands.items()
    )
    before = activation_headers(node.epilogue) if epilogue else ()
    return Layer(
        node=node,
        algorithm=algorithm,
        template=template,
        params={
            **storage_of(graph, **operands),
            **(
                {"epilogue": epilogue_of(node, graph)}
                if epilogue
                else storage_of(graph, out=node.output)
            ),
            **params,
        },
        args=(
            *arguments,
            *residual_args(node, graph),
            output_arg(node, graph),
            *((Arg(ArgKind.WORKSPACE, workspace),) if workspace_bytes else ()),
        ),
        headers=merge_headers([(*before, *headers), (*functions, *headers[-1:])]),
        work=replace(
            in_loops(work, algorithm, graph[node.output].elements, call.epilogue, call.target),
            weight_bytes=sum(blob.bytes for blob in blobs),
        ),
        blobs=blobs,
        aliases=tuple(aliases),
        workspace_bytes=workspace_bytes,
        macs=macs,
        free_if_aliased=free_if_aliased,
        divides=divides,
    )

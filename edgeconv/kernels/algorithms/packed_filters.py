"""Filters of two or four bits that lie packed in flash, for kernels that multiply int8.

The kernel call unpacks them into its workspace first, in the order in which its kernel reads them:
less flash by as much as they have fewer bits, for RAM and two instructions a number in every run.
It is a way to compute the layer like others, taken where flash is short.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer, Unpacked
from edgeconv.ir.encoding import FLOAT32, INT2, INT4, INT8
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.request import Packed
from edgeconv.target.targets import Target

_FILTERS = "filters"
_CYCLES = 2.25  # of a number: taken from its byte, and stored


def packed_too(wide: Node, graph: Graph, target: Target) -> tuple[Node, ...]:
    """``wide``, a node with its filters in int8, as one whose filters lie packed; none where the
    model has them in no fewer bits, workspace is limited, or kernels in integers are vectorised:
    those have words of channels in front of their filters."""
    asked = wide.request
    if target.lanes > 1 or (asked.workspace.most < inf and asked.described is None):
        return ()
    packed = _packed_as(wide, graph)
    return () if packed is None else (replace(wide, request=replace(wide.request, packed=packed)),)


def _packed_as(wide: Node, graph: Graph) -> Packed | None:
    """How the filters of ``wide`` can lie in memory in fewer bits; None where they cannot."""
    own, stored = wide.attrs.get("storage", FLOAT32), wide.storage
    if not own.affine or own.bits >= INT8.bits or stored.element != INT8 or any(stored.zero):
        return None
    times = round(own.scale[0] / stored.scale[0])
    weights = graph[wide.inputs[1]].constant().astype(np.float64)
    units = np.asarray(own.scale).reshape(-1, *(1,) * (weights.ndim - 1))
    whole = np.rint(weights / units)
    low, high = whole.min(initial=0), whole.max(initial=0)
    fitting = (form for form in (INT2, INT4) if form.low <= low and high <= form.high)
    element = next(fitting, None)
    return None if element is None else Packed(element, times)


def with_packed(layer: Layer, node: Node, target: Target) -> Layer:
    """``layer``, the kernel call of ``node``, with its filters packed where that is asked of it and
    they are numbers of a byte each."""
    packed = node.request.packed
    blob = next((each for each in layer.blobs if each.name == _FILTERS), None)
    if packed is None or blob is None or not _is_of_bytes(blob):
        return layer
    element, times = packed.element, packed.times
    small = replace(
        blob,
        pack=lambda: blob.pack().astype(np.float32) / np.float32(times),
        dtype="float32",
        storage=element,
        restored=lambda values: np.asarray(values * np.float32(times)),
        pieces=None,
    )
    at = -(-layer.workspace_bytes // target.align) * target.align
    room = small.bytes * (INT8.bits // element.bits)
    args = [_packed_arg(arg) if arg.ref == _FILTERS else arg for arg in layer.args]
    if not any(arg.kind is ArgKind.WORKSPACE for arg in args):
        args.append(Arg(ArgKind.WORKSPACE, "workspace", c_type="int8_t"))
    work = replace(
        layer.work,
        moves=layer.work.moves + _CYCLES * blob.elements,
        weight_bytes=layer.work.weight_bytes + small.bytes,
        data_bytes=layer.work.data_bytes + blob.elements,
    )
    (held,) = (arg.c_type for arg in layer.args if arg.ref == _FILTERS)
    return replace(
        layer,
        args=tuple(args),
        blobs=tuple(small if each is blob else each for each in layer.blobs),
        workspace_bytes=at + room,
        headers=(*layer.headers, "ec_unpack.h"),
        work=work,
        plan={**layer.plan, "packed": str(element)},
        unpacked=Unpacked(_FILTERS, held, element.bits, small.bytes, at, times),
    )


def _packed_arg(arg: Arg) -> Arg:
    return replace(arg, c_name=f"packed_{arg.c_name}", c_type="unsigned char")


def _is_of_bytes(blob: Blob) -> bool:
    """Whether it is int8 alone: no words of channels beside, nothing joined."""
    plain = blob.dtype == "float32" and blob.storage.element == INT8
    return plain or blob.dtype == "int8"

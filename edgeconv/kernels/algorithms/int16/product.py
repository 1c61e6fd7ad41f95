"""Products of two tensors of which one at least has 16 bits: what becomes of their sums, the
candidate, and the kernel call.

Products of two int16 have 32 bits, and a sum of them 64: in plain C, or SMLALD where a core has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from edgeconv.ir.candidate import INT16 as COMPUTE
from edgeconv.ir.candidate import Candidate
from edgeconv.ir.choice import Arg, ArgKind, Layer
from edgeconv.ir.encoding import INT8, INT16, Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import EXACT, tflite
from edgeconv.ir.requantisation.tflite_wide import tflite_long
from edgeconv.ir.requantisation.wide import Wide, long
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.integer.packing import padded
from edgeconv.kernels.algorithms.product_sums import depth_of
from edgeconv.kernels.algorithms.products import Product, nested, product_of
from edgeconv.kernels.algorithms.sums import are_scales, bounds_in, rounds_to
from edgeconv.kernels.lowering.calls import element_bytes, input_arg, output_arg
from edgeconv.target.targets import DSP, DUAL_ISSUE, HELIUM, THUMB_1, Target

_FOUR, _PAIR = 4, 2  # columns that a row is multiplied by at a time, and numbers
_STARTS, _HALF = 8, 2  # bytes of what a column's sum starts with, and of a number
_MOST = 2**15  # numbers of a sum: below 2^49
_SLOTS = 1.0  # of a product in portable C


@dataclass(frozen=True, slots=True)
class _Loops:
    """Cycles of a core without vectors, or of portable C: of a ``pair`` of products of a row by
    four columns, of a number that is ``packed`` or copied, and of a ``result``."""

    pair: float
    packed: float
    result: float


_NARROW = _Loops(480, 24, 520)
_THUMB_2 = _Loops(34, 11, 90)
_SINGLE = _Loops(18, 10, 75)
_DUAL = _Loops(9, 8, 60)
_HELIUM = _Loops(12, 8, 68)


def _loops_of(target: Target) -> _Loops:
    if THUMB_1 in target.features:
        return _NARROW
    rows = {HELIUM: _HELIUM, DUAL_ISSUE: _DUAL, DSP: _SINGLE}
    return next((row for feature, row in rows.items() if feature in target.features), _THUMB_2)


def wide_product_of(node: Node, graph: Graph) -> Wide | None:
    """How the sums of a MatMul node become its result; None where none of its operands and result
    has 16 bits, one of them is not stored in integers of one scale, or no form is proven."""
    tensors = [graph[name] for name in (*node.inputs, node.output)]
    if not all(_is_kept(each.storage) for each in tensors):
        return None
    if any(each.is_constant for each in tensors) or not node.epilogue.is_only_before:
        return None
    a, b, y = (each.storage for each in tensors)
    if INT16 not in (a.element, b.element, y.element) or not rounds_to(node.epilogue.before, y):
        return None
    depth = depth_of(node, graph)
    bounds = bounds_in(node.epilogue.before, y)
    form = _form if graph.requantise == EXACT else _tflite_form
    return form(a, b, y, depth, *bounds) if 0 < depth <= _MOST else None


def _is_kept(stored: Encoding) -> bool:
    """Memory has integers of one scale."""
    kinds = (INT8, INT16)
    return stored.is_per_tensor and stored.element in kinds and are_scales(stored.scale)


def _reach(a: Encoding, b: Encoding, depth: int) -> tuple[int, int]:
    """Between which sums of so many products lie."""
    ends = [[bound - each.zero[0] for bound in (each.low, each.high)] for each in (a, b)]
    corners = np.outer(*np.array(ends, np.int64)) * depth
    return int(corners.min()), int(corners.max())


@lru_cache(maxsize=1024)
def _tflite_form(
    a: Encoding, b: Encoding, y: Encoding, depth: int, low: int, high: int
) -> Wide | None:
    """BATCH_MATMUL, whose kernel knows int16 alone, without zero points."""
    if any(each.element != INT16 or each.zero[0] for each in (a, b, y)):
        return None
    (unit,) = tflite.units(a.scale[0], np.array(b.scale), dense=True)
    return tflite_long(float(unit), y, (low, high), _reach(a, b, depth))


@lru_cache(maxsize=1024)
def _form(a: Encoding, b: Encoding, y: Encoding, depth: int, low: int, high: int) -> Wide | None:
    reach = _reach(a, b, depth)
    unit = a.scale[0] * b.scale[0]  # two float32: exact
    return long(unit, y.scale[0], y.zero[0], (low, high), reach)


def wide_product_candidate(node: Node, graph: Graph, target: Target) -> Candidate | None:
    """The candidate of a MatMul node with such a form."""
    product = product_of(node, graph)
    if not product.count * product.m * product.n or wide_product_of(node, graph) is None:
        return None
    starts, packed, row = _room(product)
    macs = product.count * product.m * padded(product.n, _FOUR) * padded(product.k, _PAIR)
    moved = product.packed * product.n * product.k + product.count * product.m * product.k
    results = product.count * product.m * product.n
    data = float(_HALF * (macs / _FOUR * 2 + moved))
    if target.is_scalar:
        loops = _loops_of(target)
        cycles = macs / (_FOUR * _PAIR) * loops.pair + moved * loops.packed
        work = Work(0.0, cycles + results * loops.result, 0.0, data)
    else:
        slots = _SLOTS * macs + 4.0 * moved + 20.0 * results
        alone = target.single_issue
        work = Work(0.0 if alone else slots, slots if alone else 0.0, 0.0, data)
    return Candidate(
        algorithm="int16",
        workspace={"operand": starts + packed + row},
        work=work,
        cache_traffic=tuple,  # what it moves is taken to be every operand once
        compute=COMPUTE,
    )


def _room(product: Product) -> tuple[int, int, int]:
    """Bytes of what sums start with, of the columns, and of a row."""
    columns, numbers = padded(product.n, _FOUR), padded(product.k, _PAIR)
    return _STARTS * columns, _HALF * columns * numbers, _HALF * numbers


def lower_wide_product(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a MatMul node that has a candidate."""
    candidate, form = (
        wide_product_candidate(node, graph, target),
        wide_product_of(node, graph),
    )
    assert candidate is not None, node.name
    assert form is not None, node.name
    product = product_of(node, graph)
    starts, packed, _ = _room(product)
    a, b = node.inputs
    args = (
        input_arg(graph, name, pointer) for name, pointer in zip(node.inputs, "ab", strict=True)
    )
    width = element_bytes(graph, node.output)
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="ops/product_int16.c.j2",
        params={
            **nested(product),
            "numbers": padded(product.k, _PAIR),
            "a_bytes": element_bytes(graph, a),
            "b_bytes": element_bytes(graph, b),
            "zero_a": graph[a].storage.zero[0],
            "zero_b": graph[b].storage.zero[0],
            "a_row": product.a.row,
            "out_row": product.out.row,
            "least": form.least,
            "most": form.most,
            "words": tuple(int(word[0]) for word in form.words),
            "result": (form.shift, form.tie, form.zero, form.low, form.high, width),
            "packed_at": starts // _HALF,
            "row_at": packed // _HALF,
        },
        args=(
            *args,
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, "workspace", c_type="int16_t"),
        ),
        headers=("ec_nest.h", "ec_int16_scaling.h", "ec_int16_product.h"),
        work=candidate.work,
        workspace_bytes=candidate.workspace_bytes,
        macs=product.count * product.m * product.k * product.n,
        candidate=candidate,
        plan={"sums": "int64", "shift": form.shift},
    )

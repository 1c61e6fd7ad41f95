"""From a bit-serial candidate to its kernel call."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.bit_serial.candidate import WORD, BitSerialPlan, window_words
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.lower import strides_of
from edgeconv.kernels.algorithms.scaling import scaled_form, scaling_of
from edgeconv.kernels.algorithms.sums import multiples
from edgeconv.kernels.lowering.calls import input_arg, output_arg
from edgeconv.target.targets import Target

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.int32]
_LOWEST = -128  # what is stored of the lowest input, 0


def lower(
    candidate: ConvCandidate[BitSerialPlan], node: Node, graph: Graph, target: Target
) -> Layer:
    """The kernel call of a Conv or Dense node."""
    del target
    problem, plan = candidate.problem, candidate.plan
    form = scaled_form(node, graph)
    channels = _blob(candidate, node, graph)
    tensors = input_arg(graph, node.inputs[0]), output_arg(node, graph)
    source, result = (replace(arg, c_type="int8_t") for arg in tensors)
    zero = graph[node.inputs[0]].storage.zero[0]
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/bit_serial.c.j2",
        params={
            "images": problem.batch,
            **problem.window,
            **problem.rings,
            "channels": (problem.in_c, problem.out_c),
            "in_strides": strides_of(problem.in_c, problem.in_rows),
            "out_strides": strides_of(problem.out_c, problem.out_rows),
            "padding": zero - _LOWEST,
            "bits": plan.bits,
            "first": plan.first,
            "border": plan.border,
            "magnitudes": plan.magnitudes,
            "shift": plan.shift,
            "offset": form.offset,
            "right": form.right,
            "low": form.low,
            "high": form.high,
        },
        args=(
            source,
            Arg(ArgKind.WEIGHTS, channels.name, channels.name, "int32_t"),
            result,
            Arg(ArgKind.WORKSPACE, "workspace", c_type="uint32_t"),
        ),
        headers=("ec_int8_channels.h", "ec_window.h", "ec_bit_serial.h"),
        work=candidate.work,
        blobs=(channels,),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        divides=problem.divides if node.op == "Conv" else None,
        candidate=candidate,
        plan={
            "right": form.right,
            "input_bits": plan.bits - plan.first,
            "filter_bits": 1 + plan.magnitudes,
        },
        scaling=scaling_of(graph),
    )


def _blob(candidate: ConvCandidate[BitSerialPlan], node: Node, graph: Graph) -> Blob:
    """Words of every channel, and of its filter's bits."""
    problem, plan = candidate.problem, candidate.plan
    form = scaled_form(node, graph)

    def words() -> Words:
        filters = multiples(node, graph)
        own = channel_words(np.stack(form.words), filters.reshape(problem.out_c, -1), plan)
        bits = bit_words(filters >> plan.shift, plan.magnitudes)
        return np.concatenate([own, bits], axis=1).reshape(-1)

    each = len(form.words) + plan.borders + (1 + plan.magnitudes) * window_words(problem)
    return Blob("channels", each * problem.out_c, words, dtype="int32")


def bit_words(filters: Integers, magnitudes: int) -> Words:
    """Filters of shape (out_c, in_c, kernel ...), of each (first axis) the words of its signs, 1
    below 0, then of every bit of its magnitudes: column by column, of a column the kernel rows, of
    a row the channels."""
    out_c, in_c = filters.shape[:2]
    columns = filters.shape[-1] if filters.ndim > 2 else 1
    images = filters.reshape(out_c, in_c, -1, columns).transpose(0, 3, 2, 1)
    sizes = np.abs(images)
    planes = np.stack([images < 0, *((sizes >> j) & 1 for j in range(magnitudes))], axis=1)
    filled = np.pad(planes, (*((0, 0),) * 4, (0, -in_c % WORD))).astype(np.uint32)
    words = filled.reshape(*filled.shape[:4], -1, WORD) << np.arange(WORD, dtype=np.uint32)
    found: Words = np.bitwise_or.reduce(words, axis=-1).reshape(out_c, -1).view(np.int32)
    return found


def channel_words(form: Words, filters: Integers, plan: BitSerialPlan) -> Words:
    """The words of every channel (first axis): of ``form``, (words, out_c), the first of which its
    sum starts with, and where the plan has borders what their windows add."""
    below = -np.minimum(filters, 0).sum(axis=1)
    counted = (1 << plan.bits) - (1 << plan.first)
    words = form.astype(np.int64)
    words[0] += _LOWEST * filters.sum(axis=1) - counted * below
    if plan.borders:
        added = -((1 << plan.first) - (1 << plan.border)) * (below >> plan.shift)
        words = np.concatenate([words, added[None]])
    return np.ascontiguousarray(words.T.astype(np.int32))

"""What a kernel call with int16 makes of its sums: integers of the result, or float32."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Alias, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation.wide import WORDS, Wide
from edgeconv.ir.requantisation.wide_pair import WidePair
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.int16.candidate import Int16Plan, sums_apart
from edgeconv.kernels.algorithms.int16.overlap import overlapping
from edgeconv.kernels.algorithms.int16.packing import channel_words, in_words
from edgeconv.kernels.algorithms.integer.real_cycles import real_cycles_of
from edgeconv.kernels.algorithms.real_sums import real_sums_of
from edgeconv.kernels.algorithms.wide_sums import WideSums, wide_sums_of
from edgeconv.kernels.lowering.calls import (
    activation_headers,
    epilogue_of,
    residual_overwritten,
)
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target

_SUM_BYTES, _HALF_BYTES = 4, 2
# Of a sum that is read again: cycles of a core without vectors, slots of a vector elsewhere.
_READ_CYCLES, _READ_SLOTS = 4.0, 3.0
Words = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What makes results of int16 sums.  ``words``: of all channels, `WORDS` of each.  ``headers``:
    in front of the kernels'.  ``displayed``: what a plan says of it."""

    words: Callable[[], Words]
    params: Mapping[str, Param]
    work: Work
    aliases: tuple[Alias, ...]
    headers: tuple[str, ...] = ()
    displayed: Mapping[str, Param] = field(default_factory=dict)


def finished(
    candidate: ConvCandidate[Int16Plan], node: Node, graph: Graph, target: Target
) -> Finished:
    """The finish of a Conv or Dense node."""
    if candidate.problem.wide_real:
        return _real(candidate, node, graph, target)
    sums = wide_sums_of(node, graph)
    assert sums is not None, node.name
    return Finished(
        words=lambda: channel_words(sums.form),
        params={
            "result": _result(sums.form, graph[node.output].element_bytes),
            **_added(sums, node, graph),
            "real": False,
        },
        work=candidate.work,
        aliases=(*residual_overwritten(node, graph), *overlapping(candidate, node)),
        displayed={"sums": "int64" if sums.chunk else "int32", "shift": sums.form.shift},
    )


def _result(form: Wide | WidePair, width: int) -> tuple[int, ...]:
    """The members of ec_int16_result."""
    return form.shift, form.tie, form.zero, form.low, form.high, width


def _added(sums: WideSums, node: Node, graph: Graph) -> dict[str, Param]:
    """The arguments of ec_int16_residual; nothing without one."""
    if sums.added is None:
        return {"added": (), "added_result": (), "residual_bytes": 0}
    pair, out = sums.added, graph[node.output].element_bytes
    width = graph[node.epilogue.residual].element_bytes
    return {
        "added": (pair.by_a, pair.by_b, pair.offset, width),
        "added_result": _result(pair, out),
        "residual_bytes": width,
        "result": _result(sums.form, _SUM_BYTES),
    }


def _real(
    candidate: ConvCandidate[Int16Plan], node: Node, graph: Graph, target: Target
) -> Finished:
    """Sums lie where the result does, if that is float32."""
    problem, apart = candidate.problem, sums_apart(candidate.problem)
    sums, call = real_sums_of(node, graph), Call(node, graph, target)
    assert sums is not None, node.name

    def words() -> Words:
        own = np.concatenate([sums.start, *map(in_words, (sums.unit, sums.bias))])
        return np.pad(own, (0, WORDS * problem.out_c - len(own)))

    over = () if apart or node.epilogue.residual else overlapping(candidate, node)
    return Finished(
        words=words,
        params={
            "result": (0, 0, 0, 0, 0, _SUM_BYTES),
            "added": (),
            "added_result": (),
            "residual_bytes": 0,
            "real": True,
            "epilogue": epilogue_of(node, graph),
            "panel_at": candidate.workspace.get("sums", 0) // _HALF_BYTES,
            "sums_apart": apart,
            "out_pixels": problem.batch * math.prod(problem.out_size),
            "out_c": problem.out_c,
        },
        work=_with_results(candidate.work, call),
        aliases=residual_overwritten(node, graph) if apart else over,
        headers=(*activation_headers(node.epilogue), "ec_int16_real.h"),
        displayed={"sums": "int32"},
    )


def _with_results(work: Work, call: Call) -> Work:
    """``work`` on sums, and what makes results of these: a product, the epilogue, encoding."""
    slots = call.epilogue + call.encoded
    if call.target.is_scalar:
        cycles = (real_cycles_of(call.target).result + _READ_CYCLES) * call.output.elements
        return replace(work, slots=work.slots + slots, moves=work.moves + cycles)
    return replace(work, slots=work.slots + slots + _READ_SLOTS * call.out_vectors)

"""From a plan to the parameters of its template."""

from __future__ import annotations

import numpy as np

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import Form
from edgeconv.ir.requantisation.double_rounding import Twice
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.int8_packed.lower import channel_words, room_for
from edgeconv.kernels.algorithms.int8_winograd.candidate import in_words
from edgeconv.kernels.algorithms.int8_winograd.forms import (
    inverse_of,
    routine_of,
    scale_of,
    shift_of,
    start_at,
    transformed,
)
from edgeconv.kernels.algorithms.layer import Words, integer_layer
from edgeconv.kernels.algorithms.scaling import scaled_form, scaling_words
from edgeconv.kernels.algorithms.sums import multiples, requantised
from edgeconv.kernels.algorithms.winograd.candidate import WinogradCandidate
from edgeconv.kernels.algorithms.winograd.lower import displayed, loops, order_of
from edgeconv.kernels.algorithms.winograd.plan import each_group
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target


def lower(candidate: WinogradCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan = candidate.problem, candidate.plan
    nested, room = plan.form, room_for(problem.out_c)
    unit = each_group(in_words(problem, plan.kernel))
    order = order_of(problem, plan, unit.in_c, target.lanes)
    form, each = _shifted(scaled_form(node, graph), nested), scaling_words(graph)
    routines = {
        side: tuple(routine_of(each, side) for each in (nested.down, nested.across))
        for side in ("input", "output")
    }

    def words(form: Form) -> Words:
        form = _shifted(form, nested)
        filters = multiples(node, graph)
        two = filters.reshape(problem.out_c, problem.group_in_c, *problem.kernel[1:])
        packed = order.pack(np.pad(transformed(nested, two), _even(problem.group_in_c)))
        # What the zero point adds is in it; all of it modulo 2^32, as sums are.
        start = (form.start.astype(np.int64) * scale_of(nested)).astype(np.int32)
        return channel_words((start, *form.words[1:]), packed.view(np.int32))

    return integer_layer(
        candidate,
        Call(node, graph, target),
        "int8_winograd",
        params={
            **loops(problem, unit, problem, plan, target),
            "channels": problem.group_in_c,
            "requantise": requantised(node, graph, form),
            "inputs": tuple(each.enumerator for each in routines["input"]),
            "outputs": tuple(each.enumerator for each in routines["output"]),
            "in_pixel": problem.in_c,
            "out_pixel": problem.out_c,
            "out_c": problem.group_out_c,
            "start_at": start_at(nested),
            "inverse": inverse_of(nested),
            "words_at": (room, each * room),
            "apart": room if each > 2 else 0,  # from multipliers to what else scalings have
        },
        headers=(
            plan.kernel.header,
            *("ec_window.h", "ec_micro_kernel.h", "ec_requantise.h", "ec_winograd_spec.h"),
            *("ec_int8_winograd.h", "ec_winograd.h"),
        ),
        words=(each * room + order.elements // plan.kernel.k, words),
        workspace="panel",
        plan={**displayed(plan, target.lanes), "compute": candidate.compute},
        routines=tuple(each for side in routines.values() for each in side),
    )


def _shifted(form: Form, nested: Nested) -> Form:
    """How results come of sums 2^shift times as large."""
    assert not isinstance(form, Twice)
    return form.times(shift_of(nested))


def _even(channels: int) -> tuple[tuple[int, int], ...]:
    """Padding of filters to whole words of channels."""
    return (0, 0), (0, channels % 2), (0, 0), (0, 0)

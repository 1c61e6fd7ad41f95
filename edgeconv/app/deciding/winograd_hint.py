"""What Winograd's algorithm would save where it waits to be asked for: on boards without an
operating system, whose flash and RAM other code may need."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.app.deciding.planning import Decision, Planner
from edgeconv.app.deciding.winograd import DEFAULT_ERROR, WinogradDecision
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph
from edgeconv.ir.grids import rounded_to
from edgeconv.search.budget.tables import Objective
from edgeconv.search.choose.winograd import NAME, convolutions
from edgeconv.search.predict import predict

_WORTH = 0.9  # of the time, below which it is worth a word


def with_filtering(planner: Planner, graph: Graph, plain: Decision) -> Decision:
    """``plain``, saying so where ``graph`` is predicted to be faster with ``--winograd-error``, and
    what that takes; nothing where that does not fit, and where nobody asks for speed."""
    options, now = planner.options, plain.predicted.ms
    small = options.objective == Objective.MEMORY.value or bool(rounded_to(graph))
    waits = planner.filtering.waits and not small
    if not waits or not now or planner.exceeded(plain) or not convolutions(graph):
        return plain
    asked = replace(options, winograd_error=DEFAULT_ERROR)
    # The error at the outputs is measured when it is asked for.
    filtering = WinogradDecision(asked, bare_metal=planner.board.bare_metal, measure=False)
    other_planner = Planner(asked, planner.board, filtering, planner.measured)
    other_planner.overhead = planner.overhead
    try:
        other = other_planner.draft(graph, plain.allowed, options.storage)
    except EdgeconvError:  # objects that the board cannot address
        return plain
    ms = predict(other.choice, other.memory, planner.board).ms
    if not ms or ms > _WORTH * now or other_planner.exceeded(other):
        return plain
    count = sum(layer.algorithm == NAME for layer in other.choice.layers)
    ram = other.sizes.ram.total - plain.sizes.ram.total
    flash = other.sizes.flash.total - plain.sizes.flash.total
    note = (
        f"faster: --winograd-error {DEFAULT_ERROR:g} lets {count} convolution(s) be computed by "
        f"Winograd's algorithm, {ms:.3g} ms predicted instead of {now:.3g}, "
        f"for {ram:,} bytes more of "
        f"RAM and {flash:,} of flash"
    )
    return replace(plain, notes=(*plain.notes, note))

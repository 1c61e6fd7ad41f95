"""What vectors of float16 would save where the core has them and nobody has asked."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.app.deciding.planning import Decision, Planner
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.ir.candidate import HALF
from edgeconv.ir.graph import Graph
from edgeconv.ir.grids import rounds
from edgeconv.search.options import CompileOptions
from edgeconv.search.predict import predict

_WORTH = 0.9  # of the time, below which it is worth a word


def require_plain(options: CompileOptions) -> None:
    """Raises UsageError (exit status 2) where ``options`` ask for float16 and for what is measured
    in float32 when compiling: the error of its sums is known when the program has run."""
    asked = {
        "--min-sqnr": options.min_sqnr is not None,
        "--max-drop": options.max_drop is not None,
        "--calibration": options.calibration is not None,
    }
    named = [name for name, given in asked.items() if given]
    if options.float16 and named:
        raise UsageError(
            f"--float16 together with {' and '.join(named)}",
            rule="sums in float16 are not measured when compiling",
            hint="compile without, then `edgeconv verify DIR --samples X.npz`, which runs the "
            "program itself on every sample",
        )


def with_float16_hint(planner: Planner, graph: Graph, plain: Decision) -> Decision:
    """``plain``, saying so where ``graph`` is predicted to be faster with ``--float16``; nothing
    where its model rounds activations, or names formats or algorithms."""
    options, now = planner.options, plain.predicted.ms
    able = planner.board.target.of_float16 is not None and not options.float16
    chosen = options.storage or options.algorithms or options.threads > 1 or options.tuned
    if not able or chosen or not now or rounds(graph):
        return plain
    other_planner = Planner(replace(options, float16=True), planner.board, planner.filtering)
    try:
        other = other_planner.draft(graph, plain.allowed, options.storage)
    except EdgeconvError:  # objects that the board cannot address
        return plain
    ms = predict(other.choice, other.memory, planner.board).ms
    if not ms or ms > _WORTH * now:
        return plain
    count = sum(layer.compute == HALF and bool(layer.macs) for layer in other.choice.layers)
    note = (
        f"faster: --float16 has {count} layer(s) computed in float16, {ms:.3g} ms predicted "
        f"instead of {now:.3g}; `edgeconv verify` tells what that costs of accuracy"
    )
    return replace(plain, notes=(*plain.notes, note))

"""Make recurrent cells one layer, be they written out step by step or the body of a loop; what a
loop can compute of all rows at once is computed in front of it."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Graph
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.recurrences.rolled import at_loop
from edgeconv.model.recurrences.unrolled import recognised


@at_each("Loop")
def _rolled(position: int, editor: Editor) -> None:
    at_loop(position, editor)


def run(graph: Graph) -> Graph:
    """Loops first: what is in front of them may be cells that are written out."""
    return recognised(_rolled(graph))


PASS = Pass(
    run=run,
    requires="cells of an RNN, GRU or LSTM with the same weights, three or more, each of which "
    "reads the state of the one before; a Loop that computes what needs no state",
    ensures="a Recurrent node in their place, and products with the input of all steps at once",
    of_sequences=True,
    after=("remove_identity", "fold_dense_bias"),
)

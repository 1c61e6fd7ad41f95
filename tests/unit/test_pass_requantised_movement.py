"""Rounding to a grid in front of what moves the numbers."""

from __future__ import annotations

from pathlib import Path

from edgeconv.ir.activation import grid
from edgeconv.ir.graph import Epilogue
from edgeconv.model import frontend, passes
from edgeconv.model.passes.fuse_activation import run as fuse_activation
from edgeconv.model.passes.remove_requantisation import run as remove_requantisation
from edgeconv.model.passes.requantised_movement import run
from edgeconv.search import choose
from edgeconv.search.choose.storage import EVERY_RESULT
from edgeconv.target.backends import TARGETS
from tests import onnx_models
from tests.ir_builder import GraphBuilder, assert_same_results, ops
from tests.quantised_models import joined

FIRST, THEN = grid(0.5, -4, 5), grid(0.7, -3, 6)


def rounded(b: GraphBuilder, x: str) -> str:
    return b.node("Unary", (x,), b.shape(x), epilogue=Epilogue(before=THEN))


def conv(b: GraphBuilder, x: str, epilogue: Epilogue = Epilogue()) -> str:
    return b.conv(x, 4, epilogue=epilogue)


def test_into_the_epilogues_of_both_branches() -> None:
    """One has an activation already, the other none."""
    b = GraphBuilder()
    x = b.input(1, 3, 5, 5)
    both = b.concat(1, conv(b, x, Epilogue(before=FIRST)), conv(b, x))
    before = b.graph(rounded(b, both))
    after = fuse_activation(run(before))
    assert ops(after) == ["Conv", "Conv", "Concat"]
    one, two, concat = after.nodes
    assert one.epilogue == Epilogue(before=FIRST, after=THEN)
    assert two.epilogue == Epilogue(before=THEN)
    assert (concat.epilogue, concat.output) == (Epilogue(), before.outputs[0])
    assert_same_results(before, after)


def test_a_chain_of_movement() -> None:
    b = GraphBuilder()
    x = b.input(1, 3, 5, 5)
    inner = b.reshape(b.concat(1, conv(b, x), conv(b, x)), 1, 8, 25)
    outer = b.concat(1, b.transpose(inner, 0, 2, 1), b.input(1, 2, 8))
    before = b.graph(rounded(b, outer))
    after = run(before)
    assert run(after) is after
    fused = fuse_activation(after)
    assert sorted(ops(fused)) == [*("Concat",) * 2, *("Conv",) * 2, "Reshape", "Transpose", "Unary"]
    assert_same_results(before, fused)


def test_a_branch_that_others_read_or_that_comes_twice() -> None:
    """It is rounded once, for the Concat alone."""
    b = GraphBuilder()
    x = conv(b, b.input(1, 3, 5, 5))
    before = b.graph(rounded(b, b.concat(1, x, x)), b.unary(x, "neg"))
    after = fuse_activation(run(before))
    assert sorted(ops(after)) == ["Concat", "Conv", "Unary", "Unary"]
    assert_same_results(before, after)


def test_a_branch_on_the_grid_needs_nothing() -> None:
    b = GraphBuilder()
    x = b.input(1, 3, 5, 5)
    both = b.concat(1, conv(b, x, Epilogue(before=THEN)), conv(b, x, Epilogue(before=FIRST)))
    before = b.graph(rounded(b, both))
    after = remove_requantisation(run(before))
    assert ops(after).count("Unary") == 1
    assert_same_results(before, after)


def test_what_stays() -> None:
    """A result that is read elsewhere or an output, a constant in it, operators that leave elements
    out, and a Unary that does more."""
    b = GraphBuilder()
    x = b.input(1, 4, 5, 5)
    read, output = b.concat(1, x, x), b.concat(2, x, x)
    constant = b.concat(1, x, b.normal(1, 1, 5, 5))
    others = [rounded(b, y) for y in (read, output, constant, b.slice(x, 1, 0, 2))]
    pooled = rounded(b, b.pool(x, "max", 2))
    y = b.concat(3, x, x)
    both = b.node("Unary", (y,), b.shape(y), epilogue=Epilogue(FIRST, "", THEN))
    before = b.graph(*others, output, b.unary(read, "neg"), pooled, both)
    assert run(before) is before


def test_what_a_concat_joins_is_int8(tmp_path: Path) -> None:
    """Two roundings in a row go into an epilogue; the third of one branch is a layer, in place."""
    path = onnx_models.save(joined(), tmp_path / "net.onnx")
    graph = passes.optimise(frontend.load(path))
    (third,) = (node for node in graph.nodes if node.op == "Unary")
    assert graph[third.output].shape == (1, 3, 7, 7)
    chosen = choose.select(graph, TARGETS["portable"], integers=EVERY_RESULT).graph
    concats = [node for node in chosen.nodes if node.op == "Concat"]
    assert len(concats) == 2
    names = {name for node in concats for name in (*node.inputs, node.output)}
    assert {str(chosen[name].storage) for name in names} == {"int8(0.0597, 2)"}
    producers = chosen.producers()

    def written_by(name: str) -> str:
        """Behind changes of layout."""
        writer = producers[name]
        return written_by(writer.inputs[0]) if writer.op == "Convert" else writer.op

    assert sorted(map(written_by, names)) == [
        *("Concat",) * 2,
        "Conv",
        "Pool",
        third.op,
    ]


def test_a_pad_with_zeros() -> None:
    """What is rounded is smaller then, and the Pad next to what it can be folded into."""
    b = GraphBuilder()
    x = b.pad(conv(b, b.input(1, 3, 5, 5)), (0, 0, 1, 0, 0, 0, 0, 1))
    before = b.graph(rounded(b, x))
    after = fuse_activation(run(before))
    assert ops(after) == ["Conv", "Pad"]
    assert_same_results(before, after)


def test_a_pad_with_a_number_that_rounding_changes() -> None:
    """To another, or to a bound."""
    b = GraphBuilder()
    x, pads = b.input(1, 3, 5, 5), (0, 0, 1, 0, 0, 0, 0, 1)
    over = b.node(
        "Unary", (b.pad(x, pads),), (1, 3, 6, 6), epilogue=Epilogue(before=grid(0.7, 1, 6))
    )
    before = b.graph(rounded(b, b.pad(x, pads, 0.3)), over)
    assert run(before) is before


def test_what_crops_a_convolution_alone() -> None:
    """As that of a transposed one does, whose phases it lays side by side; not a part of a sum."""
    b = GraphBuilder()
    x = b.input(1, 3, 5, 5)
    phases = b.transpose(b.reshape(conv(b, x), 1, 2, 2, 5, 5), 0, 1, 3, 2, 4)
    cropped = b.slice(b.reshape(phases, 1, 2, 10, 5), 2, 1, 8)
    summed = b.slice(b.binary("add", x, x), 2, 1, 3)
    before = b.graph(rounded(b, cropped), rounded(b, summed))
    after = fuse_activation(run(before))
    assert ops(after).count("Unary") == 1
    (computed,) = (node for node in after.nodes if node.op == "Conv")
    assert computed.epilogue == Epilogue(before=THEN)
    assert_same_results(before, after)

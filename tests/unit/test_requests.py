"""What is asked of kernels travels beside what the model says of a node, and never among it."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import edgeconv
from edgeconv.ir.encoding import FLOAT32, INT4, INT8
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.ir.request import NO_WORKSPACE, SMALLEST_OF_EACH, Described, Request, Workspace
from edgeconv.kernels.algorithms import applicable, candidates, within
from edgeconv.search.choose import select
from edgeconv.search.choose.winograd import convolutions, forms_within
from edgeconv.target import board as boards
from tests.ir_builder import GraphBuilder
from tests.unit.test_widened_filters import network, optimised

REAL: tuple[dict[str, Any], ...] = (
    {"workspace": {"*": Workspace(100)}},
    {"algorithms": {"*": "direct"}, "storage": {"*": "flyte8"}, "truncate": True},
    {"algorithms": {"*": "bfloat16"}},
    {"algorithms": {"*": "winograd"}, "workspace": {"*": SMALLEST_OF_EACH}},
)
QUANTISED: tuple[dict[str, Any], ...] = (
    {"integers": None, "workspace": {"*": NO_WORKSPACE}},
    {"storage": {"*": "int8", "*:output": "int8"}},
    {"storage": {"*": "float32"}},
    {"integers": frozenset({"*"})},
)
# That a model says as well, of the filters that it has.
SAID = {"storage", "exact"}


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return optimised(network()[0], tmp_path_factory.mktemp("requests"))


@pytest.fixture(scope="module")
def real() -> Graph:
    b = GraphBuilder()
    y = b.conv(b.conv(b.input(1, 16, 12, 12), 32, 3, 1), 32, 3, 1)
    graph = b.graph(y)
    floats = {name: replace(t, dtype="float32") for name, t in graph.tensors.items()}
    return graph.with_tensors(floats)


def kept(graph: Graph, board: str, asked: dict[str, Any]) -> list[Node]:
    """The nodes of a choice that ``graph`` has too, which asks nothing; they have its attributes.
    Some are asked something."""
    own = {node.name: node for node in graph.nodes}
    chosen = select(graph, boards.load(board).target, **asked).graph
    found = [node for node in chosen.nodes if node.name in own]
    assert len(found) == len(own)
    assert all(node.request == Request() for node in graph.nodes)
    assert any(node.request != Request() for node in found)
    for node in found:
        assert node.attrs == own[node.name].attrs, node.name
    return found


@pytest.mark.parametrize("asked", REAL, ids=str)
def test_choosing_leaves_attributes(real: Graph, asked: dict[str, Any]) -> None:
    kept(real, "zen4", asked)


@pytest.mark.parametrize("board", ["mps2-an500", "raspberry-pi-5", "generic-c"])
@pytest.mark.parametrize("asked", QUANTISED, ids=str)
def test_choosing_leaves_attributes_of_quantised_models(
    quantised: Graph, board: str, asked: dict[str, Any]
) -> None:
    kept(quantised, board, asked)


def test_what_a_report_describes(quantised: Graph) -> None:
    known = {
        node.name: Described("direct", str(ROW_MAJOR), str(ROW_MAJOR)) for node in quantised.nodes
    }
    nodes = kept(quantised, "zen4", {"described": known})
    assert all(node.request.described for node in nodes)


def test_no_attribute_has_the_name_of_a_request() -> None:
    names = "|".join(each.name for each in fields(Request) if each.name not in SAID)
    taken = re.compile(rf'attrs(\.get\(|\[)"({names})"|"({names})" (not )?in [\w.]*attrs')
    root = Path(edgeconv.__file__).parent
    lines = [
        f"{path.relative_to(root)}: {line.strip()}"
        for path in sorted(root.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if taken.search(line)
    ]
    assert not lines


def test_what_is_asked_of_filters_comes_before_what_the_model_has() -> None:
    own = Node("c", "Conv", ("x", "w"), ("y",), {"storage": INT4.scaled((0.5,)), "exact": True})
    assert own.storage == INT4.scaled((0.5,))
    assert own.exact
    asked = replace(own, request=Request(storage=INT8))
    assert asked.storage == INT8
    assert not asked.exact
    assert replace(own, attrs={}).storage == FLOAT32


def test_workspaces(real: Graph) -> None:
    """At most so many bytes, else the least of all kernels, or of every algorithm its own."""
    target = boards.load("zen4").target
    forms = forms_within(real, {node.name: 1.0 for node in convolutions(real)})
    node = replace(real.nodes[1], request=Request(winograd_forms=forms[real.nodes[1].name]))
    every = applicable(node, real, target)

    def sizes(limit: Workspace) -> dict[str, set[int]]:
        asked = replace(node, request=replace(node.request, workspace=limit))
        found: dict[str, set[int]] = {}
        for each in candidates(asked, real, target):
            found.setdefault(each.algorithm, set()).add(each.workspace_bytes)
        return found

    free, none, each = (sizes(limit) for limit in (Workspace(), NO_WORKSPACE, SMALLEST_OF_EACH))
    assert max(map(max, free.values())) > 0
    assert set().union(*none.values()) == {0}
    assert each == {name: {min(own)} for name, own in free.items()}
    assert max(map(max, each.values())) > 0  # Winograd's does not do without
    taking = [found for found in every if found.workspace_bytes]
    few = replace(node, request=replace(node.request, workspace=NO_WORKSPACE))
    least = min(found.workspace_bytes for found in taking)
    assert {found.workspace_bytes for found in within(taking, few)} == {least}


def test_limits_of_workspace_are_held_together() -> None:
    assert Workspace().at_most(7) == Workspace(7)
    assert Workspace(5).at_most(7) == Workspace(5)
    assert SMALLEST_OF_EACH.at_most(7) == SMALLEST_OF_EACH

"""bfloat16 as a compute type: where it is offered, what it changes, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, decide, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.kernels import algorithms
from edgeconv.kernels.algorithms.bfloat16 import ALGORITHM
from edgeconv.kernels.algorithms.filter_order import FilterOrder
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.rows.traffic import traffic
from edgeconv.search.choose import select
from edgeconv.target import board as boards
from edgeconv.target import host
from edgeconv.target.backends import TARGETS, micro_kernels
from edgeconv.target.host import Host
from tests.command import Command

pytestmark = pytest.mark.usefixtures("unoptimised")

ZEN4 = boards.load("zen4")
HOST_WORDS = frozenset({*TARGETS["avx512"].cpu_flags, "sse2"})
EVERY = {"*": "bfloat16"}
# Twice as fast as float32: not SME, whose float32 is as fast.
ROWS = [row for row in micro_kernels() if row.feature == "bfloat16"]
MULTIPLYING = sorted(
    row.isa for row in ROWS if not (TARGETS[row.isa].scalable or TARGETS[row.isa].runtime)
)
SME, AMX = {"apple-m4", "generic-sme"}, {"generic-amx"}


def graph(in_c: int = 64, out_c: int = 64, groups: int = 1, size: int = 14) -> Graph:
    """A 3x3 convolution and a depthwise one behind it."""
    rng = np.random.default_rng(0)

    def weights(name: str, *shape: int) -> Tensor:
        return Tensor(name, shape, data=rng.standard_normal(shape, np.float32))

    attrs = {"kernel": (3, 3), "strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1)}
    nodes = (
        Node("a", "Conv", ("x", "w"), ("y",), {**attrs, "groups": groups}),
        Node("b", "Conv", ("y", "v"), ("z",), {**attrs, "groups": out_c}),
    )
    tensors = (
        Tensor("x", (1, in_c, size, size)),
        weights("w", out_c, in_c // groups, 3, 3),
        Tensor("y", (1, out_c, size, size)),
        weights("v", out_c, 1, 3, 3),
        Tensor("z", (1, out_c, size, size)),
    )
    return Graph("g", nodes, {t.name: t for t in tensors}, ("x",), ("z",))


def test_boards_say_what_their_cores_multiply() -> None:
    stated = {name: boards.load(name, _machine()).features for name in boards.names()}
    assert {name for name in stated if "bfloat16" in stated[name]} == {
        "power10-s1024",
        "zen4",
        *(SME | AMX),
    }
    dot = {name for name in stated if "int8_dot" in stated[name]}
    assert dot == {
        "core-i7-11700k",
        "graviton2",
        "graviton3",
        "quartz64-a",
        "raspberry-pi-5",
        "xeon-silver-4208",
        "zen4",
        *(SME | AMX),
    }
    assert {name for name in stated if "int8_matrix" in stated[name]} == {"graviton3", *SME}
    assert boards.load("host", _machine("avx512_bf16")).features == {"bfloat16"}
    assert boards.load("host", _machine("avx512_vnni")).features == {"int8_dot"}
    assert "-mavx512bf16" in ZEN4.flags
    assert "-mavx512bf16" not in boards.load("xeon-silver-4208").flags


def _machine(*words: str) -> Host:
    return Host("x86_64", "Example", HOST_WORDS | set(words), None, 1, ())


def test_no_kernel_multiplies_it(tmp_path: Path) -> None:
    text = ZEN4.path.read_text().replace('isa = "avx512"', 'isa = "avx2"')
    (tmp_path / "zen4.toml").write_text(text)
    with pytest.raises(EdgeconvError, match="bfloat16.*no kernel for avx2"):
        boards.check(tmp_path / "zen4.toml")


def test_only_where_asked_for() -> None:
    """Not even where filters are stored as bfloat16 anyhow."""
    plain = select(graph(), ZEN4.target, storage={"*": "flyte16"})
    assert "bfloat16" not in {layer.algorithm for layer in plain.layers}
    asked = select(graph(), ZEN4.target, algorithms={"a": "bfloat16"})
    (layer,) = (layer for layer in asked.layers if layer.node.name == "a")
    assert layer.algorithm == layer.plan["compute"] == "bfloat16"
    assert next(blob.storage for blob in layer.blobs if blob.name == "filters") == Encoding(16)


def test_every_layer_that_it_applies_to() -> None:
    """A star leaves depthwise convolutions to others, and layers that are named themselves."""
    found = {
        x.node.name: x.algorithm for x in select(graph(), ZEN4.target, algorithms=EVERY).layers
    }
    assert (found["a"], found["b"]) == ("bfloat16", "depthwise")
    wanted = {**EVERY, "a": "direct"}
    with_other = select(graph(groups=2), ZEN4.target, algorithms=wanted)
    assert "bfloat16" not in {layer.algorithm for layer in with_other.layers}


@pytest.mark.parametrize("wanted", [EVERY, {"a": "bfloat16"}])
def test_other_cores(wanted: dict[str, str]) -> None:
    with pytest.raises(EdgeconvError, match="does not apply|applies to no convolution") as caught:
        select(graph(), boards.load("x86-64-v3").target, algorithms=wanted)
    assert "bfloat16 = true" in caught.value.one_line()


def test_other_formats_of_filters() -> None:
    with pytest.raises(EdgeconvError, match="does not apply"):
        select(graph(), ZEN4.target, algorithms={"a": "bfloat16"}, storage={"a": "int8"})


@pytest.mark.parametrize("name", MULTIPLYING)
def test_predicted_twice_as_fast(name: str) -> None:
    """Of what direct convolution, or SConv where the tile is the same, takes."""
    target = replace(TARGETS[name], features=frozenset({"bfloat16"}), caches=ZEN4.caches)
    big = graph(256, 256)
    node = replace(big.nodes[0], attrs={**big.nodes[0].attrs, "storage": Encoding(16)})
    slots = {each.algorithm: each.plan.cost for each in algorithms.applicable(node, big, target)}
    ratio = min(each for key, each in slots.items() if key != "bfloat16") / slots["bfloat16"]
    assert 1.7 <= ratio <= 2.6


def test_panels_fit_their_share() -> None:
    big = graph(256, 64, size=112)
    node = replace(big.nodes[0], attrs={**big.nodes[0].attrs, "storage": Encoding(16)})
    problem = problem_of(node, big)
    plan = ALGORITHM.candidates(problem, ZEN4.target)[0].plan
    assert plan.panel.bytes <= 3 / 8 * 2**20
    assert plan.chunk < plan.rows
    levels = traffic(problem, plan, ZEN4.target)
    everything = plan.order(problem, 16).elements * 2
    assert all(level.filters >= everything for level in levels)
    assert levels[0].total > levels[-1].total


def test_filter_order() -> None:
    """Pairs of channels side by side, zero where there is no second one."""
    order = FilterOrder(groups=2, out_c=3, in_c=3, taps=1, widths=(4,), nc=3, block=2, k=2)
    weights = np.arange(1, 19, dtype=np.float32).reshape(6, 3, 1, 1)
    packed = order.pack(weights)
    assert packed.size == order.elements
    first = [[1, 2], [4, 5], [7, 8], [0, 0]], [[3, 0], [6, 0], [9, 0], [0, 0]]
    assert packed[:16].reshape(2, 4, 2).tolist() == list(first)


def test_verification_tells_rounding_from_defects(
    residual_model: Path, tmp_path: Path, edgeconv: Command
) -> None:
    """Inputs of these layers are rounded, what else reads the same tensors is not."""
    if "bfloat16" not in boards.load("host").features:
        pytest.skip(f"this CPU ({host.running().cpu}) does not multiply bfloat16")
    options = CompileOptions(residual_model, "host", algorithms=EVERY)
    project, notes = compile_model(options, tmp_path / "p")
    computed = [x["name"] for x in project.report["layers"] if x.get("compute") == "bfloat16"]
    assert "pointwise" in computed
    assert any("multiply bfloat16" in note for note in notes)
    assert "SQNR of the network not measured yet" in edgeconv("report", tmp_path / "p").stdout
    result = verify_project(tmp_path / "p", model=residual_model)
    assert result.passed
    assert max(difference.relative for difference in result.rounded) <= 1e-6
    assert 30 <= min(output.sqnr_db for output in result.outputs) <= 70
    assert "compute: bfloat16 in" in edgeconv("report", tmp_path / "p").stdout


def test_formats_are_not_searched_for(residual_model: Path) -> None:
    options = CompileOptions(residual_model, "zen4", algorithms=EVERY, min_sqnr=30.0)
    with pytest.raises(EdgeconvError, match="searched for in float32 only"):
        decide(options)

"""A refusal names bytes with which the model compiles, and with one less of which it does not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import NodeProto, helper

from edgeconv.app import writing
from edgeconv.app.deciding import Decider, Decision
from edgeconv.app.deciding.formats import Attempt, Formats
from edgeconv.app.deciding.minimum_footprint import minimum_footprint_of, smaller, soon_decided
from edgeconv.app.deciding.planning import NetworkPlan
from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import no_progress
from edgeconv.model.frontend import load
from edgeconv.report.text import budget_lines
from edgeconv.search.budget.tables import Limits
from edgeconv.search.fitting import MissedError, UnfitError
from edgeconv.search.memory.sizes import Budgets
from tests import onnx_models

BOARDS = ("generic-c", "zen4", "mps2-an386")
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"min_sqnr": 40.0},
    {"storage": {"*": "int8"}},
    {"winograd_error": 1e-3},
    {"io": "arena"},
    {"objective": "memory"},
)
QUICK: tuple[tuple[int, str, dict[str, Any]], ...] = ((0, "zen4", {}),)
SWEPT = [
    (seed, BOARDS[seed % len(BOARDS)], ASKED[seed // len(BOARDS) % len(ASKED)])
    for seed in range(100, 172)
]
_TOO_LITTLE = 8  # bytes
_NAMED = re.compile(r"takes at least ([\d,]+) bytes of RAM, and at least ([\d,]+) of flash")
# Networks are measured by programs, whose speed is of no interest.
pytestmark = pytest.mark.usefixtures("compiled_lightly")


def network(seed: int, folder: Path) -> Path:
    """A few layers one after the other, some of them added to what was before."""
    rng = np.random.default_rng(seed)
    sizes = [int(rng.integers(1, 9)), int(rng.integers(6, 18))]
    image, weights, source = (1, sizes[0], sizes[1], sizes[1]), {}, "x"
    nodes: list[NodeProto] = []
    made: dict[tuple[int, ...], str] = {}
    for number in range(int(rng.integers(2, 5))):
        name, (channels, size) = f"t{number}", sizes
        kind, kernel, stride = rng.choice(4), int(rng.choice([1, 3])), int(rng.choice([1, 2]))
        before = made.get(tuple(sizes))
        if kind == 3 and before and before != source:
            nodes.append(helper.make_node("Add", [source, before], [name], name))
        elif kind == 2 and size > 3:
            window: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
            nodes.append(helper.make_node("MaxPool", [source], [name], name, **window))
            sizes = [channels, size // 2]
        else:
            groups = channels if kind == 1 else 1
            out_c = channels if kind == 1 else int(rng.integers(1, 17))
            shape = (out_c, channels // groups, kernel, kernel)
            weights[f"w{number}"] = rng.standard_normal(shape, np.float32) / kernel
            how: dict[str, Any] = {
                "strides": [stride] * 2,
                "pads": [kernel // 2] * 4,
                "group": groups,
            }
            nodes.append(helper.make_node("Conv", [source, f"w{number}"], [name], name, **how))
            sizes = [out_c, (size - 1) // stride + 1]
        source = name
        made.setdefault(tuple(sizes), name)
    model = onnx_models.model(nodes, {"x": image}, {source: None}, weights)
    return onnx_models.save(model, folder / "net.onnx")


def refused(options: CompileOptions) -> tuple[int, int] | None:
    """The RAM and flash that are named; None where the model fits."""
    try:
        sizes = decide(options).sizes
    except EdgeconvError as error:
        text = error.one_line()
    else:
        assert not budget_lines(sizes)
        return None
    found = _NAMED.search(text)
    assert found, text
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def cases() -> list[object]:
    quick = [pytest.param(*each) for each in QUICK]
    return [*quick, *(pytest.param(*each, marks=pytest.mark.slow) for each in SWEPT)]


@pytest.mark.parametrize(("seed", "board", "asked"), cases())
def test_what_is_named_does_and_a_byte_less_does_not(
    seed: int, board: str, asked: dict[str, Any], tmp_path: Path
) -> None:
    options = CompileOptions(network(seed, tmp_path), board, **asked)
    for index, kind in enumerate(("ram", "flash")):

        def within(size: int, kind: str = kind) -> tuple[int, int] | None:
            given: dict[str, Any] = {kind: size}
            return refused(replace(options, **given))

        least = within(_TOO_LITTLE)
        assert least
        assert within(least[index]) is None
        assert within(least[index] - 1) == least


class _Of:
    """Decisions that take so many bytes."""

    def __init__(self, size: int) -> None:
        self.size = size


@pytest.mark.parametrize(
    ("fits", "attempts", "found"),
    [
        ({}, 9, (50, True)),
        ({49: 40, 39: 38}, 9, (38, True)),
        ({49: 40, 39: 38}, 1, (40, False)),
        # What is decided for as much as the smallest plan takes may take less.
        ({50: 44}, 9, (44, True)),
        ({50: 44, 43: 43}, 9, (43, True)),
        ({50: 44}, 1, (50, True)),  # not asked where one attempt is all there is
    ],
)
def test_less_until_refused(fits: dict[int, int], attempts: int, found: tuple[int, bool]) -> None:
    def within(size: int) -> Any:
        return _Of(fits[size]) if size in fits else None

    starts: Any = [_Of(70), _Of(50)]
    best, exact = minimum_footprint_of(starts, lambda each: each.size, within, attempts)  # type: ignore[attr-defined]
    assert (best.size, exact) == found  # type: ignore[attr-defined]


_MEMORIES = st.sampled_from([size << 10 for size in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)])
_PAIRS = st.tuples(_MEMORIES, _MEMORIES)


@given(found=st.sets(_PAIRS), one=_PAIRS, other=_PAIRS)
def test_what_fits_a_budget_fits_a_larger_one(
    found: set[tuple[int, int]], one: tuple[int, int], other: tuple[int, int]
) -> None:
    """Whatever the budgets are for which a search finds something: those of less are asked too."""

    def fits(ram: int, flash: int) -> bool:
        less = smaller(Budgets(ram, flash), (0, 0), (32 << 10, 32 << 10))
        return (ram, flash) in found or any((each.ram, each.flash) in found for each in less)

    larger = max(one[0], other[0]), max(one[1], other[1])
    assert fits(*larger) >= (fits(*one) or fits(*other))


def test_budgets_within_others_are_sizes_of_memories() -> None:
    enough = 10**7, 10**7
    asked = list(smaller(Budgets(ram=5000, flash=None), (1500, 10**6), enough))
    assert asked == [Budgets(ram) for ram in (4096, 3072, 2048, 1536)]
    asked = list(smaller(Budgets(ram=5000, flash=700), (3000, 600), enough))
    assert asked == [Budgets(4096, 700), Budgets(3072, 700)]
    asked = list(smaller(Budgets(ram=5000, flash=700), (3000, 600), (3500, 10**7)))
    assert asked == [Budgets(3072, 700)]
    assert list(smaller(Budgets(ram=5000, flash=900_000), (1500, 10**6), enough)) == []


def digits(ram: int, flash: int = 28 << 10) -> CompileOptions:
    """A classifier whose filters are decoded to a workspace where there is one."""
    model = Path(__file__).parents[2] / "examples/digits/digits-cnn.onnx"
    return CompileOptions(model, "microbit", ram=ram, flash=flash)


def test_more_ram_costs_no_accuracy() -> None:
    """16 KiB is all RAM that the board has, of which the stack has a part.  Kernels for filters in
    float32 fit that, those that the same way of choosing takes for others do not."""
    for size in (12, 16):
        found = decide(digits(size << 10)).found
        assert found
        assert found.accuracy.sqnr_db > 40


def test_what_fits_less_is_found_where_the_budgets_lead_to_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = Formats._search_among

    def missing(self: Formats, plain: NetworkPlan) -> Attempt:
        budgets = self.planner.budgets
        if (budgets.ram or 0) > 12 << 10:
            missed = Limits(budgets.ram, budgets.flash)
            return Attempt(plain, None, MissedError(self.searched(plain).search, missed))
        return search(self, plain)

    monkeypatch.setattr(Formats, "_search_among", missing)
    made = decide(digits(16 << 10))
    assert made.found
    assert made.found.accuracy.sqnr_db > 40
    assert made.sizes.ram.total <= 12 << 10
    assert made.sizes.flash.total <= 28 << 10
    assert made.sizes.ram.budget == 16 << 10


def joined(channels: int, folder: Path) -> Path:
    """Four times the input, one behind the other: nothing that has formats to choose from."""
    nodes = [helper.make_node("Concat", ["x"] * 4, ["y"], "join", axis=1)]
    model = onnx_models.model(nodes, {"x": (1, channels, 64, 64)}, {"y": None}, {})
    return onnx_models.save(model, folder / "net.onnx")


def test_nothing_is_measured_where_there_are_no_formats_to_choose_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(*_: object, **__: object) -> None:
        raise AssertionError("measured")

    monkeypatch.setattr("edgeconv.search.fitting.search.Engine", measured)
    made = decide(CompileOptions(joined(1, tmp_path), "microbit"))
    (line,) = [line for line in budget_lines(made.sizes) if line.startswith("ram")]
    assert str(made.sizes.ram.total) in line


def test_large_tensors_make_a_network_large_without_any_multiply_adds(tmp_path: Path) -> None:
    """A result of 56 MiB is refused by its bound, before kernels are chosen."""
    model = joined(896, tmp_path)
    assert not soon_decided(load(model))
    told: list[str] = []
    with pytest.raises(EdgeconvError, match="takes at least 73,400,320 bytes of RAM"):
        decide(CompileOptions(model, "mps3-an547", ram=64 << 20), told.append)
    assert "choosing layouts and kernels" not in told


def test_a_search_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal that names the limit, which is told beforehand; no decision depends on it."""
    clock = iter(range(0, 10**6, 40))  # seconds from one plan to the next
    monkeypatch.setattr("edgeconv.app.deciding.formats.process_time", lambda: next(clock))
    told: list[str] = []
    with limits.given({"search-seconds": 60}), pytest.raises(EdgeconvError) as caught:
        decide(digits(12 << 10), told.append)
    assert "searching storage formats, for 60 s of processor time at most" in told
    error = caught.value
    assert (error.what, error.where) == ("takes too long", "digits-cnn.onnx")
    assert "--limit search-seconds=N" in error.hint
    assert sum(line.startswith("planning with") for line in told) < 4


@pytest.mark.parametrize("most", [16, 8], ids=["something is built", "nothing is"])
def test_less_ram_is_tried_where_code_is_too_large(
    most: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Kernels that take less RAM have less code: what is built for 16 KiB is found with 32 too."""
    tried: list[int] = []

    def built(decider: Decider, *_: object, **__: object) -> Decision:
        ram = decider.planner.budgets.ram or 0
        tried.append(ram >> 10)
        if most == 8 or ram > most << 10:
            raise UnfitError(EdgeconvError("does not fit"))
        return decider.decide()

    monkeypatch.setattr(writing, "_compiled", built)
    options = replace(digits(32 << 10, 32 << 10), board="mps2-an386")
    with Decider(options) as decider:
        if most == 8:
            with pytest.raises(UnfitError) as caught:
                writing.within_budgets(decider, tmp_path, no_progress, build=True)
            assert any("within --ram 24576, --ram 16384, " in line for line in caught.value.details)
            assert tried == [32, 24, 16, 12, 8]
            return
        made = writing.within_budgets(decider, tmp_path, no_progress, build=True)
    assert tried == [32, 24, 16]
    assert made.sizes.ram.total <= 16 << 10
    assert made.sizes.flash.total <= 32 << 10
    assert made.report["budget"]["ram"] == 32 << 10
    assert made.found

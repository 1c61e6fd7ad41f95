"""A refusal names bytes with which the model compiles, and with one less of which it does not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, helper

from edgeconv.deciding.least import least_of
from edgeconv.errors import EdgeconvError
from edgeconv.pipeline import CompileOptions, decide
from edgeconv.report.text import budget_lines
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
    best, exact = least_of(starts, lambda each: each.size, within, attempts)  # type: ignore[attr-defined]
    assert (best.size, exact) == found  # type: ignore[attr-defined]

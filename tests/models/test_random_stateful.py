"""Random networks with random states, under sanitizers; `random_stateful` tries many."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edgeconv.app import pipeline
from tests.models import random_stateful, random_variables
from tests.models.random_pieces import KINDS, network
from tests.models.random_stateful import RIGHT
from tests.quantised_models import TYPES
from tests.tools import available

# Of pieces: every kind and type; of windows: both sorts of borders.
SEEDS = {"pieces": (7, 23, 24, 38), "variables": (11, 17), "windows": (1, 2)}
MORE_SEEDS = range(1000, 1030)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *((kind, seed) for kind, seeds in SEEDS.items() for seed in seeds),
        *(
            pytest.param(kind, seed, marks=pytest.mark.slow)
            for kind in SEEDS
            for seed in MORE_SEEDS
        ),
    ],
)
def test_every_step_is_right(kind: str, seed: int, tmp_path: Path) -> None:
    available("generic-c")
    available("host")
    result, said = random_stateful.outcome(kind, seed, tmp_path)
    refused = kind == "windows" and result == random_stateful.REFUSED and seed in MORE_SEEDS
    assert refused or result == RIGHT, said


def test_the_first_seeds_have_every_kind_and_type() -> None:
    drawn = [network(seed) for seed in SEEDS["pieces"]]
    assert {kind for net in drawn for kind in net.kinds} == {kind.__name__ for kind in KINDS}
    states = {name for net in drawn for _, name in net.states}
    types = {
        port.type.tensor_type.elem_type
        for net in drawn
        for port in net.inputs
        if port.name in states
    }
    assert types == {TYPES[dtype] for dtype in ("float32", "int8", "uint8", "int16")}
    of_files = [random_variables.network(seed).kinds for seed in SEEDS["variables"]]
    assert {word for kinds in of_files for kind in kinds for word in kind.split()} >= {
        *("int8", "int16", "float32"),
        *("window", "delayed", "largest", "swapped"),
    }


@pytest.mark.parametrize(
    ("what", "text", "wrong"),
    [
        (
            "a reset that resets nothing",
            r"int net_reset\(.*?\{",
            r"\g<0>\n    if (model) return 0;",
        ),
        ("rows that are not kept", r"memmove\(out, in, \d+\)", "(void)out, (void)in"),
        (
            "a state beyond the arena",
            r"memmove\(out, in, (\d+)\)",
            r"memmove(out, in, \g<1> << 20)",
        ),
    ],
)
def test_what_is_wrong_is_noticed(
    what: str, text: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    available("generic-c")
    compiled = pipeline.compile_model

    def damaged(options: pipeline.CompileOptions, folder: Path) -> object:
        made = compiled(options, folder)
        source = folder / "net.c"
        program, count = re.subn(text, wrong, source.read_text(), flags=re.DOTALL)
        assert count, what
        source.write_text(program)
        return made

    monkeypatch.setattr(random_stateful, "compile_model", damaged)
    result, _ = random_stateful.outcome("variables", 17, tmp_path)
    assert result == "wrong"

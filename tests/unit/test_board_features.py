"""What the core of a microcontroller has, as its architecture, flags and FPU say."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.target.backends import TARGETS
from edgeconv.target.board.features import core_features, vector_features
from edgeconv.target.board.own_rates import OwnRates
from edgeconv.target.targets import (
    DSP,
    DUAL_ISSUE,
    HALVES,
    HELIUM,
    MAXIMA,
    RISCV,
    SOFT_FLOAT,
    THUMB_1,
)


@pytest.mark.parametrize(
    ("arch", "flags", "features"),
    [
        ("armv6-m", ("-mcpu=cortex-m0",), {THUMB_1}),
        ("armv7-m", ("-mcpu=cortex-m3",), set()),
        ("armv7e-m", ("-mcpu=cortex-m4",), {DSP}),
        ("armv7e-m", ("-mcpu=cortex-m7",), {DSP, DUAL_ISSUE}),
        ("armv8-m.base", ("-mcpu=cortex-m23",), {THUMB_1}),
        ("armv8-m.main", ("-mcpu=cortex-m33",), {DSP}),
        ("armv8-m.main", ("-mcpu=cortex-m33+nodsp",), set()),
        ("armv8-m.main", ("-march=armv8-m.main",), set()),
        ("armv8-m.main", ("-march=armv8-m.main+dsp",), {DSP}),
        ("armv8.1-m.main", ("-mcpu=cortex-m55+nomve.fp",), {DSP, HELIUM}),
        ("rv32imc", ("-march=rv32imc",), {RISCV}),
        ("rv32imafc", ("-march=rv32imafc",), {RISCV}),
    ],
)
def test_features_of_a_microcontroller(
    arch: str, flags: tuple[str, ...], features: set[str]
) -> None:
    assert core_features(arch, flags, has_fpu=True) - {MAXIMA} == features
    assert core_features(arch, flags, has_fpu=False) == features | {SOFT_FLOAT}


@pytest.mark.parametrize(
    ("arch", "fpu", "has_them"),
    [
        ("armv7e-m", "fpv4-sp-d16", False),
        ("armv7e-m", "fpv5-sp-d16", False),  # which no macro of a compiler tells from the former
        ("armv7e-m", "fpv5-d16", True),
        ("armv8-m.main", "fpv5-sp-d16", True),
        ("armv8.1-m.main", "fpv5-d16", True),
    ],
)
def test_maxima_of_float32_as_headers_find_them(arch: str, fpu: str, has_them: bool) -> None:
    assert (MAXIMA in core_features(arch, (), has_fpu=True, fpu=fpu)) == has_them
    assert MAXIMA not in core_features(arch, (), has_fpu=False)


def test_a_processor_under_an_operating_system_has_none_of_them() -> None:
    assert not core_features("armv7l", (), has_fpu=False)


@pytest.mark.parametrize(
    ("stated", "measured", "halves"),
    [
        ({}, None, False),
        ({}, OwnRates(1.0, 2.0), False),
        ({}, OwnRates(1.0, 1.0, halves=True), True),
        ({HALVES: False}, OwnRates(1.0, 1.0, halves=True), False),
        ({HALVES: True}, None, True),
    ],
)
def test_halves_are_what_the_file_says_or_was_measured(
    stated: dict[str, bool], measured: OwnRates | None, halves: bool
) -> None:
    found = vector_features(Path("mine.toml"), stated, TARGETS["avx512"], measured)
    assert found == ({HALVES} if halves else set())


def test_halves_need_kernels() -> None:
    with pytest.raises(EdgeconvError, match="avx2 has no kernels for halves of vectors"):
        vector_features(Path("mine.toml"), {HALVES: True}, TARGETS["avx2"], None)

"""Forms with offsets of channels' own: fractional biases, halves of a step, and what C makes of
each scaling's words."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.ir.requantisation import Form, Sums, fixed, per_channel, requantised, thresholds
from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.pair import Affine, added, pair_sum
from edgeconv.ir.requantisation.per_channel import NO_TIE
from edgeconv.ir.requantisation.scalings import FIXED, OFFSETS, TIES, scaled_as, scaling_for
from edgeconv.target.backends import TARGETS
from tests.unit.test_requantisation import layers, sums_of

_STORED = np.arange(-128, 128)


@given(layers())
def test_the_form_is_the_definition_for_every_sum(sums: Sums) -> None:
    values = np.arange(sums.least[0], sums.most[0] + 1)[None]
    form = per_channel(sums)
    assert form is None or np.array_equal(form.of(values), requantised(sums, values)), form


@st.composite
def channels(draw: st.DrawFn, *, powers: bool) -> Sums:
    """Layers as quantisers write them: results fill int8, biases lie between two units."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = int(rng.integers(1, 9))
    reach = rng.integers(2_000, 400_000, count)
    if powers:
        unit = (2.0 ** -rng.integers(10, 16, count)).astype(np.float64)
        spacing = 2.0 ** -int(rng.integers(2, 5))
        bias = np.rint(rng.normal(0, 1_000, count)) * unit
    else:
        unit = rng.uniform(2e-6, 2e-3, count).astype(np.float32).astype(np.float64)
        spacing = float(np.float32((unit * reach).max() / 256 * rng.uniform(0.5, 2)))
        bias = (rng.normal(0, 20, count) * spacing).astype(np.float32).astype(np.float64)
    zero = int(rng.integers(-128, 128))
    return Sums(unit, bias, -reach, reach + 3, spacing, zero, int(rng.choice([-128, -7])), 127)


def _near_thresholds(sums: Sums) -> Integers:
    edges = thresholds(sums)
    around = np.concatenate([edges + by for by in (-2, -1, 0, 1)], axis=1)
    ends = np.stack([sums.least, sums.most], axis=1)
    found: Integers = np.clip(np.concatenate([around, ends], axis=1), ends[:, :1], ends[:, 1:])
    return found


@given(channels(powers=False))
def test_fractional_biases_have_a_form(sums: Sums) -> None:
    """As `fixed` has none for nearly all of them; no halves are looked for."""
    form, values = per_channel(sums), _near_thresholds(sums)
    assert form
    assert not form.with_ties
    assert np.array_equal(form.of(values), requantised(sums, values))


@given(channels(powers=True))
def test_powers_of_two_have_a_form(sums: Sums) -> None:
    form, values = per_channel(sums), _near_thresholds(sums)
    assert form
    assert form.with_ties
    assert np.array_equal(form.of(values), requantised(sums, values))


def test_halves_become_even_around_an_odd_zero_point() -> None:
    sums = sums_of(0.125, 0.0, 1.0, 3, (-128, 127), 1000)
    values = np.array([[-20, -12, -4, 4, 12, 20]])
    form = per_channel(sums)
    assert fixed(sums) is None
    assert form
    assert form.of(values)[0].tolist() == [1, 1, 3, 3, 5, 5]


def test_what_no_form_is_found_for() -> None:
    """Halves that are no multiples of a power of two, and factors of a quarter and more."""
    assert per_channel(sums_of(1.0, 0.0, 6.0, 0, (-128, 127), 2000)) is None
    assert per_channel(sums_of(0.25, 0.3, 1.0, 0, (-128, 127), 2000)) is None


@pytest.mark.parametrize("zero", [0, -128, 6])
@pytest.mark.parametrize(("a", "b"), [(0.5, 0.25), (2.0, 0.5), (1.0, -0.125), (0.5, 0.5)])
def test_pairs_of_powers_of_two(a: float, b: float, zero: int) -> None:
    """All of the 65,536, where halves of a step are."""
    operands = Affine(a, -128), Affine(b, 3), Affine(1.0, zero)
    wanted = added(*operands, -128, 127)
    form = pair_sum(*operands, -128, 127)
    assert form
    assert form.ties == 1
    assert np.array_equal(form.of(_STORED[:, None], _STORED[None, :]), wanted)


def test_pairs_that_have_no_form() -> None:
    """Bits of an odd zero point would change which numbers are odd."""
    assert pair_sum(Affine(0.5, 0), Affine(0.25, 0), Affine(1.0, 3), -128, 127) is None


def _cases(scaling: str) -> Iterator[tuple[Form, Integers, Integers]]:
    """Forms that the words of ``scaling`` hold, sums at both sides of thresholds, and results."""
    far = sums_of(0.00131, 1.31, 1.1, -128, (-128, 127), 2**18)
    every = [far, sums_of(0.02, 0.013, 0.7, 5, (-90, 100), 9000)]
    if scaling != FIXED:
        every += [replace(far, bias=far.bias + 0.37 * far.unit)]
    if scaling == TIES:
        every += [sums_of(2.0**-7, 2.0**-7 * 40, 0.5, zero, (-128, 120), 40_000) for zero in (3, 0)]
    for sums in every:
        form = fixed(sums) or per_channel(sums)
        assert form
        values = _near_thresholds(sums)
        yield form, values[0], requantised(sums, values)[0]


@pytest.mark.parametrize("scaling", [FIXED, OFFSETS, TIES])
def test_kernels_compute_the_form(scaling: str, tmp_path: Path) -> None:
    """``ec_int8_of_sum`` of each scaling, and ``ec_scaled`` in plain C, as the form says."""
    cases = list(_cases(scaling))
    assert scaling_for(form for form, *_ in cases) == scaling
    lines, expected = [], []
    for given_form, values, results in cases:
        form = scaled_as(given_form, scaling)
        words = ", ".join(str(int(word[0])) for word in form.words)
        fields = f"{{{form.offset}, {form.right}, {form.low}, {form.high}}}"
        lines += [f"{{{fields}, {{{words}}}, {value}}}," for value in values.tolist()]
        expected += results.tolist()
    target = TARGETS["portable"]
    kernels = amalgamate(
        target.header,
        ("ec_int8_channels.h", "ec_integers_portable.h", "ec_scaling.h"),
        scaling=scaling,
    )
    source = tmp_path / "forms.c"
    source.write_text(
        "".join(kernels) + "#include <stdio.h>\n"
        "static const struct { ec_int8_result as; int32_t words[4], sum; } cases[] = {\n"
        + "\n".join(lines)
        + """};
int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ec_int8_result as = cases[i].as;
        const int32_t *const words = cases[i].words;
        const int sum = cases[i].sum + words[0];
        const int scaled = ec_scaled(sum, ec_scaling_at(words + 1, 1), as.offset, as.right);
        const int one = ec_int8_of_sum(as, sum, words + 1, 1);
        if (ec_min_i(ec_max_i(scaled, as.low), as.high) != one)
            return 1;
        printf("%d\\n", one);
    }
    return 0;
}
"""
    )
    program = tmp_path / "forms"
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    command = ["gcc", *options, "-fsanitize=undefined", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    found = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    assert [int(line) for line in found.split()] == expected


def test_words_of_wider_scalings() -> None:
    """Without ties of its own a form says so in the words that have some."""
    form = fixed(sums_of(0.02, 0.0, 0.7, 5, (-90, 100), 9000))
    assert form
    start, multiplier, own, tie = scaled_as(form, TIES).words
    assert (start, multiplier) == form.words
    assert own.tolist() == [form.offset]
    assert tie.tolist() == [NO_TIE]

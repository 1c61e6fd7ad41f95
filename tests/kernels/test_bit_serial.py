"""Convolutions of few bits by few bits, against float64, which has their sums exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.ir.activation import Activation, grid, sign
from edgeconv.ir.encoding import int8
from edgeconv.kernels.algorithms.digits import INPUT_ROUNDING
from edgeconv.target.backends import TARGETS
from tests.kernels.builds import WAYS
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check

plain = pytest.mark.parametrize(
    "build", [way for way in WAYS if TARGETS[way.target].lanes == 1], ids=str, indirect=True
)
WORD, BLOCK, IN_A_BYTE = 32, 8, 31  # channels, words of a block, blocks that a byte counts

# Input, filters, window; bits of the input, 0 of signs, largest filter, whether filters are 0, too.
Shape = tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], int, int, bool]
PADDED = {"pads": (1, 1, 1, 1)}
SHAPES: list[Shape] = [
    # Words of a window: what is left of a block, blocks, and more than a byte counts.
    *(((1, WORD * n, 1, 3), (2, WORD * n, 1, 1), {}, 0, 1, False) for n in (*range(1, 10), 23)),
    ((1, WORD * BLOCK * 5, 7, 7), (2, WORD * BLOCK * 5, 7, 7), {}, 0, 1, False),
    # Channels beside whole words.
    *(((1, n, 2, 2), (3, n, 1, 1), {}, 1, 1, True) for n in (1, 4, 7, 31, 33, 70)),
    # Signs with padding between them, and filters of every kind.
    ((2, 20, 5, 4), (5, 20, 3, 3), PADDED, 0, 1, False),
    ((1, 33, 5, 6), (4, 33, 3, 2), {"pads": (2, 0, 1, 1), "dilations": (2, 1)}, 0, 1, True),
    ((1, 16, 6, 7), (3, 16, 3, 3), {**PADDED, "strides": (2, 2)}, 0, 3, True),
    # More bits, and strides beyond the kernel.
    ((1, 40, 5, 5), (4, 40, 3, 3), PADDED, 2, 1, False),
    ((1, 24, 4, 9), (3, 24, 2, 3), {"strides": (1, 2), "pads": (1, 2, 0, 1)}, 3, 3, True),
    ((1, 16, 4, 8), (2, 16, 1, 1), {"strides": (2, 3)}, 4, 2, True),
]
assert SHAPES[10][1][1] * 49 > WORD * BLOCK * IN_A_BYTE


def layer(
    shape: Shape, to: Activation | None = None, *, dense: bool = False, least: int = 0
) -> Spec:
    """Filters 8 times as large as they are in units, biases of whole numbers of these; a result of
    signs, or of four steps ``to`` others.  ``least``: of inputs that are no signs, in steps."""
    x_shape, w_shape, window, bits, most, zeros = shape
    rng = np.random.default_rng(abs(hash((x_shape, w_shape, bits, most))) % 2**32)
    known = [each for each in range(-most, most + 1) if each or zeros]
    w = rng.choice(np.array(known), w_shape)
    w.reshape(w_shape[0], -1)[:, 0] = most
    units = 2.0 ** rng.integers(-9, -6, w_shape[0])
    rows = (-1, *(1,) * (len(w_shape) - 1))
    q = rng.choice(np.array([-1, 1]), x_shape) if not bits else rng.integers(0, 1 << bits, x_shape)
    q += least
    read = sign(0.5) if not bits else grid(0.5, float(least), float(least + (1 << bits) - 1))
    depth = int(np.prod(w_shape[1:]))
    made = sign(0.25) if to is None else to
    bias = rng.integers(-depth, depth, w_shape[0]) * units * 4
    attrs: dict[str, Any] = {"storage": "int8", "units": tuple(map(float, units / 8))}
    if dense:
        shape_out: tuple[int, ...] = (*x_shape[:-1], w_shape[0])
    else:
        given = {"strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4, **window}
        attrs |= {"kernel": w_shape[2:], "groups": 1, **given}
        sizes = [
            (n + given["pads"][i] + given["pads"][i + 2] - (k - 1) * d - 1) // s + 1
            for i, (n, k, d, s) in enumerate(
                zip(
                    x_shape[2:],
                    w_shape[2:],
                    given["dilations"],
                    given["strides"],
                    strict=True,
                )
            )
        ]
        shape_out = (x_shape[0], w_shape[0], *sizes)
    return Spec(
        "Dense" if dense else "Conv",
        {
            "x": (q * 0.5).astype(np.float32),
            "w": (w * units.reshape(rows)).astype(np.float32),
            "b": bias.astype(np.float32),
        },
        shape_out,
        attrs={**attrs, INPUT_ROUNDING: read},
        constants=("w", "b"),
        before=made,
        storage={
            "x": str(int8(0.5, -128 - round(read.beta))),
            "out": str(int8(made.alpha, -128 - round(made.beta))),
        },
    )


def by_bits(spec: Spec, build: Build) -> list[Case]:
    """Its cases that are computed bit by bit, of which there are some."""
    found = [each for each in spec.cases(build.target) if each.layer.algorithm == "bit_serial"]
    assert found, spec.attrs
    return found


@plain
def test_bit_serial(build: Build, folder: Path) -> None:
    few = grid(float(2.0**-4), 0.0, 3.0)
    specs = [layer(shape) for shape in SHAPES] + [layer(shape, few) for shape in SHAPES[::4]]
    rows: list[Shape] = [
        ((3, n), (5, n), {}, bits, 1, bool(bits)) for n, bits in ((33, 0), (600, 2))
    ]
    specs += [layer(shape, dense=True) for shape in rows]
    # Padding, 0, needs a bit more than numbers that are all below it.
    specs.append(layer(((1, 16, 4, 5), (3, 16, 3, 3), PADDED, 2, 1, True), least=-4))
    cases = [case for spec in specs for case in by_bits(spec, build)]
    scalings = {case.layer.scaling for case in cases}
    assert len(scalings) > 1  # of a program there is one
    for number, scaling in enumerate(scalings):
        (own := folder / str(number)).mkdir()
        check(build, [case for case in cases if case.layer.scaling == scaling], own)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"bits": 5}, "bits of the input"),
        ({"least": -16}, "bits of the padding"),
        ({"most": 4}, "magnitudes of filters"),
        ({"window": {"dilations": (1, 2)}}, "columns apart"),
    ],
)
def test_layers_of_more_bits_are_others(changed: dict[str, Any], why: str) -> None:
    given: dict[str, Any] = {"window": {}, "bits": 2, "most": 3, "least": 0} | changed
    kind = given["window"], given["bits"], given["most"], True
    spec = layer(((1, 8, 5, 5), (3, 8, 3, 3), *kind), least=given["least"])
    cases = spec.cases(TARGETS["portable"])
    assert "bit_serial" not in {case.layer.algorithm for case in cases}, why

"""The known answer that an emitted library can hold itself to (``--selftest``).

Its input is made by a generator of a few instructions, the same here and in the emitted C, so that
flash holds no tensors; of every output a few elements are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.codegen.c_names import c_float
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import BOOL, SMALL_INTEGERS, element_type
from edgeconv.ir.graph import Tensor

Array = npt.NDArray[np.generic]
MOST_KEPT = 64  # elements of an output
SEED = 0x2545F491  # of the first input; the next one has the next number
RELATIVE = 1e-4  # of the largest kept output: as far apart as compilers may be, see verify
ROUNDED = 1 / 64  # the same where results are rounded: a sum may fall to the other side anywhere
SPACINGS = 2  # of a quantised output


@dataclass(frozen=True, slots=True)
class Answer:
    """The known answer of one output: some elements (``places``: which), and how far off each may
    be."""

    places: tuple[int, ...]
    values: tuple[float, ...]
    tolerance: float

    def rows(self) -> Iterator[str]:
        """The elements as initialisers of the emitted table."""
        yield from (
            f"{{{at}, {c_float(value)}}}"
            for at, value in zip(self.places, self.values, strict=True)
        )


def made_input(tensor: Tensor, number: int) -> Array:
    """What the emitted generator makes of input ``number``: bytes of xorshift32 (Marsaglia, 2003),
    as multiples of 1/64 around zero, or as integers of the tensor's type."""
    state, drawn = SEED + number, np.empty(tensor.size, np.int64)
    for i in range(tensor.size):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        drawn[i] = state >> 24
    if tensor.dtype == "float32":
        return ((drawn - 127.5) / 64).astype(np.float32).reshape(tensor.shape)
    if tensor.dtype == BOOL:
        drawn >>= 7
    # of real numbers in fewer or more bits than 32 these are the bits
    bits = drawn.astype(f"u{element_type(tensor.dtype).bytes}").reshape(tensor.shape)
    whole = tensor.dtype.startswith("int") or tensor.dtype in SMALL_INTEGERS
    return bits.view(array_type(tensor.dtype)) if whole else bits


def answer_of(values: Array, spacing: float, *, rounded: bool) -> Answer:
    """The elements to keep of an output, spread over all of it."""
    flat = values.reshape(-1).astype(np.float64)
    kept = np.unique(np.linspace(0, max(flat.size - 1, 0), min(flat.size, MOST_KEPT)).astype(int))
    known = [int(at) for at in kept if np.isfinite(flat[at])]
    found = tuple(float(flat[at]) for at in known)
    largest = max(map(abs, found), default=0.0)
    tolerance = max(largest * (ROUNDED if rounded else RELATIVE), spacing * SPACINGS)
    return Answer(tuple(known), found, tolerance)


def answers(
    outputs: Mapping[str, Array],
    spacings: Mapping[str, float],
    order: Sequence[str],
    *,
    rounded: bool,
) -> tuple[Answer, ...]:
    """One per output, in the given order."""
    return tuple(
        answer_of(outputs[name], spacings.get(name, 0.0), rounded=rounded) for name in order
    )

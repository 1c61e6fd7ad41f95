"""Arrays for the inputs of a network: seeded ones, and what an .npz file calls them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from edgeconv.base import array_file
from edgeconv.base.array_file import Arrays, Stated
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import element_type
from edgeconv.ir.encoding import integers
from edgeconv.ir.quantisation import INTEGERS

Array = npt.NDArray[np.generic]
SEED = 0


def random(shape: Sequence[int], dtype: str, rng: np.random.Generator) -> Array:
    """A seeded input of a shape and element type."""
    if dtype in INTEGERS:
        low, high = integers(dtype).low, integers(dtype).high
        return rng.integers(low, high, tuple(shape), dtype, endpoint=True)
    if not element_type(dtype).is_real:  # bool, or what counts or numbers something: 0 or 1
        return rng.integers(0, 2, tuple(shape)).astype(dtype)
    return rng.standard_normal(tuple(shape), dtype=np.float32).astype(array_type(dtype))


def inputs_of(archive: Arrays) -> dict[str, Stated]:
    """The arrays of a file by the name of the input that they are for.

    Raises EdgeconvError (exit status 2) where two arrays are for one.
    """
    found: dict[str, Stated] = {}
    for name, stated in archive.stated.items():
        if name.startswith("out:"):
            continue
        own = name.removeprefix("in:")
        if own in found:
            raise array_file.invalid(
                archive.path, "two arrays for one input", f"{own!r} and 'in:{own}'"
            )
        found[own] = stated
    return found

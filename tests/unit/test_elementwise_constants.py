"""Constants of element-wise layers, as their kernels read them."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.graph import Tensor
from edgeconv.kernels.lowering.operands import narrowed


@pytest.mark.parametrize(
    ("dtype", "values", "narrow"),
    [
        ("int64", (0, 127), "int8"),
        ("int64", (0, 128), "int16"),
        ("int64", (-32769, 0), "int32"),
        ("int64", (0, 1 << 31), "int64"),
        ("uint64", (0, 255), "uint8"),
        ("uint64", (0, 1 << 32), "uint64"),
        ("int32", (0, 1), "int32"),
        ("float64", (0, 1), "float64"),
    ],
)
def test_integers_of_64_bits_lie_in_the_narrowest_type(
    dtype: str, values: tuple[int, ...], narrow: str
) -> None:
    data = np.array(values, dtype)
    made = narrowed(Tensor("c", data.shape, dtype, data=data))
    assert made.dtype == narrow == str(made.constant().dtype)
    np.testing.assert_array_equal(made.constant(), data)


def test_what_is_no_constant_stays() -> None:
    tensor = Tensor("x", (2,), "int64")
    assert narrowed(tensor) is tensor

"""Functions of two numbers that Binary nodes have, of numpy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]

BINARY: Mapping[str, Callable[[Values, Values], Values]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
    "squared_difference": lambda a, b: (a - b) * (a - b),
    "prelu": lambda a, b: np.where(a < 0, a * b, a),
}

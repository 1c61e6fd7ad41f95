"""numpy's types of elements as tensors have them, those among them that are none of its own:
bfloat16, and all of at most 8 bits but int8 and uint8."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def array_type(name: str) -> np.dtype[Any]:
    """The type called so; TypeError where there is none."""
    return np.dtype(getattr(ml_dtypes, name, name))

"""numpy's types of elements as tensors have them, bfloat16 among them, which is none of its own."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def array_type(name: str) -> np.dtype[Any]:
    """The type called so; TypeError where there is none."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)

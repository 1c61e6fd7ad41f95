"""What a price may be replaced by: the time that somebody measured of the same kernel call."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Tensor

# A kernel call, the tensors around it, and its predicted seconds -> those measured, None where
# nobody has.
Measured = Callable[[Layer, Mapping[str, Tensor], float], float | None]

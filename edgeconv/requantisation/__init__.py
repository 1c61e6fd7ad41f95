"""How int32 sums become the int8 of a result: exactly, and as kernels compute it, proven equal."""

from edgeconv.requantisation.exact import Sums, requantised, thresholds
from edgeconv.requantisation.forms import Fixed, Floating, Wide, fixed, floating, most_right, wide

__all__ = [
    "Fixed",
    "Floating",
    "Sums",
    "Wide",
    "fixed",
    "floating",
    "most_right",
    "requantised",
    "thresholds",
    "wide",
]

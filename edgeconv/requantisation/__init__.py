"""How int32 sums become the int8 of a result: exactly, and as kernels compute it, proven equal."""

from edgeconv.requantisation.arithmetic import (
    ARITHMETICS,
    EXACT,
    NAMES,
    TFLITE,
    Arithmetic,
    Form,
)
from edgeconv.requantisation.exact import Sums, requantised, thresholds
from edgeconv.requantisation.forms import Fixed, fixed, most_right
from edgeconv.requantisation.per_channel import PerChannel, per_channel

__all__ = [
    "ARITHMETICS",
    "EXACT",
    "NAMES",
    "TFLITE",
    "Arithmetic",
    "Fixed",
    "Form",
    "PerChannel",
    "Sums",
    "fixed",
    "most_right",
    "per_channel",
    "requantised",
    "thresholds",
]

"""How int32 sums become the int8 of a result: exactly, and as kernels compute it, proven equal."""

from edgeconv.ir.requantisation.arithmetic import (
    ARITHMETICS,
    EXACT,
    NAMES,
    TFLITE,
    Arithmetic,
    Form,
)
from edgeconv.ir.requantisation.exact import Sums, requantised, thresholds
from edgeconv.ir.requantisation.forms import Fixed, fixed, most_right
from edgeconv.ir.requantisation.per_channel import PerChannel, per_channel

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

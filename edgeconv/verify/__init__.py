"""Run what was emitted and compare it with the original model."""

from __future__ import annotations

from edgeconv.verify.compare import Difference, compare
from edgeconv.verify.decided import decisions_of, explains
from edgeconv.verify.layers import LayerResult
from edgeconv.verify.run import is_quantised, promised_error, verify
from edgeconv.verify.verification import Verification

__all__ = [
    "Difference",
    "LayerResult",
    "Verification",
    "compare",
    "decisions_of",
    "explains",
    "is_quantised",
    "promised_error",
    "verify",
]

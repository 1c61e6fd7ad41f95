"""Run what was emitted and compare it with the original model."""

from __future__ import annotations

from edgeconv.run.verify.compare import Difference, compare
from edgeconv.run.verify.decision_outputs import decisions_of, explains
from edgeconv.run.verify.frames import compare_frames
from edgeconv.run.verify.judging import is_quantised, promised_error
from edgeconv.run.verify.layers import LayerResult
from edgeconv.run.verify.run import verify
from edgeconv.run.verify.verification import Verification
from edgeconv.run.verify.windows import compare_windows

__all__ = [
    "Difference",
    "LayerResult",
    "Verification",
    "compare",
    "compare_frames",
    "compare_windows",
    "decisions_of",
    "explains",
    "is_quantised",
    "promised_error",
    "verify",
]

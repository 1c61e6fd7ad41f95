"""ONNX -> ir.Graph; the only package that imports onnx."""

from __future__ import annotations

from edgeconv.model.frontend.cut import WHOLE, Cut
from edgeconv.model.frontend.load import load
from edgeconv.model.frontend.reference import (
    AS_WRITTEN,
    IN_FLOAT64,
    ReferenceRun,
    prepared_beside,
    reference_beside,
    reference_outputs,
    references,
)
from edgeconv.model.frontend.states import with_states

__all__ = [
    "AS_WRITTEN",
    "IN_FLOAT64",
    "WHOLE",
    "Cut",
    "ReferenceRun",
    "load",
    "prepared_beside",
    "reference_beside",
    "reference_outputs",
    "references",
    "with_states",
]

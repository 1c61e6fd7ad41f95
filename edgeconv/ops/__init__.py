"""The operators, one module each; found by scanning, never listed."""

from __future__ import annotations

import sys
from functools import cache

from edgeconv.ops.base import Importer, Operator
from edgeconv.registry import scan


@cache
def operators() -> dict[str, Operator]:
    """IR operator name -> Operator."""
    return scan(sys.modules[__name__], "OPERATOR", Operator)


@cache
def importers() -> dict[str, Importer]:
    """ONNX op_type (default domain) -> importer."""
    found: dict[str, Importer] = {}
    for operator in operators().values():
        for op_type, importer in operator.onnx.items():
            if op_type in found:
                raise ValueError(f"ONNX operator {op_type} has two importers")
            found[op_type] = importer
    return found

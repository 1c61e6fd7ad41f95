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


# ONNX operators that move the integers behind a QuantizeLinear, or compare them as a MaxPool does,
# or have a zero point of run time.
_MOVES = frozenset(
    {
        *("Identity", "Cast", "CastLike", "Dropout", "DequantizeLinear", "QuantizeLinear"),
        *("Concat", "Gather"),
        *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split"),
        *("DepthToSpace", "SpaceToDepth", "Expand", "Tile", "Pad", "MaxPool"),
    }
)


def takes_integers(op_type: str) -> bool:
    """Whether an ONNX operator may read integers that are known at run time only."""
    return op_type in _MOVES


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

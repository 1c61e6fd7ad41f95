"""The operators, one module each; found by scanning, never listed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TypeVar

from edgeconv.base.registry import scan
from edgeconv.kernels.ops.base import Importer, Operator, ShapeRule

_Row = TypeVar("_Row")


@cache
def operators() -> dict[str, Operator]:
    """IR operator name -> Operator."""
    return scan(sys.modules[__name__], "OPERATOR", Operator)


# ONNX operators whose importers take elements of any type: those that move them, and those that
# convert them.
_ANY_TYPE = frozenset(
    {
        *("Identity", "Cast", "CastLike", "Dropout", "DequantizeLinear", "QuantizeLinear"),
        *("Concat", "Gather"),
        *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split"),
        *("DepthToSpace", "SpaceToDepth", "Expand", "Tile", "Pad", "MaxPool"),
    }
)


@cache
def importers() -> dict[str, Importer]:
    """ONNX op_type (default domain) -> importer of nodes whose data is float32."""
    return _by_type(operator.onnx for operator in operators().values())


@cache
def typed_importers() -> dict[str, Importer]:
    """ONNX op_type (default domain) -> importer of nodes of which an input or output at run time is
    no float32."""
    found = _by_type(operator.typed for operator in operators().values())
    return {op: importers()[op] for op in _ANY_TYPE if op in importers()} | found


@cache
def shape_rules() -> dict[str, ShapeRule]:
    """ONNX op_type (default domain) -> the shape of its outputs by its definition."""
    return _by_type(operator.shapes for operator in operators().values())


# Those that are compiled for float64 as it is; what others read is converted to float32.
_DOUBLE = _ANY_TYPE - {"DequantizeLinear", "QuantizeLinear", "MaxPool", "Dropout"} | {
    *("Add", "Sub", "Mul", "Div", "Neg", "Abs", "Sign", "Min", "Max", "Clip", "Relu", "Where"),
    *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN", "IsInf"),
    "TreeEnsembleRegressor",
}


def computes_doubles(op_type: str) -> bool:
    """Nodes of the ONNX operator compute with float64 where that is what they read."""
    return op_type in _DOUBLE


def _by_type(tables: Iterable[Mapping[str, _Row]]) -> dict[str, _Row]:
    found: dict[str, _Row] = {}
    for table in tables:
        for op_type, row in table.items():
            if op_type in found:
                raise ValueError(f"ONNX operator {op_type} has two importers")
            found[op_type] = row
    return found

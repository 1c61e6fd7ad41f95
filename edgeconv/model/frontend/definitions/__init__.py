"""Operators written as what defines them, so that nothing behind the frontend need know of them.

Those that compute with integers, as QLinearConv, are DequantizeLinear of their operands, an
operator on real numbers, and QuantizeLinear of the result (https://onnx.ai/onnx/operators, and of
the domain ``com.microsoft``
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md): rounding happens once,
where the model says.
"""

from edgeconv.model.frontend.definitions.definition import (
    DEFINED_BESIDE,
    DEFINED_IN,
    Definition,
    Definitions,
    Row,
)
from edgeconv.model.frontend.definitions.rows import row_of

__all__ = ["DEFINED_BESIDE", "DEFINED_IN", "Definition", "Definitions", "Row", "row_of"]

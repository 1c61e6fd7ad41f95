"""What is known of constants that DequantizeLinear made: the integers they are multiples of.

Such a constant is float32 like any other.  A layer that has it as its filters stores the integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from edgeconv.ir.quantisation import Steps
from edgeconv.storage import formats

Values = npt.NDArray[Any]
Constant = Callable[[str], Values | None]

# Formats that hold whole numbers of this size exactly, by the fewest bits that a model would store
# such numbers in.  flyte16 has 8 significant bits and flyte24 16.
_EXACT = (
    ("int4", 4, -8, 7),
    ("int8", 8, -128, 127),
    ("flyte16", 16, -256, 256),
    ("flyte24", 16, -65536, 65536),
)
# Constants of the same elements in the same order, in which one scale remains one scale.
_RESHAPES = frozenset({"Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze"})


class Grids:
    """The constants that are whole multiples of scales, by name."""

    def __init__(self) -> None:
        self._steps: dict[str, Steps] = {}
        self.notes: list[str] = []

    def note(self, node: onnx.NodeProto, constant: Constant) -> None:
        """``node`` has been evaluated: what that says of its output."""
        steps = None
        if node.op_type == "DequantizeLinear":
            steps = _dequantised(node, constant)
        elif node.input and node.input[0] in self._steps:
            steps = _moved(node, self._steps[node.input[0]])
        if steps is not None:
            self._steps[node.output[0]] = steps

    def attributes(self, name: str, axis: int, channels: int, layer: str) -> dict[str, Any]:
        """``storage`` and ``units`` of the node ``layer``, which has ``name`` as its filters.

        ``axis`` is that of the output channels, of which there are ``channels``.
        """
        steps = self._steps.get(name)
        if steps is None:
            return {}
        units = steps.units(axis, channels)
        if units is None:
            self.notes.append(f"{layer}: weights are stored as float32: scales along in_c")
            return {}
        form = format_of(steps)
        if not form:
            self.notes.append(f"{layer}: weights are stored as float32: no format has their range")
            return {}
        return {"storage": form, "units": units, "exact": True}


def format_of(steps: Steps) -> str:
    """The smallest format that has every multiple, and is no smaller than the model's own; "" for
    none."""
    known = formats()
    for name, bits, low, high in _EXACT:
        holds = low <= steps.low and steps.high <= high
        if name in known and bits >= min(steps.bits, 16) and holds:
            return name
    return ""


def _dequantised(node: onnx.NodeProto, constant: Constant) -> Steps | None:
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    x, scale = constant(node.input[0]), constant(node.input[1])
    if x is None or scale is None or attributes.get("block_size") or scale.ndim > 1:
        return None
    zero = constant(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    axis = int(attributes.get("axis", 1))
    if scale.size != 1 and not (-x.ndim <= axis < x.ndim and scale.size == x.shape[axis]):
        return None
    if zero is not None and zero.size not in (1, scale.size):
        return None
    along = None if scale.size == 1 else axis % x.ndim
    shape = [1] * x.ndim
    if along is not None:
        shape[along] = -1
    scales = scale.astype(np.float32).reshape(-1)
    usable = np.isfinite(scales) & (scales >= np.finfo(np.float32).tiny)
    bits = _bits(x.dtype)
    if not x.size or not bits or not usable.all():
        return None
    steps = x.astype(np.int64)
    if zero is not None:
        origin = zero.astype(np.int64)
        steps = steps - (origin.reshape(-1)[0] if origin.size == 1 else origin.reshape(shape))
    return Steps(scales, along, int(steps.min()), int(steps.max()), bits)


def _bits(dtype: np.dtype[Any]) -> int:
    """Of an integer type that weights are stored in; 0 for others."""
    return {"int4": 4, "uint4": 4, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16}.get(
        dtype.name, 0
    )


def _moved(node: onnx.NodeProto, steps: Steps) -> Steps | None:
    """Behind a node that moves constants."""
    if steps.axis is None:
        return steps if node.op_type in (*_RESHAPES, "Transpose") else None
    if node.op_type == "Identity":
        return steps
    if node.op_type != "Transpose":
        return None
    perm = _permutation(node)
    return steps.moved(perm.index(steps.axis)) if perm else None


def _permutation(node: onnx.NodeProto) -> Sequence[int]:
    found: Mapping[str, Any] = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return list(found.get("perm", ()))

"""Constants whose bytes stay where they are in the model file."""

from __future__ import annotations

import onnx

SELF = ""  # external-data location that stands for the model file


def refer(tensor: onnx.TensorProto, offset: int, length: int) -> onnx.TensorProto:
    """``tensor``, its data being ``length`` bytes of the model file from ``offset`` on."""
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, text in (("location", SELF), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=text)
    return tensor

"""TensorFlow Lite model files as they are stored; needs nothing but Python."""

from __future__ import annotations

from edgeconv.model.tflite.file import Model, Operator, Options, Tensor, is_tflite, read
from edgeconv.model.tflite.flatbuffer import DamagedError

__all__ = ["DamagedError", "Model", "Operator", "Options", "Tensor", "is_tflite", "read"]

"""TensorFlow Lite models as ONNX models: what follows the frontend need not know of them."""

from __future__ import annotations

from edgeconv.model.frontend.tflite.averages import halves_away
from edgeconv.model.frontend.tflite.translate import DOMAIN, REASON, Translated, translate
from edgeconv.model.frontend.tflite.variables import Variable

__all__ = ["DOMAIN", "REASON", "Translated", "Variable", "halves_away", "translate"]

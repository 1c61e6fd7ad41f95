"""What an inference will take on a board: time and energy per layer, and what bounds it.

The price of every layer (`edgeconv.target.price`) with the memories that its tensors lie in and
with what the caches still hold of them.
"""

from edgeconv.search.predict.model import LayerPrediction, Prediction, Roofline, predict
from edgeconv.search.predict.traffic import Traffic

__all__ = ["LayerPrediction", "Prediction", "Roofline", "Traffic", "predict"]

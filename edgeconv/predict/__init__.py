"""What an inference will take on a board: time and energy per layer, and what bounds it.

The only place with these formulas.  Slots and traffic of convolutions come from the plans of
`edgeconv.algorithms`, rates and prices from the board.
"""

from edgeconv.predict.flows import Traffic
from edgeconv.predict.model import LayerPrediction, Prediction, Roofline, predict

__all__ = ["LayerPrediction", "Prediction", "Roofline", "Traffic", "predict"]

"""Float32 networks made int8: grids, integer filters, and what they cost."""

from edgeconv.quantising.quantiser import Quantised, Quantiser
from edgeconv.quantising.rewrite import pretended

__all__ = ["Quantised", "Quantiser", "pretended"]

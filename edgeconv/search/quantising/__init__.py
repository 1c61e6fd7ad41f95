"""Post-training quantisation of float32 networks: grids, integer filters, and what they cost."""

from edgeconv.search.quantising.quantiser import Quantised, Quantiser
from edgeconv.search.quantising.rewrite import pretended

__all__ = ["Quantised", "Quantiser", "pretended"]

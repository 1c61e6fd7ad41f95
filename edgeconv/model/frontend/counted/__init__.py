"""Tensors of which a dimension is counted at run time, up to a maximum that is known."""

from edgeconv.model.frontend.counted.counting import Counting

__all__ = ["Counting"]

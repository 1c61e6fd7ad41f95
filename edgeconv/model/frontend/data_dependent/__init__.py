"""Tensors of which a dimension is data-dependent, up to a maximum that is known."""

from edgeconv.model.frontend.data_dependent.shapes import DataDependentShapes

__all__ = ["DataDependentShapes"]

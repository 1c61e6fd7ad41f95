"""A copy that a graph input wired to a graph output needs."""

from edgeconv.ops.kernels.reshape import layouts, lower

__all__ = ["layouts", "lower"]

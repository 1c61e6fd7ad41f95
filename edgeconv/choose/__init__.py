"""Decide algorithm, layout and kernel for every node."""

from edgeconv.choose.select import select

__all__ = ["select"]

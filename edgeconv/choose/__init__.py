"""Decide algorithm, layout and kernel for every node."""

from edgeconv.choose.select import select
from edgeconv.choose.storage import WEIGHTED, stored_formats

__all__ = ["WEIGHTED", "select", "stored_formats"]

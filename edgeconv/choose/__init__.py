"""Decide algorithm, layout and kernel for every node."""

from edgeconv.choose.select import select
from edgeconv.choose.storage import stored_formats

__all__ = ["select", "stored_formats"]

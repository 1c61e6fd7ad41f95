"""Sliding windows: a network over a window that moves along an axis, computed from what is new.

`slide` makes of a network that reads a whole window one that reads the rows that came in since the
last run, and keeps what its layers still need of older rows as states (`ir.graph.State`).
"""

from __future__ import annotations

from edgeconv.model.sliding.slide import Slid, Slide, extended, slide

__all__ = ["Slid", "Slide", "extended", "slide"]

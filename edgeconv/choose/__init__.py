"""Decide algorithm, layout and kernel for every node, and which layers take turns."""

from edgeconv.choose.prices import Described
from edgeconv.choose.select import select
from edgeconv.choose.storage import ROUNDED, stored_formats
from edgeconv.choose.turns import joins, take_turns, turns_like

__all__ = ["ROUNDED", "Described", "joins", "select", "stored_formats", "take_turns", "turns_like"]

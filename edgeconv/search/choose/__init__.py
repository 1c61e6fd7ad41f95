"""Decide algorithm, layout and kernel for every node, and which layers take turns."""

from edgeconv.ir.request import Described
from edgeconv.search.choose.select import select
from edgeconv.search.choose.storage import ROUNDED, stored_formats
from edgeconv.search.choose.turns import joins, take_turns, turns_like

__all__ = ["ROUNDED", "Described", "joins", "select", "stored_formats", "take_turns", "turns_like"]

"""Decide algorithm, layout and kernel for every node, and which layers stream rows."""

from edgeconv.ir.request import Described
from edgeconv.search.choose.row_streaming import joins, stream_rows_of
from edgeconv.search.choose.select import select
from edgeconv.search.choose.storage import ROUNDED, stored_formats

__all__ = [
    "ROUNDED",
    "Described",
    "joins",
    "select",
    "stored_formats",
    "stream_rows_of",
]

"""Times of kernel calls that were measured: what identifies one, and the file that keeps them."""

from edgeconv.search.measured.kernel import board_key, described, kernel_key, kernel_version
from edgeconv.search.measured.store import Key, Row, Store
from edgeconv.search.measured.times import Times, load

__all__ = [
    "Key",
    "Row",
    "Store",
    "Times",
    "board_key",
    "described",
    "kernel_key",
    "kernel_version",
    "load",
]

"""What workers of a program share out, as C: calls of kernels that compute a share.

Kernels say with two macros what a worker is given beside (``EC_WORKER``), and what of a loop is its
share rather than all of it (``EC_WORKER_OR``); `guarded` puts into programs what these stand for.
"""

from __future__ import annotations

from dataclasses import dataclass

ROWS, ITEMS = ("row0", "row1"), ("from", "to")


@dataclass(frozen=True, slots=True)
class Items:
    """The items that a call computes, in the C of its layer's function.

    ``workers``: the program has several.  ``shared``: the function takes the range of one of them,
    [from, to).
    """

    workers: bool = False
    shared: bool = False

    def __call__(self, count: int) -> str:
        """The last arguments of a kernel that takes a range where there are workers."""
        if not self.workers:
            return ""
        return f", {', '.join(ITEMS)}" if self.shared else f", 0, {count}"

    def count(self, count: int) -> str:
        """How many."""
        return f"{ITEMS[1]} - {ITEMS[0]}" if self.shared else str(count)

    def offset(self, each: int = 1) -> str:
        """What is added to a pointer to the first item, ``each`` of which takes so much."""
        if not self.shared:
            return ""
        return f" + {ITEMS[0]}" if each == 1 else f" + (ptrdiff_t){ITEMS[0]} * {each}"

    def element(self, pointer: str, form: str, each: int = 1, *, written: bool = False) -> str:
        """The address of the first item in memory that is stored as ``form``."""
        if not self.shared or pointer == "NULL":
            return pointer
        at = ITEMS[0] if each == 1 else f"(ptrdiff_t){ITEMS[0]} * {each}"
        return f"{'ec_place' if written else 'ec_at'}({pointer}, {at}, {form})"

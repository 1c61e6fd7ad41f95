"""What long work tells of itself while it runs."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]


class Share(str):
    """What is going on, as a text, with how much of it is ``done``: a share from 0 to 1.

    A text, so that who is told need not know that some have a share.
    """

    __slots__ = ("done",)
    done: float

    def __new__(cls, text: str, done: float, of: float = 1) -> Share:
        share = super().__new__(cls, text)
        share.done = done / of if of else 1.0
        return share


def no_progress(what: str) -> None:
    """Who is told where nobody wants to know."""

"""What is closed at the end of a ``with`` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """``with thing:`` closes it."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what it holds; no harm if done twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

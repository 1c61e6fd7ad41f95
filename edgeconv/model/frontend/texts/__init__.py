"""Strings at run time: an index into a table where the texts are known, else their bytes."""

from edgeconv.model.frontend.texts.rules import Texts

__all__ = ["Texts"]

"""Text from a model, a board file or a path, made fit for a terminal: nothing in it acts.

A name may hold an escape sequence that clears the screen or types commands, line ends that fake
messages, and marks that turn the order of letters round (CVE-2021-42574).  All that is written as
``\\x1b`` would be in C.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

# C0, DEL, C1; marks and overrides of direction; line separators; half of a UTF-16 pair, which
# nothing can encode (and what Python makes of a byte in a path that is not UTF-8).
_ACTING = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
_PATTERN = re.compile(f"[{_ACTING}]")
_OURS = "\n\t"  # what our own texts lay themselves out with
# JSON escapes C0 by itself.
_IN_JSON = re.compile(f"[{_ACTING}]".replace("\x00-\x1f", ""))


def visible(text: str, *, layout: bool = False) -> str:
    """``text`` with every character that acts on a terminal written out.

    ``layout``: line ends and tabs are ours, and stay.
    """
    return _PATTERN.sub(lambda found: _written(found[0], layout=layout), text)


def _written(character: str, *, layout: bool) -> str:
    if layout and character in _OURS:
        return character
    return character.encode("unicode_escape").decode("ascii")


def json_text(document: Any, *, indent: int | None = 2) -> str:
    """A document as JSON that can be shown and encoded whatever its strings hold; it reads back as
    the same document.  Raises ValueError for numbers that are not finite."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class VisibleConsole(Console):
    """Prints nothing that acts on the terminal but what rich itself does."""

    def render_str(self, text: str, **options: Any) -> Text:
        """As `Console`, for one line; before a table measures its cells."""
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """As `Console`; for what has come another way than as a string."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text == (text := visible(segment.text, layout=True)):
                yield segment
            else:
                yield Segment(text, segment.style)

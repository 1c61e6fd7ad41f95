"""Filters of four bits or fewer as int8, which has their integers and is what kernels multiply.

The format that a quantised model needs is one candidate, and takes less flash; int8 in the same
units is another, which is multiplied as it is stored.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.encoding import INT8, Encoding
from edgeconv.ir.graph import Node

AS_ASKED = "storage_as_asked"  # attribute of a node whose format the user names


def holds_integers_of(form: Encoding, other: Encoding) -> bool:
    """Whether ``form`` is of integers and has all of those of ``other``, which is, too."""
    return form.affine and other.affine and form.low <= other.low and other.high <= form.high


def widened(node: Node) -> Node | None:
    """The Conv or Dense ``node`` with its filters in int8, the very same numbers; None where they
    are not stored in fewer bits, or where the user wants these."""
    stored: Encoding | None = node.attrs.get("storage")
    if stored is None or AS_ASKED in node.attrs or not (stored.affine and stored.scale):
        return None
    if stored.bits >= INT8.bits:
        return None
    return replace(node, attrs={**node.attrs, "storage": INT8.scaled(stored.scale)})

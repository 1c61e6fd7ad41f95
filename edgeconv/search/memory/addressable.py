"""What the C of a board can address: no object has more bytes than PTRDIFF_MAX.

The emitted code counts elements and offsets in ``ptrdiff_t`` and sizes in ``size_t``.  Compilers
refuse an array larger than the former can count (GCC: "size of array exceeds maximum object
size"), or cut the number off.
"""

from __future__ import annotations

from edgeconv.base import sizes
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import tensor_bytes
from edgeconv.ir.graph import Graph
from edgeconv.target.board import Board
from edgeconv.target.board.arch import find


def largest_object(board: Board) -> int:
    """PTRDIFF_MAX of the board, in bytes."""
    known = find(board.arch)
    bits = known.bits if known else 64 if "64" in board.arch else 32
    return (1 << (bits - 1)) - 1


def check_tensors(graph: Graph, board: Board) -> None:
    """Raise EdgeconvError for a tensor of ``graph`` that the board cannot address."""
    for tensor in graph.tensors.values():
        what = "the constant" if tensor.is_constant else "the tensor"
        shape = "x".join(map(str, tensor.shape))
        _check(tensor_bytes(tensor), board, f"{what} {tensor.name!r} of shape {shape}")


def check_objects(board: Board, **objects: int) -> None:
    """Raise EdgeconvError for one of ``objects``, bytes by name, that the board cannot address."""
    for name, size in objects.items():
        _check(size, board, f"the {name}")


def _check(size: int, board: Board, what: str) -> None:
    most = largest_object(board)
    if size > most:
        raise EdgeconvError(
            "too large for the board",
            where=what,
            got=f"{size} bytes ({sizes.human(size)})",
            rule=f"board {board.name} ({board.arch}) addresses at most {most} bytes in one object",
            hint="a smaller --input-shape, or a part of the model with --output",
        )

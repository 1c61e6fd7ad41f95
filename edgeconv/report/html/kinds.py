"""What layers are on the page, by colour: a convolution by its algorithm, the rest by its work."""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.report.network import Layer

PLAIN = 0  # the number of what has no colour


@dataclass(frozen=True, slots=True)
class Kind:
    """``number``: of the colour --part-N in style.css."""

    name: str
    number: int


PORT = Kind("input or output", PLAIN)
_VIEW = Kind("view: nothing is computed or moved", PLAIN)
_CONVOLUTIONS = {"direct": 1, "sconv": 2, "depthwise": 3, "bfloat16": 4}
_NEW_ALGORITHM = 6
_PRODUCT, _WINDOW = Kind("matrix product", 4), Kind("pooling, reduction, resizing", 7)
_MOVED, _ELEMENTS = Kind("data moved", 5), Kind("element by element", 8)
_KINDS = {
    **dict.fromkeys(("Dense", "MatMul"), _PRODUCT),
    **dict.fromkeys(("Pool", "Reduce", "Resize"), _WINDOW),
    **dict.fromkeys(
        ("Concat", "Convert", "Copy", "Expand", "Gather", "Pad", "Slice", "Tile", "Transpose"),
        _MOVED,
    ),
}


def kind_of(layer: Layer) -> Kind:
    """The kind of a layer."""
    algorithm = layer["algorithm"]
    if algorithm == "view":
        return _VIEW
    if layer["op"] == "Conv":
        return Kind(f"convolution, {algorithm}", _CONVOLUTIONS.get(algorithm, _NEW_ALGORITHM))
    return _KINDS.get(layer["op"], _ELEMENTS)

"""The table of constants that the emitted source begins with, and their names in C."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgeconv.base.names import shortened, untaken
from edgeconv.codegen.c_names import identifier
from edgeconv.codegen.weights import PlacedBlob, WeightImage
from edgeconv.ir.choice import Choice, Layer


@dataclass(frozen=True, slots=True)
class WeightRow:
    """One constant: ``offset`` in the image and size in bytes, storage format, shape in the model,
    what it is in words."""

    enumerator: str
    offset: int
    bytes: int
    format: str
    shape: str
    what: str


class WeightTable:
    """The table of constants and the names of its rows.  ``enumerators``: those of the offsets, by
    layer and blob; ``idents``: tensors' names in C."""

    def __init__(
        self, prefix: str, choice: Choice, image: WeightImage, idents: Mapping[str, str]
    ) -> None:
        self._choice, self._image = choice, image
        self.enumerators: dict[tuple[int, str], str] = {}
        taken: set[str] = set()
        for index, blob in image.places:
            output = idents[choice.layers[index].node.output]
            base = f"{prefix}_WT_{output}_{identifier(blob)}".upper()
            text = untaken(base, taken, between="_", first=2)
            taken.add(text)
            self.enumerators[index, blob] = text

    def rows(self) -> list[WeightRow]:
        """In the order of the image."""
        return [self._row(*key, placed) for key, placed in self._image.places.items()]

    def _row(self, index: int, blob: str, placed: PlacedBlob) -> WeightRow:
        layer = self._choice.layers[index]
        node = layer.node
        origin = ", ".join(dict.fromkeys(node.origin)) or node.name
        shape = self._shape(layer, blob) or (placed.blob.elements,)
        return WeightRow(
            self.enumerators[index, blob],
            placed.offset,
            placed.blob.bytes,
            str(placed.blob.format),
            "x".join(map(str, shape)),
            f'{shortened(blob)} of {node.op} "{shortened(origin)}"',
        )

    def _shape(self, layer: Layer, blob: str) -> tuple[int, ...]:
        """The shape of the model's own constants; of tables that a kernel makes, nothing."""
        tensors = self._choice.graph.tensors
        if blob == "filters" and len(layer.node.inputs) > 1:
            return tensors[layer.node.inputs[1]].shape
        return tensors[blob].shape if blob in tensors else ()

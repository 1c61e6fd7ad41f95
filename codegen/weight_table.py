"""The table of constants that the emitted source begins with, and their names in C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv.base.names import shortened, untaken
from edgeconv.codegen.c_names import identifier
from edgeconv.codegen.image_parts import NamedPart
from edgeconv.codegen.weights import PlacedBlob, WeightImage
from edgeconv.ir.choice import Choice, Layer


@dataclass(frozen=True, slots=True)
class WeightRow:
    """One constant: ``offset`` in its part of the image and size in bytes, storage format, shape in
    the model, what it is in words; the ``memory`` of the part."""

    enumerator: str
    offset: int
    bytes: int
    format: str
    shape: str
    what: str
    memory: str


class WeightTable:
    """The table of constants and the names of its rows.  ``enumerators``: those of the offsets, by
    layer and blob; ``idents``: tensors' names in C."""

    def __init__(
        self,
        prefix: str,
        choice: Choice,
        image: WeightImage,
        parts: Sequence[NamedPart],
        idents: Mapping[str, str],
    ) -> None:
        self._choice, self._image, self._parts = choice, image, parts
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

    def address(self, index: int, blob: str) -> str:
        """C expression for the address of a layer's blob at run time."""
        part = self._part(self._image.places[index, blob])
        return f"{part.function}(model, {self.enumerators[index, blob]})"

    def _part(self, placed: PlacedBlob) -> NamedPart:
        return self._parts[self._image.part_of(placed.offset)]

    def _row(self, index: int, blob: str, placed: PlacedBlob) -> WeightRow:
        layer = self._choice.layers[index]
        node = layer.node
        origin = ", ".join(dict.fromkeys(node.origin)) or node.name
        shape = self._shape(layer, blob) or (placed.blob.elements,)
        return WeightRow(
            self.enumerators[index, blob],
            placed.offset - self._part(placed).start,
            placed.blob.bytes,
            str(placed.blob.format),
            "x".join(map(str, shape)),
            f'{shortened(blob)} of {node.op} "{shortened(origin)}"',
            self._part(placed).memory,
        )

    def _shape(self, layer: Layer, blob: str) -> tuple[int, ...]:
        """The shape of the model's own constants; of tables that a kernel makes, nothing."""
        tensors = self._choice.graph.tensors
        if blob == "filters" and len(layer.node.inputs) > 1:
            return tensors[layer.node.inputs[1]].shape
        return tensors[blob].shape if blob in tensors else ()

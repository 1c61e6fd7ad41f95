"""The weight image and the writing of projects."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen import weights
from edgeconv.codegen.image_parts import named_parts
from edgeconv.codegen.source_tree import SourceTree
from edgeconv.ir.choice import Blob, Choice, Layer
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.work import Work
from tests.weight_images import with_flipped


def a_choice(*values: np.ndarray) -> Choice:
    """A choice of one layer per value, each with that blob."""
    layers = tuple(
        Layer(
            node=Node(f"n{i}", "Unary", ("x",), ("y",)),
            algorithm="test",
            template="",
            params={},
            args=(),
            headers=(),
            work=Work(0, 0, 0, 0),
            blobs=(Blob("w", value.size, partial(np.asarray, value), str(value.dtype)),),
        )
        for i, value in enumerate(values)
    )
    return Choice(Graph("g", (), {}, (), ()), layers, "portable", 16)


VALUES = (np.arange(5, dtype=np.float32), np.arange(7, dtype=np.int32), np.ones(33, np.float32))


def image_bytes(
    choice: Choice, order: tuple[int, ...] = (0, 1, 2)
) -> tuple[bytes, weights.WeightImage]:
    image = weights.layout(choice, order)
    out = io.BytesIO()
    weights.write(image, out)
    return out.getvalue(), image


def test_header_crc_and_alignment() -> None:
    data, image = image_bytes(a_choice(*VALUES))
    magic, version, size, layout_hash, crc = struct.unpack_from("<4sIQQI", data)
    assert (magic, version, size) == (b"ECWT", 2, len(data))
    assert layout_hash == image.layout_hash
    assert crc == zlib.crc32(data[:24] + data[28:])
    assert weights.defect_of(data) == ""
    for (index, _), placed in image.places.items():
        assert placed.offset % weights.ALIGN == 0
        stored = np.frombuffer(data, VALUES[index].dtype, VALUES[index].size, placed.offset)
        np.testing.assert_array_equal(stored, VALUES[index])


def test_a_changed_bit_is_noticed_wherever_it_is() -> None:
    """In every byte of the header, of the constants and of the zeros between them."""
    data, _ = image_bytes(a_choice(*VALUES))
    intact = [at for at in range(len(data)) if not weights.defect_of(with_flipped(data, at))]
    assert not intact


@pytest.mark.parametrize("size", [0, 1, 63, 64, -1])
def test_an_image_that_was_cut_off_is_noticed(size: int) -> None:
    data, _ = image_bytes(a_choice(*VALUES))
    assert weights.defect_of(data[:size])
    assert weights.defect_of(data + b"\0")


def test_layout_hash_is_of_places_not_values() -> None:
    _, image = image_bytes(a_choice(*VALUES))
    _, retrained = image_bytes(a_choice(VALUES[0] + 1, VALUES[1], VALUES[2] * 3))
    _, reordered = image_bytes(a_choice(*VALUES), (2, 0, 1))
    assert image.layout_hash == retrained.layout_hash
    assert image.layout_hash != reordered.layout_hash


def of_nodes(*constants: np.ndarray, bias: np.ndarray | None = None) -> Choice:
    """A choice of one layer per constant, which its node reads and packs as it is; with ``bias``
    each has that one beside it."""
    choice = a_choice(*constants)
    tensors, layers = {}, []
    for i, (layer, value) in enumerate(zip(choice.layers, constants, strict=True)):
        tensors[f"c{i}"] = Tensor(f"c{i}", value.shape, str(value.dtype), data=value)
        node = replace(layer.node, inputs=("x", f"c{i}"))
        more = (Blob("bias", bias.size, partial(np.asarray, bias)),) if bias is not None else ()
        layers.append(replace(layer, node=node, blobs=(*layer.blobs, *more)))
    graph = Graph("g", (), tensors, (), ())
    return replace(choice, graph=graph, layers=tuple(layers))


def test_constants_of_unrolled_steps_lie_in_the_image_once() -> None:
    """Copies of the array that the steps read, as an import makes one for every step, and what is
    packed beside it, such as biases of zero that the model does not have."""
    step, other = np.arange(40, dtype=np.float32), np.arange(40, dtype=np.float32) + 1
    choice = of_nodes(step, other, step.copy(), bias=np.zeros(3, np.float32))
    data, image = image_bytes(choice)
    at = {key: placed.offset for key, placed in image.places.items()}
    assert at[0, "w"] == at[2, "w"] != at[1, "w"]
    assert at[0, "bias"] == at[2, "bias"] != at[1, "bias"]
    assert len(data) == weights.HEADER.size + 2 * (3 * weights.ALIGN + weights.ALIGN)
    for index, values in enumerate((step, other, step)):
        stored = np.frombuffer(data, np.float32, 40, at[index, "w"])
        np.testing.assert_array_equal(stored, values)
    _, retrained = image_bytes(of_nodes(step * 2, other * 3, step * 2, bias=np.ones(3, "f")))
    assert retrained.layout_hash == image.layout_hash


def test_what_is_equal_before_training_is_not_shared() -> None:
    """Slopes of one value throughout, in two layers; biases beside filters that differ."""
    slopes = np.full(40, 0.25, np.float32)
    _, image = image_bytes(of_nodes(slopes, slopes.copy()), (0, 1))
    assert image.places[0, "w"].offset != image.places[1, "w"].offset
    filters = np.arange(40, dtype=np.float32)
    _, image = image_bytes(of_nodes(filters, -filters, bias=np.ones(3, np.float32)), (0, 1))
    assert image.places[0, "bias"].offset != image.places[1, "bias"].offset


def test_constants_that_are_replaced_in_place_lie_apart() -> None:
    step = np.arange(40, dtype=np.float32)
    image = weights.layout(of_nodes(step, step), (0, 1), apart=True)
    assert image.places[0, "w"].offset != image.places[1, "w"].offset


def test_wrong_size_is_refused() -> None:
    choice = a_choice(VALUES[0])
    layer = choice.layers[0]
    lying = replace(layer, blobs=(replace(layer.blobs[0], elements=4),))
    with pytest.raises(EdgeconvError, match="wrong size"):
        image_bytes(replace(choice, layers=(lying,)), (0,))


def a_tree(as_c: bool = False) -> SourceTree:
    image = weights.layout(a_choice(*VALUES), (0, 1, 2))
    name = "w.c" if as_c else "w.bin"
    texts, parts = {"report.json": "{}", "a/b.txt": "x\n"}, named_parts("t", image.parts)
    return SourceTree("t", texts, image, name, parts, as_c)


def test_c_image_has_the_same_bytes(tmp_path: Path) -> None:
    a_tree().write(tmp_path / "bin")
    a_tree(as_c=True).write(tmp_path / "c")
    text = (tmp_path / "c" / "w.c").read_text()
    numbers = text.rpartition("= {")[2].partition("}")[0]
    listed = bytes(int(n) for n in numbers.replace("\n", "").split(",") if n)
    assert listed == (tmp_path / "bin" / "w.bin").read_bytes()


def test_foreign_directory_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.mkdir()
    (target / "precious.txt").write_text("x")
    with pytest.raises(EdgeconvError, match="not an edgeconv project"):
        a_tree().write(target)
    assert [p.name for p in target.iterdir()] == ["precious.txt"]


def test_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("edgeconv.codegen.source_tree.write", full)
    with pytest.raises(EdgeconvError, match="No space left"):
        a_tree().write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_constant_of_no_elements_has_a_place() -> None:
    nothing = np.zeros(0, np.float32)
    for values in ((nothing,), (np.ones(3, np.float32), nothing)):
        image = weights.layout(a_choice(*values), range(len(values)))
        assert {image.part_of(placed.offset) for placed in image.places.values()} == {0}

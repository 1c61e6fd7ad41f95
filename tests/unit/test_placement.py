"""``--place``: which memories parts of a network lie in, what is refused, and what it costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.app.deciding import Decision, decide
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.codegen import weights
from edgeconv.codegen.image_parts import named_parts
from edgeconv.codegen.weights import ALIGN, HEADER, ImagePart
from edgeconv.ir.memory import Region
from edgeconv.ir.placement import ANYWHERE, placement_of
from edgeconv.report.placement import placement_notes
from edgeconv.search.memory.placement import require_memories
from edgeconv.search.memory.sizes import Sizes
from edgeconv.search.options import CompileOptions
from edgeconv.target import board as boards
from tests import onnx_models

BOARD = "mps3-an547"  # two memories of flash, four of RAM
FAST = "stm32h743"  # states bandwidths


def decided(model: Path, board: str = BOARD, **places: str) -> Decision:
    return decide(CompileOptions(model, board, places=places))


def by_region(sizes: Sizes, part: str) -> dict[str, int]:
    regions = (*sizes.ram.regions, *sizes.flash.regions)
    return {region.name: size for region in regions if (size := region.parts.get(part))}


def test_nothing_is_placed_without_being_asked(residual_model: Path) -> None:
    plain = decided(residual_model)
    assert plain.choice.placement == ANYWHERE
    assert "placement" not in plain.report


def test_weights_lie_where_they_are_to_lie(residual_model: Path) -> None:
    plain = decided(residual_model)
    layers = [layer.node.name for layer in plain.choice.layers if layer.blobs]
    options = {"weights": "qspi", layers[0]: "DTCM"}
    made = decide(CompileOptions(residual_model, BOARD, places=options))
    image = weights.layout(made.choice, made.memory.order)
    assert [part.memory for part in image.parts] == ["QSPI", "DTCM"]
    apart = image.parts[1].bytes
    assert by_region(made.sizes, "weights") == {
        "DTCM": apart,  # copied to RAM
        "ITCM": apart,  # from beside the code
        "QSPI": image.parts[0].bytes,
    }
    assert made.sizes.flash.total == image.bytes == sum(part.bytes for part in image.parts)
    assert made.sizes.ram.total >= plain.sizes.ram.total + apart
    assert made.report["placement"]["parts"][1]["copied"]
    assert placement_of(made.report["placement"]) == made.choice.placement
    notes = placement_notes(made.choice, made.memory, made.board, image)
    assert notes[1] == f"weights of {layers[0]}: {apart:,} bytes in DTCM, copied there at start"


def test_parts_are_aligned_whole_and_in_order(residual_model: Path) -> None:
    plain = decided(residual_model)
    names = [layer.node.name for layer in plain.choice.layers if layer.blobs]
    options = dict(zip(names, ("DTCM", "QSPI", "DTCM", "ITCM"), strict=False))
    choice = decide(CompileOptions(residual_model, BOARD, places=options)).choice
    image = weights.layout(choice, range(len(choice.layers)))
    assert image.parts[0].start == 0
    assert [each.end for each in image.parts] == [
        *(each.start for each in image.parts[1:]),
        image.bytes,
    ]
    assert all(each.start % ALIGN == 0 for each in image.parts)
    for (index, _), placed in image.places.items():
        part = image.parts[image.part_of(placed.offset)]
        assert part.memory == choice.placement.of_layer(choice.layers[index].node.name)
        assert max(part.start, HEADER.size) <= placed.offset
        assert placed.offset + placed.blob.bytes <= part.end
    plainly = weights.layout(replace(choice, placement=ANYWHERE), range(len(choice.layers)))
    assert plainly.bytes == image.bytes
    assert plainly.layout_hash != image.layout_hash


def test_the_whole_arena_lies_in_the_memory_that_is_named(residual_model: Path) -> None:
    made = decided(residual_model, arena="fpga_sram", io="ISRAM")
    assert by_region(made.sizes, "arena") == {"FPGA SRAM": made.memory.arena_bytes}
    assert by_region(made.sizes, "io") == {"ISRAM": made.sizes.ram.parts["io"]}
    banks = {p.bank for p in made.memory.places.values() if p.region is Region.ARENA and p.bytes}
    assert banks == {2}


@pytest.mark.parametrize("arena", ["", "FPGA SRAM", "ISRAM"])
@pytest.mark.parametrize("io", ["DTCM", "ISRAM"])
def test_ports_of_the_arena_lie_in_the_memory_that_is_named(
    residual_model: Path, arena: str, io: str
) -> None:
    """And nothing else does, but views of them, where the fastest memory holds the rest."""
    places = {"io": io} | ({"arena": arena} if arena else {})
    made = decide(CompileOptions(residual_model, BOARD, io="arena", places=places))
    names = [region.name for region in boards.load(BOARD).ram]
    graph = made.choice.graph
    ports = {*graph.input_ports, *graph.output_ports}
    memories = {name: names[place.bank] for name, place in made.memory.places.items()}
    assert {memories[name] for name in ports} == {io}
    rest = {memory for name, memory in memories.items() if name not in ports}
    assert rest == {arena or names[0]}
    by_memory = by_region(made.sizes, "arena")
    assert by_memory.keys() == {io, arena or names[0]}
    assert sum(by_memory.values()) == made.memory.arena_bytes
    note = f"inputs and outputs: in {by_memory[io]:,} bytes of the arena in {io}"
    assert any(note in each for each in made.notes) == (io != arena)


def test_predictions_are_those_of_the_memory(residual_model: Path) -> None:
    """On a chip without a data cache constants come from where they lie, each time."""
    faster = decided(residual_model, "rp2040", weights="SRAM").predicted
    plain = decided(residual_model, "rp2040").predicted
    assert faster.price < plain.price
    one = next(layer for layer in decided(residual_model, "rp2040").choice.layers if layer.blobs)
    single = decide(CompileOptions(residual_model, "rp2040", places={one.node.name: "SRAM"}))
    assert faster.price < single.predicted.price < plain.price


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"weights": "QSPY"}, "its memories are ITCM .flash, 512 KiB., QSPI .flash, 8.00 MiB."),
        ({"weights": "QSPY"}, "did you mean QSPI"),
        ({"arena": "QSPI"}, "a run writes there, and QSPI is flash; RAM is DTCM"),
        ({"io": "itcm"}, "a run writes there, and ITCM is flash"),
    ],
)
def test_memories_are_those_of_the_board(places: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        require_memories(places, boards.load(BOARD))


def test_an_operating_system_decides_for_itself() -> None:
    with pytest.raises(UsageError, match="operating system.*PREFIX_WEIGHTS_SECTION"):
        require_memories({"weights": "flash"}, boards.load("generic-c"))


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"dense_1": "DTCM"}, "no layer with constants is called so; did you mean dense"),
        ({"d*": "DTCM", "de*": "QSPI"}, "layer depthwise: got DTCM and QSPI"),
    ],
)
def test_layers_are_those_of_the_network(
    residual_model: Path, places: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        decide(CompileOptions(residual_model, BOARD, places=places))


def test_what_does_not_fit_is_refused_with_memories_and_sizes(tmp_path: Path) -> None:
    """And not made to fit by rounding that nobody has asked for."""
    model = onnx_models.save(onnx_models.residual(channels=160), tmp_path / "wide.onnx")
    with pytest.raises(EdgeconvError) as caught:
        decided(model, FAST, weights="ITCM")
    text = str(caught.value)
    assert "--place weights=ITCM on board stm32h743" in text
    assert "ITCM has 65,536; large enough: AXI SRAM (512 KiB)" in text
    large = onnx_models.save(onnx_models.residual(8, 96), tmp_path / "large.onnx")
    with pytest.raises(EdgeconvError, match="arena=SRAM4.*SRAM4 has 65,536"):
        decided(large, FAST, arena="SRAM4")


def test_names_of_parts_in_c_are_distinct() -> None:
    parts = [ImagePart(memory, 64 * n, 64) for n, memory in enumerate(("", "A B", "a-b", "bytes"))]
    named = named_parts("net", parts)
    assert [each.pointer for each in named] == [
        "weights", "weights_a_b", "weights_a_b_2", "weights_bytes_2",
    ]  # fmt: skip
    assert len({each.symbol for each in named}) == len({each.size for each in named}) == 4

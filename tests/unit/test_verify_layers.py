from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, blocked
from edgeconv.kernels.storage import formats
from edgeconv.run.verify.layers import compare_layers, first_difference, tensors_of

SHAPE = (1, 6, 2, 3)
VALUES = np.arange(36, dtype=np.float32).reshape(SHAPE)


def layer(
    name: str,
    output: str,
    layout: Layout,
    shape: tuple[int, ...] = SHAPE,
    storage: str = "float32",
) -> dict[str, Any]:
    return {
        "name": name,
        "op": "Conv",
        "output": output,
        "output_shape": list(shape),
        "output_bytes": formats()[storage].encoding.bytes_of(layout.elements(shape)),
        "storage": {"weights": None, "output": storage},
        "layout_out": str(layout),
    }


def trace(folder: Path, *pieces: np.ndarray[Any, np.dtype[np.float32]]) -> Path:
    path = folder / "layers.bin"
    path.write_bytes(b"".join(piece.tobytes() for piece in pieces))
    return path


def test_layers_are_compared_in_the_order_of_their_values(tmp_path: Path) -> None:
    layouts = [ROW_MAJOR, CHANNELS_LAST, blocked(4), blocked(16)]
    layers = [layer(str(layout), f"t{i}", layout) for i, layout in enumerate(layouts)]
    pieces = [layout.pack(VALUES).astype(np.float32) for layout in layouts]
    reference = {f"t{i}": VALUES for i in range(4)}
    results = compare_layers(layers, trace(tmp_path, *pieces), reference)
    assert [r.difference is not None and r.difference.max_abs for r in results] == [0.0] * 4
    assert first_difference(results, 0.0) is None


def test_results_are_decoded(tmp_path: Path) -> None:
    """Each layer's bytes by its format, which has these numbers."""
    names = ["flyte24", "float32", "flyte16", "flyte8"]
    values = np.where(VALUES % 2, 2.0, -0.5).astype(np.float32)
    layers = [layer(name, name, blocked(4), storage=name) for name in names]
    path = tmp_path / "layers.bin"
    packed = blocked(4).pack(values)
    path.write_bytes(b"".join(formats()[name].encode(packed) for name in names))
    results = compare_layers(layers, path, dict.fromkeys(names, values))
    assert [r.difference is not None and r.difference.max_abs for r in results] == [0.0] * 4


def test_first_layer_that_differs_is_named(tmp_path: Path) -> None:
    layers = [layer(name, name, ROW_MAJOR) for name in ("a", "b", "c")]
    off = VALUES.copy()
    off[0, 3, 1, 2] += 1
    reference = dict.fromkeys("abc", VALUES)
    results = compare_layers(layers, trace(tmp_path, VALUES, off, off), reference)
    first = first_difference(results, 1e-4)
    assert first is not None
    assert first.name == "b"
    assert first.difference is not None
    assert first.difference.worst == (0, 3, 1, 2)


def test_layers_without_counterpart_are_skipped_and_say_why(tmp_path: Path) -> None:
    layers = [layer("gone", "made up", ROW_MAJOR), layer("turned", "t", ROW_MAJOR)]
    reference = {"t": VALUES.reshape(1, 2, 3, 6)}
    results = compare_layers(layers, trace(tmp_path, VALUES, VALUES), reference)
    assert [(r.difference, r.skipped) for r in results] == [(None, "fused"), (None, "reshaped")]


def test_copies_in_another_layout_are_looked_up_by_the_original_name(tmp_path: Path) -> None:
    layers = [
        layer("conv", "y:0:NCHW4c", blocked(4)),
        layer("convert y:0", "y:0", ROW_MAJOR),
    ]
    assert tensors_of(layers) == ("y:0",)
    path = trace(tmp_path, blocked(4).pack(VALUES).astype(np.float32), VALUES)
    results = compare_layers(layers, path, {"y:0": VALUES})
    assert all(r.difference and r.difference.max_abs == 0 for r in results)


def test_trace_of_another_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="wrong length"):
        compare_layers([layer("a", "a", ROW_MAJOR)], trace(tmp_path, VALUES, VALUES), {})


@pytest.mark.parametrize("layout", [ROW_MAJOR, CHANNELS_LAST, blocked(4), blocked(16)])
def test_layouts_are_read_back(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout


@pytest.mark.parametrize("text", ["", "NCHW0c", "NCHWc", "nchw", "NCHW4"])
def test_other_words_are_no_layout(text: str) -> None:
    with pytest.raises(ValueError, match="no layout"):
        Layout.parse(text)

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.run.build.project import Port
from edgeconv.run.verify.inputs import from_npz, seeded, write_tensors

PORTS = (Port("image", (1, 2, 3)), Port("scale", ()))
GOOD = {"image": np.ones((1, 2, 3), np.float32), "scale": np.array(2, np.float32)}


def npz(folder: Path, arrays: dict[str, Any]) -> Path:
    path = folder / "inputs.npz"
    np.savez(path, **arrays)
    return path


def test_seeded_inputs_are_standard_normal_and_always_the_same() -> None:
    first, again = seeded(PORTS), seeded(PORTS)
    rng = np.random.default_rng(0)
    expected = rng.standard_normal((1, 2, 3), dtype=np.float32)
    assert np.array_equal(first["image"], expected)
    assert first["scale"].shape == ()
    assert all(np.array_equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize("prefix", ["", "in:"])
def test_arrays_are_found_by_name(tmp_path: Path, prefix: str) -> None:
    arrays = {f"{prefix}{name}": value for name, value in GOOD.items()}
    arrays["out:y"] = np.zeros(9, np.float32)  # what a model gave elsewhere is no input
    found = from_npz(npz(tmp_path, arrays), PORTS)
    assert list(found) == ["image", "scale"]
    assert np.array_equal(found["image"], GOOD["image"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image": None}, ["no array for input 'image'", "scale"]),
        ({"imagee": GOOD["image"]}, ["no such input", "'imagee'", "did you mean image?"]),
        ({"image": np.ones((1, 3, 2), np.float32)}, ["shape of 'image'", "1x3x2", "1x2x3"]),
        ({"image": np.ones((1, 2, 3))}, ["float64", "reads float32"]),
        ({"scale": np.ones(1, np.float32)}, ["shape of 'scale'", "scalar"]),
        ({"scale": np.array(["x"], object)}, ["not an .npz archive of numbers"]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    tmp_path: Path, change: dict[str, Any], words: list[str]
) -> None:
    arrays = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    path = npz(tmp_path, arrays)
    with pytest.raises(EdgeconvError) as caught:
        from_npz(path, PORTS)
    assert caught.value.code is Exit.USAGE
    assert all(word in str(caught.value) for word in [str(path), *words])


def test_files_that_are_no_archive_are_refused(tmp_path: Path) -> None:
    single = tmp_path / "x.npy"
    np.save(single, GOOD["image"])
    text = tmp_path / "x.npz"
    text.write_text("hello")
    cut = npz(tmp_path, GOOD)
    cut.write_bytes(cut.read_bytes()[:100])
    for path in (single, text, cut, tmp_path / "absent.npz", tmp_path):
        with pytest.raises(EdgeconvError) as caught:
            from_npz(path, PORTS)
        assert caught.value.code is Exit.USAGE
        assert str(path) in str(caught.value)


def test_tensors_are_written_dense_and_in_order(tmp_path: Path) -> None:
    image = np.arange(6, dtype=np.float32).reshape(1, 2, 3).transpose(0, 2, 1)
    ports = [Port("image", (1, 3, 2)), Port("scale", (1,))]
    write_tensors(tmp_path / "x.bin", {"scale": GOOD["scale"], "image": image}, ports)
    assert np.fromfile(tmp_path / "x.bin", "<f4").tolist() == [0, 3, 1, 4, 2, 5, 2]

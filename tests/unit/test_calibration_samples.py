"""Calibration samples: which files are understood, and what is said of those that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.graph import Graph, Tensor
from edgeconv.search.calibration.samples import load, seeded

SHAPES = {"image": (1, 2, 3), "scale": (4,)}


def graph(shapes: dict[str, tuple[int, ...]] = SHAPES) -> Graph:
    tensors = {name: Tensor(name, shape) for name, shape in shapes.items()}
    return Graph("net", (), tensors, tuple(shapes), ())


def values(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def npz(folder: Path, arrays: dict[str, Any]) -> Path:
    path = folder / "samples.npz"
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("shape", [(5, 1, 2, 3), (5, 2, 3)], ids=["leading", "batch"])
@pytest.mark.parametrize("prefix", ["", "in:"])
def test_samples_lie_along_the_first_axis(
    tmp_path: Path, shape: tuple[int, ...], prefix: str
) -> None:
    arrays = {f"{prefix}image": values(*shape), f"{prefix}scale": values(5, 4)}
    arrays |= {"label": np.array([3, 1, 4, 1, 5], np.uint8), "out:y": values(1)}
    found = load(npz(tmp_path, arrays), graph())
    assert len(found) == 5
    assert found.promised
    assert "5 samples in samples.npz" in found.source
    for index, sample in enumerate(found):
        assert np.array_equal(sample["image"], values(5, 1, 2, 3)[index])
        assert np.array_equal(sample["scale"], values(5, 4)[index])
    assert found.labels is not None
    assert found.labels.tolist() == [[3], [1], [4], [1], [5]]


def test_one_sample_needs_no_axis_of_its_own(tmp_path: Path) -> None:
    found = load(npz(tmp_path, {"image": values(1, 2, 3), "scale": values(4)}), graph())
    assert len(found) == 1
    assert found.labels is None


def test_images_of_a_batch_have_a_label_each(tmp_path: Path) -> None:
    arrays = {"image": values(6, 2), "label": np.arange(6)}
    found = load(npz(tmp_path, arrays), graph({"image": (3, 2)}))
    assert len(found) == 2
    assert found.labels is not None
    assert found.labels.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_input_may_be_called_label(tmp_path: Path) -> None:
    found = load(npz(tmp_path, {"label": values(2, 4)}), graph({"label": (4,)}))
    assert found.labels is None
    assert len(found) == 2


GOOD = {"image": values(5, 2, 3), "scale": values(5, 4)}
NAN = GOOD["image"].copy()
NAN[3, 1, 1] = np.nan


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image": None}, ["no array for input 'image'", "scale"]),
        ({"imagee": GOOD["image"]}, ["no such input", "did you mean image?"]),
        ({"image": values(5, 3, 2)}, ["shape of 'image'", "5x3x2", "1x2x3", "first axis"]),
        ({"image": values(0, 2, 3)}, ["no samples of 'image'"]),
        ({"image": GOOD["image"].astype(np.uint8)}, ["uint8", "reads float32"]),
        ({"image": NAN}, ["values of 'image'", "1 infinite values or NaN", "sample 3"]),
        ({"scale": values(4, 4)}, ["different numbers of samples", "5 of 'image'", "4 of 'scale'"]),
        ({"label": np.arange(4)}, ["number of 'label'", "4 labels", "5 images"]),
        ({"label": np.ones(5)}, ["element type of 'label'", "float64"]),
        ({"label": np.arange(-1, 4)}, ["value of 'label'", "-1"]),
    ],
)
def test_samples_that_do_not_fit_are_refused(
    tmp_path: Path, change: dict[str, Any], words: list[str]
) -> None:
    arrays = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    path = npz(tmp_path, arrays)
    with pytest.raises(EdgeconvError) as caught:
        load(path, graph())
    assert caught.value.code is Exit.USAGE
    assert all(word in str(caught.value) for word in [str(path), *words])


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="cannot read the inputs"):
        load(tmp_path / "absent.npz", graph())


def test_without_a_file_nothing_is_promised() -> None:
    found = load(None, graph())
    assert not found.promised
    assert found.labels is None
    again, other = seeded(graph())[0], seeded(graph(), 2)[1]
    first = next(iter(found))
    assert np.array_equal(first["image"], again["image"])
    assert not np.array_equal(first["image"], other["image"])
    rng = np.random.default_rng(0)  # what verify runs
    assert np.array_equal(first["image"], rng.standard_normal((1, 2, 3), dtype=np.float32))


def test_fewer_samples_are_spread_evenly() -> None:
    many = seeded(graph({"x": (1,)}), 10)
    few = many.at_most(4)
    assert [float(s["x"][0]) for s in few] == [float(many[i]["x"][0]) for i in (0, 2, 5, 7)]
    assert many.at_most(10) is many

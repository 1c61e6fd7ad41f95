"""A micro-kernel from files of its own, none of them in the package, is used everywhere."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgeconv.codegen import amalgamate
from edgeconv.kernels.algorithms import planned
from edgeconv.target import micro_kernels, targets
from tests import onnx_models, toy
from tests.command import Command

SCONV = ("--algorithm", "conv=sconv")


def forget() -> None:
    """What was read of the table, and planned with it."""
    for known in (micro_kernels.micro_kernels, micro_kernels.of_isa, targets._by_prefix, planned):
        known.cache_clear()


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Its row and its header are found among those of the package."""
    runtime = tmp_path / "runtime_c"
    shutil.copytree(Path(str(amalgamate.runtime())), runtime)
    shutil.copy(toy.FOLDER / "runtime_c" / "ec_toy.h", runtime / "isa")
    monkeypatch.setattr(amalgamate, "runtime", lambda: runtime)
    found = [*micro_kernels.__path__, str(toy.FOLDER / "micro_kernels")]
    monkeypatch.setattr(micro_kernels, "__path__", found)
    forget()
    yield
    monkeypatch.undo()
    forget()


def model_in(folder: Path) -> Path:
    """Filters and pixels that are no multiples of its tile."""
    return onnx_models.save(onnx_models.convolution(5, 7, (2, 5, 9, 7)), folder / "net.onnx")


def layer_of(report: Any) -> Any:
    (layer,) = (entry for entry in report["layers"] if entry["op"] == "Conv")
    return layer


@pytest.mark.usefixtures("added")
def test_a_network_runs_with_it(edgeconv: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = (model_in(tmp_path), "--board", "generic-c", *SCONV)
    edgeconv.ok("compile", *asked, "-o", out, "--build", "--verify")
    assert ".micro_kernel = EC_ROW_TOY" in (out / "net.c").read_text()
    assert "ROW(f32, F32) ROW(toy, TOY)" in (out / "net_runtime.h").read_text()


def test_it_is_priced_and_explained(
    edgeconv: Command, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    command = ("explain", model_in(tmp_path), "--board", "raspberry-pi-4", *SCONV, "--json")
    usual = layer_of(edgeconv.ok(*command).json())
    request.getfixturevalue("added")
    faster = layer_of(edgeconv.ok(*command).json())
    assert (usual["plan"]["n_f"], faster["plan"]["n_f"]) == (8, 5)
    assert faster["predicted_ms"] < usual["predicted_ms"]


def test_two_rows_of_a_name_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(
        "from edgeconv.target.micro_kernels.base import Lies, MicroKernel\n"
        "MICRO_KERNELS = (MicroKernel('avx2', 'f32', Lies.PACKED, (), 1),)\n"
    )
    monkeypatch.setattr(micro_kernels, "__path__", [*micro_kernels.__path__, str(tmp_path)])
    forget()
    with pytest.raises(ValueError, match="avx2 f32"):
        micro_kernels.micro_kernels()
    monkeypatch.undo()
    forget()

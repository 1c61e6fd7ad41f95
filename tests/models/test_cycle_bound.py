"""The bound in cycles of a firmware, beside what QEMU executes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from counting.firmware import layers_counted

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.app.updating import update_weights
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.project import Project
from tests import onnx_models, quantised_models, state_models
from tests.bounded_images import beyond, counted, followed
from tests.tools import available

BETWEEN = 100  # cycles before, between and behind layers that may count for either


NETWORKS: Mapping[str, Callable[[], onnx.ModelProto]] = {
    "float32": lambda: onnx_models.residual(4, 7),
    "int8": lambda: quantised_models.deep(3, 8),
    "small": lambda: quantised_models.deep(2, 4),
}
CASES = [
    ("mps2-an386", "float32"),
    ("mps2-an386", "int8"),
    ("mps2-an385", "int8"),
    pytest.param("mps2-an505", "float32", marks=pytest.mark.slow),
    pytest.param("microbit", "small", marks=pytest.mark.slow),  # seconds: its products are paths
]
MOST = 1.4  # of what is predicted, on a Cortex-M4
# Executed on the longest path: branches on data that the inputs do not take.
MOST_EXECUTED = 1.25


def options(kind: str, name: str, folder: Path) -> CompileOptions:
    available(name)
    path = onnx_models.save(NETWORKS[kind](), folder / "net.onnx")
    return CompileOptions(path, name, name="net", bound_cycles=True)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_no_instruction_is_executed_more_often(name: str, kind: str, tmp_path: Path) -> None:
    asked = options(kind, name, tmp_path)
    project, _ = pipeline.compile_model(asked, tmp_path / "net", build=True)
    machine, found = followed(project), counted(project, tmp_path)
    assert len(found) > 200
    assert not beyond(machine, found)
    executed = sum(found.values())
    assert executed <= machine.executed <= MOST_EXECUTED * executed
    time = project.report["time"]
    assert machine.executed < time["cycles_max"]
    if name == "mps2-an386":
        clock = project.board().clock_hz or 0
        assert time["cycles_max"] <= MOST * time["predicted_ms"] * clock / 1e3
    total = sum(layer["cycles_max"] or 0 for layer in project.report["layers"])
    assert 0.99 * time["cycles_max"] <= total <= time["cycles_max"]
    assert f"#define NET_CYCLES_MAX {time['cycles_max']}u" in (tmp_path / "net/net.h").read_text()


def test_a_run_in_steps_is_bounded_as_a_whole(tmp_path: Path) -> None:
    asked = replace(options("small", "mps2-an386", tmp_path), resumable=True)
    project, _ = pipeline.compile_model(asked, tmp_path / "net", build=True)
    machine, found = followed(project), counted(project, tmp_path)
    assert not beyond(machine, found)
    executed = sum(found.values())
    assert executed <= machine.executed <= MOST_EXECUTED * executed
    assert machine.executed < project.report["time"]["cycles_max"]


@pytest.mark.parametrize("apart", [False, True])
def test_networks_with_states_are_bounded(apart: bool, tmp_path: Path) -> None:
    """The states lie first in the arena, or in bytes of their own."""
    available("mps2-an386")
    network = state_models.quantised(4)
    path = network.saved(tmp_path)
    asked = CompileOptions(
        path,
        "mps2-an386",
        name="net",
        states=network.states,
        states_apart=apart,
        bound_cycles=True,
    )
    project, _ = pipeline.compile_model(asked, tmp_path / "net", build=True)
    machine, found = followed(project), counted(project, tmp_path)
    assert not beyond(machine, found)
    executed = sum(found.values())
    assert executed <= machine.executed <= MOST_EXECUTED * executed
    assert machine.executed < project.report["time"]["cycles_max"]


@pytest.mark.parametrize(("name", "kind"), [("mps2-an386", "int8")])
def test_layers_take_no_fewer_cycles_than_qemu_counts(name: str, kind: str, tmp_path: Path) -> None:
    """By the plugin's table of the Cortex-M4, in an image that tells layers apart."""
    asked = options(kind, name, tmp_path)
    project, _ = pipeline.compile_model(asked, tmp_path / "net", build=True)
    decided = pipeline.decide(asked)
    layers = layers_counted(decided.choice, decided.memory, project.board())
    bounds = [layer["cycles_max"] or 0 for layer in project.report["layers"]]
    assert sum(layer.cycles for layer in layers) <= project.report["time"]["cycles_max"]
    for most, layer in zip(bounds, layers, strict=True):
        assert layer.cycles <= most + BETWEEN


def test_a_loop_that_is_longer_is_noticed(tmp_path: Path) -> None:
    """The bound of a program that computes fewer rows lies below what the whole one executes."""
    asked = options("int8", "mps2-an386", tmp_path)
    project, _ = pipeline.compile_model(asked, tmp_path / "net", build=True)
    found = counted(project, tmp_path)
    whole = followed(project)
    source = tmp_path / "net/net.c"
    text, count = re.subn(r", 0, 8\);", ", 0, 7);", source.read_text())
    assert count
    source.write_text(text)
    short = followed(project)
    assert not beyond(whole, found)
    assert beyond(short, found)
    assert short.executed < sum(found.values()) <= whole.executed
    assert short.total < whole.total


def test_new_weights_have_a_bound_of_their_own(tmp_path: Path) -> None:
    """The same code without branches on weights: the same bound, found again of the new image."""
    asked = options("float32", "mps2-an386", tmp_path)
    net, image = tmp_path / "net", tmp_path / "image.bin"
    old = pipeline.compile_model(asked, net, build=True)[0].report
    anew = replace(asked, model=onnx_models.trained_anew(asked.model, tmp_path / "new.onnx"))
    new = update_weights(net, anew).report
    assert new["time"]["cycles_max"] == old["time"]["cycles_max"]
    assert new["program"]["weights_crc32"] != old["program"]["weights_crc32"]
    header = (net / "net.h").read_text()
    assert header.count(f"#define NET_CYCLES_MAX {new['time']['cycles_max']}u") == 1
    assert update_weights(net, asked, output=image).path == image

    image.unlink()
    less = {**new, "time": {**new["time"], "cycles_max": new["time"]["cycles_max"] - 1}}
    Project.open(net).write_report(less)
    with pytest.raises(EdgeconvError, match="cycles at most with the new ones"):
        update_weights(net, asked, output=image)
    assert not image.exists()

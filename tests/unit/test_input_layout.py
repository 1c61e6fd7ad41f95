"""``--input-layout any``: what the header, the report and the files of a program say of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.codegen.ports import Port
from edgeconv.ir.graph import Tensor
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, blocked
from edgeconv.ir.ports import PortFacts
from edgeconv.run.build.project import Project
from tests import onnx_models
from tests.command import Command

BOARD = "x86-64-v3"  # blocks of 8
ANY = ("--input-layout", "any")


@pytest.mark.parametrize("layout", [ROW_MAJOR, CHANNELS_LAST, blocked(4)], ids=str)
@pytest.mark.parametrize("shape", [(2, 8, 3, 5), (1, 4, 2, 3, 5), (1, 4, 2, 1, 3, 2)], ids=len)
def test_the_index_of_an_element(shape: tuple[int, ...], layout: Layout) -> None:
    tensor = Tensor("x", shape, layout=layout)
    port = Port(tensor, "x", "NET_X", None, "", "", PortFacts(None, "", 0.0), any_layout=True)
    numbers, macros = dict(port.enumerators()), dict(port.macros())
    assert macros["LAYOUT"] == f'"{layout}"'
    (head,) = (suffix for suffix in macros if suffix.startswith("AT("))
    assert port.index_macro == f"NET_X_{head}"
    names = head.removeprefix("AT(").removesuffix(")").split(", ")
    index = macros[head].replace("(size_t)", "").replace("/", "//")
    memory = layout.pack(np.arange(tensor.size).reshape(shape)).reshape(-1)
    strides = [numbers[f"STRIDE_{i}"] for i in range(len(shape))]
    for at, each in enumerate(np.ndindex(*shape)):
        place = eval(index, {}, dict(zip(names, each, strict=True)))
        assert memory[place] == at
        terms = (i * s for d, (i, s) in enumerate(zip(each, strides, strict=True)) if d != 1)
        block, within = divmod(each[1], numbers["BLOCK"])
        assert place == sum(terms) + block * strides[1] + within


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A convolution of tensors without padding in blocks of 8, whose result is also clipped."""
    model = onnx_models.convolution(16, 24, (1, 16, 9, 7))
    model.graph.node.append(helper.make_node("Relu", ["y"], ["z"], name="relu"))
    model.graph.output.append(helper.make_tensor_value_info("z", 1, None))
    return onnx_models.save(model, tmp_path / "net.onnx")


@pytest.mark.parametrize("io", ["caller", "arena"])
@pytest.mark.usefixtures("unoptimised")
def test_a_program_of_blocks(edgeconv: Command, wide: Path, tmp_path: Path, io: str) -> None:
    out = tmp_path / "out"
    edgeconv.ok("compile", wide, "--board", BOARD, "-o", out, *ANY, "--io", io, "--selftest")
    report = json.loads((out / "report.json").read_text())
    ports = [*report["inputs"], *report["outputs"]]
    assert [port.get("layout") for port in ports] == ["NCHW8c"] * 3
    assert not any(layer["op"] == "Convert" for layer in report["layers"])
    assert report["program"]["input_layout"] == "any"
    assert "--input-layout any" in report["program"]["command"]
    assert '#define NET_INPUT_X_LAYOUT "NCHW8c"' in (out / "net.h").read_text()
    edgeconv.ok("verify", out, "--layers")
    edgeconv.ok("update-weights", out, wide)


@pytest.mark.usefixtures("unoptimised")
def test_filters_and_results_in_fewer_bits(edgeconv: Command, wide: Path, tmp_path: Path) -> None:
    """What the image holds is read with the layouts of the project; one output is the input."""
    model = onnx.load(wide)
    model.graph.output.append(model.graph.input[0])
    onnx.save(model, wide)
    out = tmp_path / "out"
    storage = ("--storage", "*=flyte16", "--storage", "*:output=flyte24")
    edgeconv.ok("compile", wide, "--board", BOARD, "-o", out, *ANY, *storage)
    assert "NCHW8c" in {port.get("layout") for port in Project.open(out).report["outputs"]}
    edgeconv.ok("verify", out)


def test_the_readme_names_a_macro_that_there_is(edgeconv: Command, tmp_path: Path) -> None:
    """The first input is no image."""
    model = onnx_models.convolution(16, 24, (1, 16, 9, 7))
    model.graph.input.insert(0, helper.make_tensor_value_info("row", 1, (1, 5)))
    model.graph.node.append(helper.make_node("Relu", ["row"], ["positive"]))
    model.graph.output.append(helper.make_tensor_value_info("positive", 1, None))
    net, out = onnx_models.save(model, tmp_path / "net.onnx"), tmp_path / "out"
    edgeconv.ok("compile", net, "--board", BOARD, "-o", out, *ANY)
    assert "`NET_INPUT_X_AT(n, c, y, x)`" in (out / "README.md").read_text()
    assert "#define NET_INPUT_X_AT(n, c, y, x)" in (out / "net.h").read_text()


def test_without_it_nothing_changes(edgeconv: Command, wide: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    edgeconv.ok("compile", wide, "--board", BOARD, "-o", out)
    report = json.loads((out / "report.json").read_text())
    assert not any("layout" in port for port in (*report["inputs"], *report["outputs"]))
    header = (out / "net.h").read_text()
    assert "_LAYOUT" not in header.replace("_WEIGHTS_LAYOUT", "")


@pytest.mark.parametrize("layout", ["NCHW5c", "NHWC16c", 3])
def test_a_damaged_report(edgeconv: Command, wide: Path, tmp_path: Path, layout: str | int) -> None:
    out = tmp_path / "out"
    edgeconv.ok("compile", wide, "--board", BOARD, "-o", out, *ANY)
    report = json.loads((out / "report.json").read_text())
    report["inputs"][0]["layout"] = layout
    (out / "report.json").write_text(json.dumps(report))
    done = edgeconv("verify", out)
    assert (done.status, "$.inputs[0].layout" in done.stderr) == (2, True)

"""--rename: what the C API calls inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.codegen.port_names import port_names
from tests.command import BOARD, Command

pytestmark = pytest.mark.usefixtures("unoptimised")

INPUTS, OUTPUTS = ("serving_default_x:0", "mask"), ("StatefulPartitionedCall:0", "mask", "p=1")


def test_names_of_their_own() -> None:
    inputs, outputs, _ = port_names(INPUTS, OUTPUTS, {})
    assert inputs == {"serving_default_x:0": "x", "mask": "mask"}
    assert list(outputs.values()) == ["statefulpartitionedcall", "mask", "p_1"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("serving_default_keras_tensor_0:0", "keras_tensor_0"),
        ("serving_default_images", "images"),
        ("image:0", "image"),
        ("call:1", "call_1"),
        ("serving_default_", "serving_default"),
        (":0", "n0"),
        ("x:0:0", "x_0"),
    ],
)
def test_what_tensorflow_adds_is_left_out(name: str, found: str) -> None:
    assert port_names([name], [], {})[0] == {name: found}


def test_names_that_are_one_without_it_are_numbered() -> None:
    names = ["x", "x:0", "serving_default_x:0"]
    assert list(port_names(names, [], {})[0].values()) == ["x", "x_2", "x_3"]


@pytest.mark.parametrize(
    "old", ["StatefulPartitionedCall:0", "statefulpartitionedcall", "statefulpartitionedcall_0"]
)
def test_a_name_is_the_model_s_or_c_s(old: str) -> None:
    """Or the one in C with all that is in the model."""
    inputs, outputs, _ = port_names(INPUTS, OUTPUTS, {old: "scores"})
    assert outputs[OUTPUTS[0]] == "scores"
    assert inputs == port_names(INPUTS, OUTPUTS, {})[0]


def test_inputs_and_outputs_of_one_name_are_renamed_together() -> None:
    inputs, outputs, _ = port_names(INPUTS, OUTPUTS, {"mask": "valid"})
    assert inputs["mask"] == outputs["mask"] == "valid"


def test_a_new_name_goes_before_those_that_follow_from_the_model() -> None:
    _, outputs, _ = port_names(INPUTS, OUTPUTS, {"p=1": "mask"})
    assert outputs == {OUTPUTS[0]: "statefulpartitionedcall", "mask": "mask_2", "p=1": "mask"}


@pytest.mark.parametrize(
    ("renames", "words"),
    [
        ({"maks": "valid"}, ["'maks'", "did you mean mask"]),
        ({"mask": "Valid"}, ["'Valid'", "'valid' would do"]),
        ({"mask": "1st"}, ["'n1st' would do"]),
        ({"mask": "float"}, ["'float_' would do"]),
        ({"p=1": "a", OUTPUTS[0]: "a"}, ["cannot both have this name"]),
        ({"p=1": "a", "p_1": "b"}, ["'p=1' is 'a' already"]),
    ],
)
def test_renames_that_cannot_be(renames: dict[str, str], words: list[str]) -> None:
    with pytest.raises(EdgeconvError) as caught:
        port_names(INPUTS, OUTPUTS, renames)
    assert caught.value.code is Exit.USAGE
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("io", ["caller", "arena"])
def test_renamed_program_is_built_and_compared(
    edgeconv: Command, residual_model: Path, io: str
) -> None:
    out = residual_model.parent / "out"
    renames = ("--rename", "image=camera", "--rename", "p=probabilities")
    options = ("--board", BOARD, "-o", out, "--io", io, *renames)
    report = edgeconv.ok("compile", residual_model, *options, "--verify", "--json").json()
    assert [port["name"] for port in report["inputs"]] == ["image"]
    assert report["program"]["renames"] == {"image": "camera", "p": "probabilities"}
    header = (out / "net.h").read_text()
    assert "NET_INPUT_CAMERA_ELEMENTS" in header
    assert "output_probabilities" in header
    assert "output_features" in header
    assert "output_p," not in header
    assert '"p"' in header, "what it is in the model"
    assert " ".join(renames) in header

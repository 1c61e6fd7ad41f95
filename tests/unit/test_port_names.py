"""--rename: what the C API calls inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.codegen.port_names import port_names
from edgeconv.errors import EdgeconvError, Exit
from tests.command import BOARD, Command

pytestmark = pytest.mark.usefixtures("compiled_lightly")

INPUTS, OUTPUTS = ("serving_default_x:0", "mask"), ("StatefulPartitionedCall:0", "mask", "p=1")


def test_names_of_their_own() -> None:
    inputs, outputs = port_names(INPUTS, OUTPUTS, {})
    assert inputs == {"serving_default_x:0": "serving_default_x_0", "mask": "mask"}
    assert list(outputs.values()) == ["statefulpartitionedcall_0", "mask", "p_1"]


@pytest.mark.parametrize("old", ["StatefulPartitionedCall:0", "statefulpartitionedcall_0"])
def test_a_name_is_the_model_s_or_c_s(old: str) -> None:
    inputs, outputs = port_names(INPUTS, OUTPUTS, {old: "scores"})
    assert outputs[OUTPUTS[0]] == "scores"
    assert inputs == port_names(INPUTS, OUTPUTS, {})[0]


def test_inputs_and_outputs_of_one_name_are_renamed_together() -> None:
    inputs, outputs = port_names(INPUTS, OUTPUTS, {"mask": "valid"})
    assert inputs["mask"] == outputs["mask"] == "valid"


def test_a_new_name_goes_before_those_that_follow_from_the_model() -> None:
    _, outputs = port_names(INPUTS, OUTPUTS, {"p=1": "mask"})
    assert outputs == {OUTPUTS[0]: "statefulpartitionedcall_0", "mask": "mask_2", "p=1": "mask"}


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

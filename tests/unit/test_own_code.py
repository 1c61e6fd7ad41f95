"""The user's part of the firmware: a file that is written once, and built with ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import onnx_models
from tests.command import Command
from tests.tools import available

FLASHED, EMULATED = "stm32h743", "mps2-an500"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")


def test_code_of_the_user_is_written_once(edgeconv: Command, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    compile_it = ("compile", model, "-o", out, "--board")
    edgeconv.ok(*compile_it, FLASHED)
    template = (out / "app.c").read_text()
    assert "int app_sense(float *input_image)" in template
    assert "int app_act(const float *output_features, const float *output_p)" in template
    (out / "app.c").write_text(mine := template.replace("return 0;", "return 7; /* mine */"))
    for options in ([FLASHED], [EMULATED, "--name", "eyes"], ["generic-c"], [FLASHED]):
        assert edgeconv.ok(*compile_it, *options).stderr == ""
        assert (out / "app.c").read_text() == mine
    assert "return app_sense(net_input_image);" in (out / "main.c").read_text()
    (out / "app.c").unlink()
    edgeconv.ok(*compile_it, FLASHED)
    assert (out / "app.c").read_text() == template


def test_arena_holds_what_the_code_gets(edgeconv: Command, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    edgeconv.ok("compile", model, "-o", out, "--board", FLASHED, "--io", "arena")
    assert "return app_sense(net_input_image(net_arena" in (out / "main.c").read_text()


def test_code_of_the_user_is_built_but_not_verified(
    edgeconv: Command, model: Path, tmp_path: Path
) -> None:
    available(EMULATED)
    out = tmp_path / "out"
    compile_it = ("compile", model, "-o", out, "--board", EMULATED, "--build")
    edgeconv.ok(*compile_it)
    without = (out / "build" / "net.bin").read_bytes()
    text = (out / "app.c").read_text()
    (out / "app.c").write_text(text.replace("return 0;", "return (int)0x12345678;"))
    edgeconv.ok(*compile_it)
    image = (out / "build" / "net.bin").read_bytes()
    assert b"\x78\x56\x34\x12" in image, "the constant of the user's code"
    assert b"\x78\x56\x34\x12" not in without
    (out / "app.c").write_text("#include <vendor_hal_that_is_elsewhere.h>\n")
    before = (out / "build" / "net.bin").read_bytes()
    done = edgeconv(*compile_it)
    assert done.status == 1
    assert "app.c does not compile" in done.stderr
    assert (out / "build" / "net.bin").read_bytes() == before
    edgeconv.ok("verify", out, "--layers")


def test_code_that_the_user_has_not_written_follows_the_network(
    edgeconv: Command, model: Path, tmp_path: Path
) -> None:
    """Other options give the network other inputs, for which the template is written anew."""
    available(EMULATED)
    out = tmp_path / "out"
    compile_it = ("compile", model, "-o", out, "--board", EMULATED)
    edgeconv.ok(*compile_it)
    template = (out / "app.c").read_text()
    assert "int app_sense(float *input_image)" in template
    edgeconv.ok(*compile_it, "--rename", "image=frame", "--build")
    assert "int app_sense(float *input_frame)" in (out / "app.c").read_text()
    edgeconv.ok("compile", model, "-o", out, "--board", "generic-c")
    assert not (out / "app.c").exists()
    (out / "app.c").write_text(template.replace("float *input_image", "int *input_image"))
    done = edgeconv(*compile_it, "--build")
    assert done.status == 1
    assert "app.c is yours, and stays as it is" in done.stderr
    assert "int *input_image" in (out / "app.c").read_text()

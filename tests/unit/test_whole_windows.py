"""Programs of int8 whose first layer packs whole windows: the header that it comes in."""

from __future__ import annotations

import re
from pathlib import Path

from edgeconv.app.pipeline import CompileOptions, compile_model
from tests import onnx_models
from tests.quantised_models import Network


def test_a_program_has_the_header_of_whole_windows(tmp_path: Path) -> None:
    """Pruned and put into one text, whose conditions still end where they begin."""
    net = Network()
    image = net.dequantise("x", 1 / 32, 0)
    strides = {"strides": [2, 2], "pads": [3, 3, 3, 3]}
    y = net.node("Conv", [image, net.filters("w", (16, 3, 7, 7))], "y", **strides)
    q = net.quantise(y, 1 / 8, 0)
    model = net.model({"x": ("int8", (1, 3, 32, 32))}, {q: ("int8", (1, 16, 16, 16))})
    path = onnx_models.save(model, tmp_path / "net.onnx")
    compile_model(CompileOptions(path, "raspberry-pi-5"), tmp_path / "net")
    text = (tmp_path / "net" / "net_runtime.h").read_text()
    assert "ec_pack_windows(" in text
    begun = re.findall(r"^#if", text, re.MULTILINE)
    assert len(begun) == len(re.findall(r"^#endif", text, re.MULTILINE)) > 0

"""Arrays of mapped files, and what compiling a large network takes of memory."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path

import numpy as np
from onnx import helper

from edgeconv.base.mapped_file import maps_behind, release_pages
from edgeconv.base.wire_format import map_file
from tests import onnx_models

MIB = 1 << 20
OUTPUTS = 2000
# Peaks of the process in KiB: of a small network, then of one with many weights.  What `getrusage`
# tells counts the process that it was forked from too.
PEAKS = """
import re, sys
from pathlib import Path
from edgeconv.app.pipeline import CompileOptions, compile_model
for model in sys.argv[1:]:
    compile_model(CompileOptions(Path(model), "raspberry-pi-4"), Path(model).with_suffix(""))
    print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def test_pages_that_were_let_go_are_read_again(tmp_path: Path) -> None:
    values = np.arange(20_000, dtype=np.float32)
    values.tofile(tmp_path / "values")
    content = map_file(tmp_path / "values")
    views = [np.frombuffer(content, np.float32, 5000, at).reshape(50, -1) for at in (0, 4000)]
    found = maps_behind([views[0][1:], values, views[1]])
    assert [type(each) for each in found] == [mmap.mmap]
    release_pages(found)
    np.testing.assert_array_equal(views[1].reshape(-1), values[1000:6000])
    assert maps_behind([values, values.reshape(2, -1)]) == ()


def with_weights(path: Path, side: int) -> Path:
    """Two convolutions that Winograd's algorithm may compute, averages, and a dense layer of
    ``side`` x ``side`` means by `OUTPUTS` results."""
    random = np.random.default_rng(3)
    constants = {
        f"w{i}": (random.standard_normal((16, 16, 3, 3), np.float32) / 12) for i in range(2)
    }
    inputs = 16 * side * side
    constants["dense"] = random.standard_normal((OUTPUTS, inputs), np.float32) / inputs
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("Conv", ["r", "w1"], ["b"], pads=[1] * 4),
        helper.make_node("Flatten", ["b"], ["f"]),
        helper.make_node("Gemm", ["f", "dense"], ["y"], transB=1),
    ]
    shapes = {"x": (1, 16, side, side)}, {"y": (1, OUTPUTS)}
    return onnx_models.save(onnx_models.model(nodes, *shapes, constants), path)


def test_compiling_needs_no_more_memory_than_the_weights_and_half_of_them(tmp_path: Path) -> None:
    """Measuring Winograd's algorithm and packing included: they lie in the mapped file."""
    small, large = (with_weights(tmp_path / f"net{side}.onnx", side) for side in (8, 24))
    size = large.stat().st_size
    assert size > 70 * MIB
    done = subprocess.run(
        [sys.executable, "-c", PEAKS, small, large], capture_output=True, text=True, check=True
    )
    base, peak = (1024 * int(line) for line in done.stdout.split())
    assert peak - base < 1.5 * size, (base // MIB, peak // MIB)
    image = tmp_path / "net24" / "net24_weights.bin"
    assert image.stat().st_size > size

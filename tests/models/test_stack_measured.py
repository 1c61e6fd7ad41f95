"""The bound on the stack against what programs were seen to take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.run.build import compile_project, run_binary
from edgeconv.run.build.stack import C_LIBRARY, stack_bound
from tests import onnx_models, quantised_models
from tests.painted_stack import MEASURE, high_water, static
from tests.tools import available

HOSTED = ("host", "generic-c", "odroid-xu3", "jetson-tx1", "power10-s1024")
FIRMWARE = ("mps2-an386", "mps2-an500", "mps3-an547", "microbit", "generic-riscv32")


@pytest.mark.parametrize("name", HOSTED)
def test_a_network_takes_no_more_and_at_least_half(name: str, tmp_path: Path) -> None:
    available(name)
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    project, _ = compile_model(CompileOptions(model, name), tmp_path / "net")
    binary = project.build()
    network = binary.objects[project.sources[0]]
    frames = [network.with_suffix(".su")]
    measured = high_water(project, binary)
    for function, taken in measured.items():
        assert taken <= stack_bound(network, [function], usage=frames).bytes
    whole = stack_bound(network, tuple(measured), usage=frames)
    assert whole.bytes <= 2 * max(measured.values())


@pytest.mark.parametrize("integers", [False, True], ids=["float32", "int8"])
@pytest.mark.parametrize("name", FIRMWARE)
def test_firmware_takes_no_more_and_at_least_half(
    name: str, integers: bool, tmp_path: Path
) -> None:
    board = available(name)
    made = quantised_models.tiny()[0] if integers else onnx_models.residual()
    model = onnx_models.save(made, tmp_path / "net.onnx")
    project, _ = compile_model(CompileOptions(model, name), tmp_path / "net")
    binary = project.build(run_here=True)
    project.input_file.write_bytes(bytes(1 << 16))
    done = run_binary(binary.path, board, cwd=project.directory, timeout=60)
    match = re.search(r"stack (\d+)", done.stdout + done.stderr)
    assert match
    frames = [path.with_suffix(".su") for path in binary.objects.values()]
    found = stack_bound(
        binary.path, ["firmware_start"], usage=[f for f in frames if f.exists()], externals={}
    )
    assert int(match[1]) <= found.bytes <= 2 * int(match[1])


@pytest.mark.parametrize("name", HOSTED)
def test_functions_of_the_c_library_take_what_is_said(name: str, tmp_path: Path) -> None:
    board = available(name)
    calls = {
        "memcpy": "memcpy(to, from, n) != to",
        "memmove": "memmove(to, to + 5, n) != to",
        "memset": "memset(to, n, n) != to",
        "memcmp": "memcmp(to, to, n)",
    }
    assert calls.keys() == C_LIBRARY.keys()
    text = MEASURE + "static char to[9000], from[9000];\n"
    for function, call in calls.items():
        text += f"__attribute__((noinline)) static int m_{function}(volatile size_t n)\n"
        text += f"{{ MEASURE({call}) }}\n"
    text += "int main(void) {\n    static const size_t sizes[] = {0, 1, 7, 31, 64, 300, 8000};\n"
    text += "    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)\n"
    text += '        printf("%d %d %d %d\\n"'
    text += "".join(f", m_{function}(sizes[i])" for function in calls) + ");\n    return 0;\n}\n"
    (tmp_path / "main.c").write_text(text)
    binary = compile_project(
        tmp_path, board, sources=["main.c"], out=tmp_path / "main", extra_flags=static(board)
    )
    done = run_binary(binary.path, board, timeout=60)
    taken = [int(word) for word in done.stdout.split()]
    assert len(taken) == 7 * len(calls)
    assert min(taken) >= 0
    assert max(taken) <= min(C_LIBRARY.values())

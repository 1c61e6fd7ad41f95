"""Names that no network may have in what is emitted: headers, targets and libraries of others."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from edgeconv.codegen.c_names import prefix
from edgeconv.codegen.reserved_names import is_reserved
from edgeconv.kernels import headers
from edgeconv.search.options import CompileOptions
from edgeconv.target import board as boards
from tests.command import BOARD, Command

ROOT = Path(__file__).resolve().parents[2]
# One board for each compiler, and for each instruction set with a header of its own.
READING = ("host", "x86-64-v3", "raspberry-pi-4", "odroid-xu3", "power10-s1024", "mps3-an547")
SUFFIX = ".h"


def includes() -> list[str]:
    """The headers of C and of compilers that kernels and emitted programs ask for."""
    found: set[str] = set()
    for folder in (*headers.folders(), ROOT / "codegen" / "templates"):
        for path in (*folder.rglob("*.h"), *folder.rglob("*.j2")):
            found.update(re.findall(r"^\s*#\s*include <([^>]+)>", path.read_text(), re.MULTILINE))
    return sorted(found)


def read_by(board: str, source: Path) -> list[str]:
    """Every header that ``#include <NAME>`` finds for a compiler of ``board``, by NAME, in the
    folders that are searched: those below belong to the C library and are asked for by folder."""
    loaded = boards.load(board)
    command = loaded.toolchain.cc[0].split()
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    flags = ["-ffreestanding"] * loaded.bare_metal
    run = [*command, *loaded.flags, *flags, "-M", str(source)]
    done = subprocess.run(run, check=True, capture_output=True, text=True, timeout=60)
    verbose = [*command, "-E", "-v", "-xc", "/dev/null"]
    said = subprocess.run(verbose, check=True, capture_output=True, text=True, timeout=60).stderr
    folders = said.partition("<...> search starts here:")[2].partition("End of search")[0].split()
    searched = {Path(folder).resolve() for folder in folders}
    paths = {Path(word).resolve() for word in done.stdout.split() if word.endswith(SUFFIX)}
    return sorted(path.name for path in paths if path.parent in searched)


@pytest.mark.parametrize("board", READING)
def test_no_header_that_is_read_is_a_network_s(board: str, tmp_path: Path) -> None:
    """Also those that headers include."""
    source = tmp_path / "all.c"
    asked = (f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in includes()
             if not re.search(r"intrin|arm_|altivec", name))  # fmt: skip
    of_isa = (
        "#ifdef __x86_64__\n#include <immintrin.h>\n#endif\n"
        "#ifdef __arm__\n#include <arm_acle.h>\n#endif\n"
        "#ifdef __ARM_NEON\n#include <arm_neon.h>\n#endif\n"
        "#ifdef __ARM_FEATURE_MVE\n#include <arm_mve.h>\n#endif\n"
        "#ifdef __powerpc__\n#include <altivec.h>\n#endif\n"
    )
    source.write_text("".join(asked) + of_isa)
    found = read_by(board, source)
    assert "stdint.h" in found
    names = [name.removesuffix(SUFFIX) for name in found]
    possible = [name for name in names if re.fullmatch(r"[a-z][a-z0-9_]*", name)]
    assert [name for name in possible if not is_reserved(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        *("math", "time", "stdio", "string", "float", "limits", "stdint", "stddef", "stdckdint"),
        *("unistd", "regex", "poll", "features", "memory", "endian", "immintrin", "avx2intrin"),
        *("arm_neon", "altivec", "arduino", "zephyr", "main", "Firmware", "startup", "app"),
        *("test", "all", "clean", "m", "c", "pthread", "sem", "atomic", "mtx", "ec", "ec_gemm"),
        *("int", "typeof", "concept", "nullptr"),
    ],
)
def test_a_prefix_is_nothing_else(name: str) -> None:
    """A board that is called so in the model's file, or by ``--name``."""
    assert prefix(name) == f"{name.lower()}_"
    assert prefix(f"{name} 2") == f"{name.lower()}_2{'_' * name.startswith('ec')}"
    assert CompileOptions(Path(f"{name}.onnx"), BOARD).prefix == f"{name.lower()}_"


@pytest.mark.parametrize("name", ["maths", "resnet", "net", "echo", "sprintf", "timer", "digits"])
def test_other_names_stay(name: str) -> None:
    assert prefix(name) == name


def test_a_name_that_is_asked_for(edgeconv: Command, residual_model: Path) -> None:
    done = edgeconv("compile", residual_model, "--board", BOARD, "--name", "math")
    assert done.status == 2
    assert "'math_' would do" in done.stderr


@pytest.mark.usefixtures("unoptimised")
@pytest.mark.parametrize("name", ["math", "features", "startup"])
def test_a_network_named_like_a_header_is_built(
    name: str, edgeconv: Command, residual_model: Path
) -> None:
    model = residual_model.rename(residual_model.with_name(f"{name}.onnx"))
    out = model.parent / "out"
    edgeconv.ok("compile", model, "--board", BOARD, "-o", out, "--verify")
    assert (out / f"{name}_.h").exists()
    assert not (out / f"{name}.h").exists()

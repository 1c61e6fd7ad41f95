"""Compilers that are neither GCC nor Clang take portable C: what is theirs stands behind ``#if``.

A compiler that does not say who it is plays their part; headers that it includes are stubs, so that
nothing of what is seen is the system's.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from tests import ROOT, onnx_models, quantised_models
from tests.tools import available

pytestmark = pytest.mark.usefixtures("unoptimised")

BOARD = "generic-c"
OF_ISA = re.compile(r"_(?:avx2|avx512|neon|power10|helium|dsp)")
# What GCC and Clang alone read; behind "!defined", what follows the first branch.
GUARDED = re.compile(
    r"#if !defined\(__GNUC__\)[^\n]*\n.*?#endif"
    r"|#if [^\n]*defined\(__GNUC__\)[^\n]*\n.*?#(?=else|elif|endif)",
    re.DOTALL,
)
BITS = (8, 16, 32, 64)
ANONYMOUS = ("gcc", "-std=c11", "-pedantic-errors", "-O1", "-U__GNUC__", "-U__clang__")
THEIRS = re.compile(
    r"\b(?:__builtin_\w+|__attribute__|__asm__|__extension__|__typeof__|_Pragma)\b|#pragma"
)
STUBS = {
    "stddef.h": "typedef __SIZE_TYPE__ size_t; typedef __PTRDIFF_TYPE__ ptrdiff_t;\n"
    "#define NULL ((void *)0)\n",
    "stdint.h": "".join(
        f"typedef __{u}INT{n}_TYPE__ {u.lower()}int{n}_t;\n" for u in ("", "U") for n in BITS
    )
    + "typedef __INTPTR_TYPE__ intptr_t; typedef __UINTPTR_TYPE__ uintptr_t;\n"
    + "".join(
        f"#define INT{n}_MAX __INT{n}_MAX__\n#define INT{n}_MIN (-INT{n}_MAX - 1)\n"
        f"#define UINT{n}_MAX __UINT{n}_MAX__\n"
        for n in BITS
    )
    + "#define UINT64_C(c) c##ull\n#define INT64_C(c) c##ll\n#define UINT32_C(c) c##u\n"
    "#define INT32_C(c) c\n#define SIZE_MAX __SIZE_MAX__\n",
}  # fmt: skip


def preprocessed(source: Path, stubs: Path) -> str:
    """``source`` as a compiler of no name sees it."""
    stubs.mkdir()
    for name, text in STUBS.items():
        (stubs / name).write_text(text)
    command = [*ANONYMOUS, "-nostdinc", f"-I{stubs}", "-I.", "-E", "-P", source.name]
    done = subprocess.run(command, cwd=source.parent, check=True, capture_output=True, text=True)
    return done.stdout


def emitted(kind: str, folder: Path, *, threads: int = 1) -> Path:
    """The folder of a project, verified as it is: so it has inputs and results."""
    available(BOARD)
    if kind.startswith("int"):
        built, _ = quantised_models.tiny(kind, opset=21 if kind == "int16" else 15)
    else:
        built = onnx_models.residual(*((8, 9) if threads == 1 else (32, 65)))
    model = onnx_models.save(built, folder / "net.onnx")
    storage = {"*": "int8"} if kind == "stored" else {}
    options = CompileOptions(model, BOARD, weights_as_c=True, storage=storage, threads=threads)
    pipeline.compile_model(options, folder / "out")
    assert pipeline.verify_project(folder / "out", model=model).passed
    return folder / "out"


@pytest.mark.parametrize("kind", ["float32", "stored", "int8", "int16"])
def test_networks_without_words_of_gcc(kind: str, tmp_path: Path) -> None:
    """No such word is left, a strict compiler takes it, and the answers are the same."""
    folder = emitted(kind, tmp_path)

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout

    objects = []
    for source in ("net.c", "net_weights.c"):
        text = preprocessed(folder / source, tmp_path / f"stubs-{source}")
        assert sorted(set(THEIRS.findall(text))) == []
        (folder / f"plain_{source}").write_text(text)
        run(*ANONYMOUS, "-c", f"plain_{source}", "-o", f"{source}.o")
        objects.append(f"{source}.o")
    run("gcc", "-std=c11", "-O1", "main.c", *objects, "-lm", "-o", "it")
    assert "equal: " in run("./it")


def test_threads_without_words_of_gcc(tmp_path: Path) -> None:
    folder = emitted("float32", tmp_path, threads=2)
    command = [*ANONYMOUS, "-I.", "-E", "-P", "net.c"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    ours = done.stdout[done.stdout.index("typedef struct net_model") :]
    of_posix = re.compile(r"extern .*?;", re.DOTALL)
    ours = of_posix.sub("", ours)
    assert "net_given" in ours
    of_atomics = {"__extension__", "__typeof__"}  # GCC's <stdatomic.h> is made of them
    assert sorted(set(THEIRS.findall(ours)) - of_atomics) == []


@pytest.mark.parametrize("folder", ["kernels", "storage"])
def test_kernels_leave_such_words_to_others(folder: str) -> None:
    """Those of a header that is no ISA's stand behind #if, in ec_common.h as far as they can."""
    for path in sorted((ROOT / "runtime_c" / folder).glob("ec_*.h")):
        if not OF_ISA.search(path.stem):
            text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
            text = GUARDED.sub("", text)
            assert sorted(set(THEIRS.findall(text))) == [], path.name

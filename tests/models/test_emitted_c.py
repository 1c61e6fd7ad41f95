"""What the emitted C promises: no warnings, freestanding, re-entrant, every variant the same."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import compile_project, find_compiler, run_binary, undefined_symbols
from edgeconv.run.build.project import Project
from edgeconv.run.build.toolchain import Compiler, probe
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind
from tests import ROOT, onnx_models
from tests.compilers import SANITIZERS, UNGUESSED
from tests.models import drivers

DIGITS = ROOT / "examples" / "digits" / "digits-cnn.onnx"
# Where nothing else is said: what the programs compute, and with which API.
pytestmark = pytest.mark.usefixtures("unoptimised")

BOARDS = ("host", "generic-c")
MODELS = ("digits", "net")
COMPILERS = ("gcc", "clang")
STRICT = ("-Wshadow", "-Wvla", "-Wdouble-promotion")
SHIPPED = (*STRICT, "-O3")  # after which -O1 counts for nothing
# Each network on one of the boards: those that `make test-all` adds are like them.
BY_TURNS = {("digits", "host"), ("net", "generic-c")}
Words = list[str | Path]
LIBC = {"memcpy", "memset", "memmove", "memcmp"}
# What a position-independent object names besides functions.
LINKER_SYMBOLS = {"_GLOBAL_OFFSET_TABLE_"}


@dataclass(frozen=True, slots=True)
class Emitted:
    """A verified project."""

    project: Project

    @property
    def directory(self) -> Path:
        return self.project.directory

    def objects(self) -> list[Path]:
        """Of the network and its weights, as they were verified."""
        binary = self.project.build()
        return [binary.objects[source] for source in self.project.sources[:2]]

    def outputs(self) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """What the reference computed for the project's input file."""
        return np.fromfile(self.project.expected_file, "<f4")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {
        "digits": DIGITS,
        "net": onnx_models.save(onnx_models.residual(), folder / "net.onnx"),
    }


def emit(
    model: Path, board: str, directory: Path, name: str, *, io: str = "caller", as_c: bool = False
) -> Emitted:
    """Compile and verify."""
    options = CompileOptions(model, board, name=name, io=io, weights_as_c=as_c)
    project, _ = compile_model(options, directory)
    result = verify_project(directory, model=model)
    assert result.passed, result.one_line()
    return Emitted(project)


class Projects:
    """Verified projects by model and board, each made when it is first asked for."""

    def __init__(self, models: dict[str, Path], folder: Path) -> None:
        self._models, self._folder = models, folder
        self._made: dict[tuple[str, str], Emitted] = {}

    def __getitem__(self, key: tuple[str, str]) -> Emitted:
        if key not in self._made:
            name, board = key
            self._made[key] = emit(self._models[name], board, self._folder / "-".join(key), name)
        return self._made[key]


@pytest.fixture(scope="module")
def emitted(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Projects:
    return Projects(models, tmp_path_factory.mktemp("emitted"))


def compiler(name: str) -> Compiler:
    found = probe(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def flags(board: str) -> Sequence[str]:
    return boards.load(board).flags


def _pairs() -> list[object]:
    """Models and boards, those that take turns in every run."""
    return [
        pytest.param(model, board, marks=[] if (model, board) in BY_TURNS else [pytest.mark.slow])
        for model in MODELS
        for board in BOARDS
    ]


@pytest.mark.parametrize("compiler_name", COMPILERS)
@pytest.mark.parametrize(("model", "board"), _pairs())
def test_no_warnings(
    emitted: Projects,
    tmp_path: Path,
    model: str,
    board: str,
    compiler_name: str,
) -> None:
    """-std=c11 -Wall -Wextra -Wpedantic -Werror, and some more."""
    project = emitted[model, board].project
    compile_project(
        project.directory,
        boards.load(board),
        sources=project.sources,
        out=tmp_path / "program",
        extra_flags=SHIPPED,
        warnings_as_errors=True,
        compiler=compiler(compiler_name),
    )


@pytest.mark.parametrize(("model", "board"), _pairs())
def test_sanitizers_find_nothing(emitted: Projects, tmp_path: Path, model: str, board: str) -> None:
    project = emitted[model, board].project
    loaded = boards.load(board)
    binary = compile_project(
        project.directory,
        loaded,
        sources=project.sources,
        out=tmp_path / "program",
        extra_flags=SANITIZERS,
        compiler=compiler("gcc"),
    )
    done = run_binary(binary.path, loaded, ["--runs", "2"], cwd=project.directory)
    assert done.status == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("equal")


@pytest.mark.parametrize(
    ("model", "board"),
    [
        *_pairs(),
        ("digits", "jetson-tx1"),
        pytest.param("net", "jetson-tx1", marks=pytest.mark.slow),
    ],
)
def test_network_needs_four_functions_at_most(
    models: dict[str, Path], tmp_path: Path, model: str, board: str
) -> None:
    loaded = boards.load(board)
    try:
        found = find_compiler(loaded)
    except EdgeconvError as error:
        pytest.skip(str(error))
    options = CompileOptions(models[model], board, name=model, io="caller")
    project, _ = compile_model(options, tmp_path / "out")
    binary = compile_project(
        project.directory,
        loaded,
        sources=project.sources,
        out=tmp_path / "program",
        extra_flags=SHIPPED,
        warnings_as_errors=True,  # as in test_no_warnings, whose object it is
        compiler=found,
    )
    network = binary.objects[project.sources[0]]
    assert set(undefined_symbols(network)) - LINKER_SYMBOLS <= LIBC
    weights = binary.objects[project.sources[1]]
    assert not undefined_symbols(weights)
    assert binary.sections([project.sources[0]]).data == 0, "no mutable globals"
    assert binary.sections([project.sources[0]]).bss == 0, "no mutable globals"


@pytest.mark.parametrize("board", BOARDS)
def test_freestanding_headers_suffice(emitted: Projects, tmp_path: Path, board: str) -> None:
    """-ffreestanding, without any header of a C library: only those a compiler brings, and nothing
    of them that a machine without an operating system lacks.  memcpy is then no builtin."""
    project = emitted["net", board].project
    found = compiler("gcc")
    own = run(*found.command, "-print-file-name=include").strip()
    stand_ins = tmp_path / "libc"  # that GCC's intrinsics include; hosted ones, which are not used
    stand_ins.mkdir()
    for name in ("stdlib.h", "errno.h") if board == "host" else ():
        (stand_ins / name).write_text("void *malloc(unsigned long), free(void *);\n")
    command = [*found.command, "-std=c11", "-O2", "-ffreestanding", *flags(board), "-Werror", "-c"]
    headers: Words = ["-nostdinc", "-isystem", own, "-isystem", stand_ins, "-I."]
    run(*command, *headers, "net.c", "-o", tmp_path / "net.o", cwd=project.directory)
    assert set(undefined_symbols(tmp_path / "net.o")) - LINKER_SYMBOLS <= LIBC


@pytest.mark.parametrize("board", BOARDS)
def test_readme_tells_how_to_compile_by_hand(emitted: Projects, tmp_path: Path, board: str) -> None:
    source = emitted["net", board].directory
    lines = (source / "README.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("    cc ")]
    folder = shutil.copytree(source, tmp_path / "any", ignore=shutil.ignore_patterns("build"))
    run(*compiler("cc").command, *shlex.split(line)[1:], "-Werror", cwd=folder)
    assert (folder / "net.o").is_file()
    assert (folder / "net_weights.o").is_file()


def test_network_without_an_arena(tmp_path: Path) -> None:
    """One layer reads the input and writes the output: nothing lies in between."""
    nodes = [helper.make_node("Relu", ["a|b"], ["y"])]
    model = onnx_models.model(nodes, {"a|b": (1, 2, 3)}, {"y": None})
    path = onnx_models.save(model, tmp_path / "relu.onnx")
    directory = emit(path, "generic-c", tmp_path / "out", "relu").directory
    (tmp_path / "main.c").write_text(drivers.NO_ARENA)
    strict = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", directory)
    sources = (tmp_path / "main.c", directory / "relu.c", directory / "relu_weights.S")
    run(*compiler("gcc").command, *strict, *sources, "-o", tmp_path / "program")
    assert run(tmp_path / "program") == "ok\n"
    row = r"| input `a\|b` | float32 1x2x3; `RELU_INPUT_A_B_...` |"
    assert row in (directory / "README.md").read_text()


def test_big_endian_is_refused(emitted: Projects) -> None:
    """The kernels read the little-endian image in place: elsewhere the results would be wrong."""
    command = [*compiler("gcc").command, "-fsyntax-only", "-std=c11", "net.c"]
    order = ["-U__BYTE_ORDER__", "-D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__"]
    directory = emitted["net", "generic-c"].directory
    run(*command, cwd=directory)
    done = subprocess.run(
        [*command, *order], cwd=directory, capture_output=True, text=True, check=False
    )
    assert "the weight image of net is little-endian" in done.stderr


@pytest.mark.parametrize("compiler_name", ["g++", "clang++"])
def test_header_is_valid_cpp(emitted: Projects, tmp_path: Path, compiler_name: str) -> None:
    found = shutil.which(compiler_name) or shutil.which(f"{compiler_name}-19")
    if found is None:
        pytest.skip(f"{compiler_name} is not installed")
    source = tmp_path / "use.cpp"
    source.write_text(drivers.CPP)
    directory = emitted["net", "generic-c"].directory
    strict = ("-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    run(found, *strict, "-I", directory, "-c", source, "-o", tmp_path / "use.o")


@pytest.mark.parametrize("board", BOARDS)
def test_two_networks_in_one_program(emitted: Projects, tmp_path: Path, board: str) -> None:
    (tmp_path / "main.c").write_text(drivers.TWO_NETWORKS)
    found = find_compiler(boards.load(board))
    sources: list[Path] = [tmp_path / "main.c"]
    includes: list[str] = []
    for name in MODELS:
        project = emitted[name, board].project
        sources += emitted[name, board].objects()
        includes += ["-I", str(project.directory)]
        shutil.copy(project.input_file, tmp_path)
        shutil.copy(project.expected_file, tmp_path)
    build = [*found.command, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *flags(board)]
    run(*build, *includes, *sources, "-o", tmp_path / "both", "-lm", cwd=tmp_path)
    assert run(tmp_path / "both", cwd=tmp_path) == "digits equal\nnet equal\n"


@pytest.mark.parametrize(
    ("board", "sanitizer"),
    [("host", ["-fsanitize=thread", "-g1", UNGUESSED]), ("generic-c", [])],
)
def test_eight_threads_agree(
    emitted: Projects, tmp_path: Path, board: str, sanitizer: list[str]
) -> None:
    project = emitted["net", board].project
    (tmp_path / "main.c").write_text(drivers.THREADS)
    found = find_compiler(boards.load(board))
    build = [*found.command, "-std=c11", "-O1", "-pthread", *sanitizer, *flags(board)]
    sources = [project.directory / source for source in project.sources[:2]]
    sources = sources if sanitizer else emitted["net", board].objects()
    includes: Words = ["-I", project.directory]
    run(*build, *includes, tmp_path / "main.c", *sources, "-o", tmp_path / "threads")
    shutil.copy(project.input_file, tmp_path)
    assert run(tmp_path / "threads", cwd=tmp_path) == "identical\n"


@pytest.mark.parametrize(("model", "board"), [("digits", "generic-c"), ("net", "host")])
def test_variants_compute_the_same_bits(
    emitted: Projects,
    models: dict[str, Path],
    tmp_path: Path,
    model: str,
    board: str,
) -> None:
    plain = emitted[model, board]
    results = [result_of(plain)]
    for io, as_c in (("arena", False), ("caller", True), ("arena", True)):
        directory = tmp_path / f"{io}-{as_c}"
        variant = emit(models[model], board, directory, model, io=io, as_c=as_c)
        results.append(result_of(variant))
    assert all(np.array_equal(result, results[0]) for result in results)


def result_of(emitted: Emitted) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The program's output after three runs on its input file."""
    project = emitted.project
    binary = project.build()
    path = (project.build_directory / "result.bin").resolve()
    done = run_binary(
        binary.path, binary.board, ["--output", str(path), "--runs", "3"], cwd=project.directory
    )
    assert done.status == 0, done.stderr
    return np.fromfile(path, "<f4")


@pytest.mark.parametrize("board", BOARDS)
def test_inputs_are_never_written(emitted: Projects, tmp_path: Path, board: str) -> None:
    """The input lies in memory that cannot be written."""
    project = emitted["net", board].project
    (tmp_path / "main.c").write_text(drivers.READ_ONLY_INPUT)
    found = find_compiler(boards.load(board))
    build: Words = [*found.command, "-std=c11", *flags(board), "-I", project.directory]
    objects = emitted["net", board].objects()
    run(*build, tmp_path / "main.c", *objects, "-o", tmp_path / "program")
    assert run(tmp_path / "program") == "ok\n"


@pytest.mark.parametrize("board", BOARDS)
def test_init_refuses_what_cannot_work(emitted: Projects, tmp_path: Path, board: str) -> None:
    project = emitted["net", board].project
    (tmp_path / "main.c").write_text(drivers.INIT)
    found = find_compiler(boards.load(board))
    build: Words = [*found.command, "-std=c11", *flags(board), "-I", project.directory]
    objects = emitted["net", board].objects()
    run(*build, tmp_path / "main.c", *objects, "-o", tmp_path / "program")
    assert run(tmp_path / "program").splitlines() == [
        "ok",
        "a pointer is null",
        "a pointer is null",
        "a pointer is null",
        "arena too small",
        "arena or weights misaligned",
        "weight image has a wrong size",
        "not a weight image of this version",
        "weight image of another model, board or plan",
        "weight image damaged",
        "a copy of the image will do",
    ]


def test_cmake_builds_and_its_program_agrees(emitted: Projects, tmp_path: Path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed")
    project = emitted["digits", "host"].project
    source = shutil.copytree(
        project.directory, tmp_path / "digits", ignore=shutil.ignore_patterns("build")
    )
    run("cmake", "--preset", "release", cwd=source)
    run("cmake", "--build", "--preset", "release", cwd=source)
    output = run(source / "build" / "digits_main", cwd=source)
    assert output.splitlines()[-1].startswith("equal")


def test_cmake_project_is_a_subdirectory_of_others(emitted: Projects, tmp_path: Path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed")
    for name in MODELS:
        shutil.copytree(
            emitted[name, "host"].directory,
            tmp_path / name,
            ignore=shutil.ignore_patterns("build"),
        )
        shutil.copy(emitted[name, "host"].project.input_file, tmp_path)
        shutil.copy(emitted[name, "host"].project.expected_file, tmp_path)
    (tmp_path / "main.c").write_text(drivers.TWO_NETWORKS)
    (tmp_path / "CMakeLists.txt").write_text(drivers.CMAKE)
    run("cmake", "-S", ".", "-B", "out", cwd=tmp_path)
    run("cmake", "--build", "out", cwd=tmp_path)
    assert run(tmp_path / "out" / "both", cwd=tmp_path) == "digits equal\nnet equal\n"


def test_source_says_when_it_is_compiled_for_another_cpu(emitted: Projects, tmp_path: Path) -> None:
    project = emitted["net", "host"].project
    board: Board = boards.load("host")
    if not board.target.guard:
        pytest.skip("the host runs portable C")
    assert board.run.kind is RunKind.NATIVE
    bare = replace(board, isa="portable", toolchain=replace(board.toolchain, flags=()))
    with pytest.raises(EdgeconvError, match=f"compile net.c for {board.isa}"):
        compile_project(project.directory, bare, sources=project.sources, out=tmp_path / "program")

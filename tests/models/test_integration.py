"""Emitted folders, as they are, in the build systems of others: built, run and compared.

Zephyr, ESP-IDF and Arduino's builder are stand-ins after their documentation, see
``frameworks/README.md``; so is the platform that PlatformIO builds for.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.run.build import read_sections
from edgeconv.run.build.compile import BASE_FLAGS
from edgeconv.run.build.cross import cross
from edgeconv.run.build.project import Project
from edgeconv.target import board as boards
from edgeconv.target.board import RunKind
from edgeconv.target.host import detect
from tests import ROOT, compilers, onnx_models
from tests.models import drivers
from tests.tools import available

FRAMEWORKS = Path(__file__).parent / "frameworks"
BOARD = "generic-c"
EQUAL = "digits equal\nnet equal\n"
KERNEL_OPTIONS = ["-O3", "-ffp-contract=fast"]
Networks = Mapping[str, Project]


def run(*command: str | Path, cwd: Path, variables: Mapping[str, str] | None = None) -> str:
    """What the command prints; it must succeed."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def need(*tools: str) -> None:
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Networks:
    """Two verified networks, without what building them left; small, since every build system
    compiles them anew."""
    folder = tmp_path_factory.mktemp("networks")
    models = {
        "digits": onnx_models.save(onnx_models.classifier(), folder / "digits.onnx"),
        "net": onnx_models.save(onnx_models.residual(), folder / "net.onnx"),
    }
    projects = {}
    for name, model in models.items():
        options = CompileOptions(model, BOARD, name=name)
        projects[name], _ = compile_model(options, folder / name)
        assert verify_project(folder / name, model=model).passed
        shutil.rmtree(folder / name / "build")
    return projects


@pytest.fixture
def product(networks: Networks, tmp_path: Path) -> Path:
    """A folder with the inputs and references that the program of ``drivers`` reads."""
    folder = tmp_path / "product"
    folder.mkdir()
    for project in networks.values():
        shutil.copy(project.input_file, folder)
        shutil.copy(project.expected_file, folder)
    return folder


def put(networks: Networks, folder: Path) -> list[Path]:
    """Copies of the projects in ``folder``."""
    return [
        Path(shutil.copytree(project.directory, folder / name))
        for name, project in networks.items()
    ]


def cpp(program: str) -> str:
    """The C program as C++ has it."""
    return re.sub(r"static _Alignas\((\w+)\)", r"alignas(\1) static", program)


def options_of(build: Path, source: str) -> list[str]:
    """The words of the command that compiles ``source``, from compile_commands.json."""
    commands = json.loads((build / "compile_commands.json").read_text())
    (command,) = (c["command"] for c in commands if Path(c["file"]).name == source)
    return shlex.split(command)


def last_options(words: Sequence[str]) -> list[str]:
    """The optimisation level and the contraction that hold: of several the last."""
    levels = [word for word in words if re.fullmatch("-O[0-3sgz]", word)]
    contractions = [word for word in words if word.startswith("-ffp-contract=")]
    return [*levels[-1:], *contractions[-1:]]


@pytest.mark.parametrize("language", ["C", "CXX"])
def test_cmake_subdirectory(networks: Networks, product: Path, language: str) -> None:
    """The consumer names its own language only, and neither flags nor include paths."""
    need("cmake")
    put(networks, product)
    source, text = {
        "C": ("main.c", drivers.TWO_NETWORKS),
        "CXX": ("main.cpp", cpp(drivers.TWO_NETWORKS)),
    }[language]
    (product / source).write_text(text)
    (product / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\n"
        f"project(both {language})\n"
        "add_subdirectory(digits)\nadd_subdirectory(net)\n"
        f"add_executable(both {source})\n"
        "target_link_libraries(both PRIVATE digits net m)\n"
    )
    run("cmake", "-S", ".", "-B", "out", "-Werror=dev", cwd=product)
    run("cmake", "--build", "out", cwd=product)
    assert run(product / "out" / "both", cwd=product) == EQUAL


def test_cmake_needs_no_assembler_for_weights_as_c(product: Path) -> None:
    need("cmake")
    model = onnx_models.save(onnx_models.classifier(), product / "digits.onnx")
    options = CompileOptions(model, BOARD, name="digits", weights_as_c=True)
    compile_model(options, product / "digits")
    (product / "main.c").write_text(drivers.DIGITS)
    (product / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(one C)\nadd_subdirectory(digits)\n"
        "add_executable(one main.c)\ntarget_link_libraries(one PRIVATE digits)\n"
    )
    run("cmake", "-S", ".", "-B", "out", "-Werror=dev", cwd=product)
    run("cmake", "--build", "out", cwd=product)
    assert run(product / "out" / "one", cwd=product) == "digits equal\n"
    assert "CMAKE_ASM_COMPILER" not in (product / "out" / "CMakeCache.txt").read_text()


def test_weights_are_a_dependency(networks: Networks, product: Path) -> None:
    """Another image of the same plan reaches the program with the next build."""
    need("cmake")
    (folder, _) = put(networks, product)
    image = folder / "digits_weights.bin"
    run("cmake", "--preset", "release", cwd=folder)
    run("cmake", "--build", "--preset", "release", cwd=folder)
    before = (folder / "build" / "digits_main").read_bytes()
    data = bytearray(image.read_bytes())
    data[-1] ^= 1
    image.write_bytes(data)
    run("cmake", "--build", "--preset", "release", cwd=folder)
    assert (folder / "build" / "digits_main").read_bytes() != before


@pytest.mark.parametrize("io", ["caller", "arena"])
def test_the_target_that_runs_needs_no_files(io: str, product: Path) -> None:
    """Those that verify writes; a program that is given files says which one is not there."""
    need("cmake")
    model = onnx_models.save(onnx_models.classifier(), product / "digits.onnx")
    folder = product / "digits"
    compile_model(CompileOptions(model, BOARD, name="digits", io=io), folder)
    run("cmake", "--preset", "release", cwd=folder)
    said = run("cmake", "--build", "--preset", "release", "--target", "digits_run", cwd=folder)
    assert re.search(r"^run 0\.\d{9}$", said, re.MULTILINE)
    assert "equal" not in said
    command = [str(folder / "build" / "digits_main"), "--input", "digits_input.bin"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "digits_input.bin: missing or too short\n")
    assert verify_project(folder, model=model).passed
    said = run("cmake", "--build", "--preset", "release", "--target", "digits_run", cwd=folder)
    assert "equal: largest error" in said


def test_make_as_documented(networks: Networks, product: Path) -> None:
    need("make")
    put({"digits": networks["digits"]}, product)
    text = (ROOT / "docs" / "integration.md").read_text(encoding="utf-8")
    (makefile,) = re.findall(r"```make\n(.*?)```", text, re.DOTALL)
    (product / "Makefile").write_text(makefile)
    (product / "product.c").write_text(drivers.DIGITS)
    run("make", "product", cwd=product)
    assert run(product / "product", cwd=product) == "digits equal\n"


def test_zephyr_module(networks: Networks, product: Path) -> None:
    need("cmake")
    modules = []
    for folder in put(networks, product / "modules"):
        name, where = module(folder / "zephyr" / "module.yml")
        assert (folder / where / "CMakeLists.txt").is_file()
        modules.append(f"{name}={(folder / where).resolve()}")
    assert [entry.partition("=")[0] for entry in modules] == ["digits", "net"]
    framework_app(FRAMEWORKS / "zephyr", product, f"-DMODULES={';'.join(modules)}")


def module(path: Path) -> tuple[str, str]:
    """``name`` and ``build.cmake`` of a module file, which is YAML of three lines."""
    match = re.fullmatch(r'name: "(\w+)"\nbuild:\n  cmake: (\S+)\n', path.read_text())
    assert match
    return match[1], match[2]


def test_esp_idf_component(networks: Networks, product: Path) -> None:
    need("cmake")
    folders = put(networks, product / "components")
    framework_app(
        FRAMEWORKS / "esp_idf", product, f"-DCOMPONENT_DIRS={';'.join(map(str, folders))}"
    )


def framework_app(framework: Path, product: Path, *definitions: str) -> None:
    """Build the application of a stand-in around ``drivers.TWO_NETWORKS``, run it, and see that
    the kernels are compiled for speed although the rest is compiled for size."""
    source = product / "main.c"
    source.write_text(drivers.TWO_NETWORKS)
    defined = (f"-DAPP_SOURCE={source}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *definitions)
    run("cmake", "-S", framework, "-B", "out", "-Werror=dev", *defined, cwd=product)
    run("cmake", "--build", "out", cwd=product)
    assert run(product / "out" / "app", cwd=product) == EQUAL
    words = options_of(product / "out", "digits.c")
    assert "-Os" in words
    assert last_options(words) == KERNEL_OPTIONS


def test_platformio_library(networks: Networks, product: Path, tmp_path: Path) -> None:
    dependencies = pytest.importorskip("platformio.dependencies")
    pytest.importorskip("SCons")
    put(networks, product / "lib")
    (product / "src").mkdir()
    (product / "src" / "main.c").write_text(drivers.TWO_NETWORKS)
    (product / "platformio.ini").write_text("[env:native]\nplatform = native\n")
    core = Path(shutil.copytree(FRAMEWORKS / "platformio", tmp_path / "core"))
    version = dependencies.get_core_dependencies()["tool-scons"].lstrip("~^")
    scons = {"name": "tool-scons", "version": version}
    origin = {"owner": "platformio", "id": None, "name": "tool-scons", "requirements": None}
    package = core / "packages" / "tool-scons"
    (package / "package.json").write_text(json.dumps(scons))
    (package / ".piopm").write_text(
        json.dumps({**scons, "type": "tool", "spec": {**origin, "uri": None}})
    )
    variables = {"PLATFORMIO_CORE_DIR": str(core), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "No"}
    pio = (sys.executable, "-m", "platformio")
    printed = run(*pio, "run", "--verbose", cwd=product, variables=variables)
    (command,) = re.findall(r"^cc .* lib/digits/digits\.c$", printed, re.MULTILINE)
    assert last_options(command.split()) == KERNEL_OPTIONS
    assert not re.search(r"lib/\w+/main\.c", printed)
    program = product / ".pio" / "build" / "native" / "program"
    assert run(program, cwd=product) == EQUAL
    packed = tmp_path / "digits.tar.gz"
    run(*pio, "pkg", "pack", "lib/digits", "-o", packed, cwd=product, variables=variables)
    assert packed.is_file()


def test_arduino_library(networks: Networks, product: Path) -> None:
    """The sketch, and every object of the libraries as it is: archives would hide a second main."""
    need("g++")
    sketch = product / "sketch.cpp"
    sketch.write_text(cpp(drivers.TWO_NETWORKS).replace("int main(void)", "int loop()"))
    core = product / "core.cpp"
    core.write_text("int loop();\nint main() { return loop(); }\n")
    folders = put(networks, product / "libraries")
    includes = [f"-I{folder}" for folder in folders]
    objects = [arduino_compile(source, product, includes) for source in (sketch, core)]
    for folder in folders:
        (product / folder.name).mkdir()
        for source in sorted(folder.iterdir()):
            if source.suffix in (".c", ".cpp", ".S"):
                objects.append(arduino_compile(source, product / folder.name, includes))
    run("g++", *objects, "-o", "program", "-lm", cwd=product)
    assert run(product / "program", cwd=product) == EQUAL
    assert read_sections(product / "digits" / "main.c.o").text == 0


def arduino_compile(source: Path, out: Path, includes: Sequence[str], *definitions: str) -> Path:
    """As the builder does: for size, whatever the source, in a folder that is not the library's."""
    compiler = {
        ".c": ["gcc", "-std=gnu11"],
        ".cpp": ["g++", "-std=gnu++17"],
        ".S": ["gcc", "-x", "assembler-with-cpp"],
    }[source.suffix]
    result = out / f"{source.name}.o"
    define = definitions or ("-DARDUINO=10819",)
    run(*compiler, "-Os", *define, *includes, "-c", source, "-o", result, cwd=out)
    return result


def test_arduino_builds_kernels_for_speed(networks: Networks, tmp_path: Path) -> None:
    """The pragma changes the code, and what it makes is close to what -O3 makes."""
    source = networks["digits"].directory / "digits.c"
    sizes = {}
    for variant in ("-DARDUINO=10819", "-DNO_ARDUINO"):
        compiled = arduino_compile(source, tmp_path, (f"-I{source.parent}",), variant)
        sizes[variant] = read_sections(compiled).text
    fast = tmp_path / "fast.o"
    run("gcc", "-std=gnu11", "-O3", f"-I{source.parent}", "-c", source, "-o", fast, cwd=tmp_path)
    small, speedy = sizes["-DNO_ARDUINO"], sizes["-DARDUINO=10819"]
    assert small < speedy
    assert abs(speedy - read_sections(fast).text) < speedy - small


def test_arduino_properties(networks: Networks) -> None:
    """The rules of the Arduino library specification, revision 2.2."""
    for name, project in networks.items():
        lines = (project.directory / "library.properties").read_text().splitlines()
        fields = dict(line.split("=", 1) for line in lines)
        assert {"name", "version", "author", "maintainer", "sentence", "paragraph"} <= fields.keys()
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9 _.-]{0,62}", fields["name"])
        assert re.fullmatch(r"\d+\.\d+\.\d+", fields["version"])
        assert fields["category"] == "Data Processing"
        assert fields["architectures"] == "*"
        assert (project.directory / fields["includes"]).is_file()
        assert fields["includes"] == f"{name}.h"
        assert not (project.directory / "src").exists(), "a flat library: all sources in its root"


def one_board_per_arch() -> list[str]:
    """The first board of every CPU architecture that can be another machine, of microcontrollers
    that an emulator boots."""
    found: dict[str, str] = {}
    for name in boards.names():
        how = cross(boards.load(name))
        if how is not None and (how.emulator or not how.bare_metal):
            found.setdefault(how.arch, name)
    return list(found.values())


@pytest.mark.parametrize("name", one_board_per_arch())
def test_preset_builds_and_runs(name: str, tmp_path: Path) -> None:
    """Two commands to the program, a third to run it: cross-compiled, emulated."""
    need("cmake")
    board = boards.load(name)
    if board.arch == detect().arch and board.run.kind is not RunKind.NATIVE:
        pytest.skip("this machine is of the board's architecture, but lacks its instructions")
    available(name)
    model = onnx_models.save(onnx_models.classifier(), tmp_path / "net.onnx")
    project, _ = compile_model(CompileOptions(model, name), tmp_path / "net")
    with compilers.lightly():
        assert verify_project(project.directory, model=model).passed
    shutil.rmtree(project.build_directory)
    export = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    run("cmake", "--preset", "release", "-Werror=dev", export, cwd=project.directory)
    run("cmake", "--build", "--preset", "release", cwd=project.directory)
    words = options_of(project.build_directory, "net.c")
    assert {*BASE_FLAGS, *board.flags} <= set(words), "what edgeconv itself builds with"
    assert last_options(words) == KERNEL_OPTIONS
    printed = run("cmake", "--build", "build", "--target", "net_run", cwd=project.directory)
    if board.run.kind is not RunKind.QEMU_SYSTEM:
        assert re.search("^equal: ", printed, re.MULTILINE)
        return
    got = np.fromfile(project.directory / "net_output.bin", "<f4")
    want = np.fromfile(project.expected_file, "<f4")
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-4 * float(np.abs(want).max()))


@pytest.mark.parametrize("name", one_board_per_arch())
def test_toolchain_is_the_same_on_every_machine(name: str) -> None:
    """On the board itself too: what is emitted does not depend on where."""
    board = boards.load(name)
    at_home = replace(detect(), arch=board.arch)
    capable = replace(at_home, words=at_home.words | set(board.target.cpu_flags))
    assert cross(boards.load(name, capable)) == cross(board)


def test_boards_that_are_this_machine_need_no_toolchain(networks: Networks) -> None:
    assert cross(boards.load("host")) is None
    assert not (networks["digits"].directory / "toolchain.cmake").exists()

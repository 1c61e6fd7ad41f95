"""`edgeconv package`: a project as packages of others, built, run and compared where their tools,
or stand-ins for these, are here.

ESP-IDF, Zephyr and Arduino's builder are the stand-ins of `test_integration`.  CMake and Cargo
build truly, the latter without a registry.  What is not here, Conan, cpackget, PlatformIO's
registry and the Pico SDK, is held to: Python that runs, with Conan's attributes; every file that
the .pdsc names in the archive; the keys that library.json needs; CMake without the SDK.
"""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest

from edgeconv.app.packaging import package
from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.base.arguments import PACKAGES
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.output_folder.folder import Contents, put_project
from edgeconv.codegen.packages import FORMS
from edgeconv.codegen.rust_declarations import constants, functions
from edgeconv.run.build.project import Project
from tests import onnx_models
from tests.command import Command
from tests.models import drivers
from tests.models.test_integration import FRAMEWORKS, arduino_compile, cpp, need, run

EQUAL = "digits equal\n"
RUST = r"""
use digits_sys::*;
static mut ARENA: Aligned<DIGITS_ARENA_BYTES> = Aligned([0; DIGITS_ARENA_BYTES]);
fn floats(path: &str) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    bytes.chunks(4).map(|each| f32::from_le_bytes(each.try_into().unwrap())).collect()
}
fn main() {
    let (image, want) = (floats("digits_input.bin"), floats("digits_expected.bin"));
    let mut got = [0f32; DIGITS_OUTPUT_LOGITS_ELEMENTS];
    let mut model = digits_model::new();
    unsafe {
        let arena = (&raw mut ARENA).cast();
        let weights = (&raw const digits_weights).cast();
        let size = DIGITS_WEIGHTS_BYTES;
        assert_eq!(digits_init(&mut model, weights, size, arena, DIGITS_ARENA_BYTES), DIGITS_OK);
        assert_eq!(digits_run(&model, image.as_ptr(), got.as_mut_ptr()), DIGITS_OK);
    }
    assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-3));
    println!("digits equal");
}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("network")
    model = onnx_models.save(onnx_models.classifier(), folder / "digits.onnx")
    made, _ = compile_model(CompileOptions(model, "generic-c", name="digits"), folder / "digits")
    assert verify_project(made.directory, model=model).passed
    return made


@pytest.fixture(scope="module")
def packages(project: Project, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("packages") / "all"
    return dict(package(project.directory, PACKAGES, folder, "2.3.4").packages)


@pytest.fixture
def product(project: Project, tmp_path: Path) -> Path:
    """A folder with input and reference, and a program that compares."""
    for path in (project.input_file, project.expected_file):
        shutil.copy(path, tmp_path)
    (tmp_path / "main.c").write_text(drivers.DIGITS)
    return tmp_path


def built_by_cmake(folder: Path, lines: str, *options: str) -> str:
    """What the program prints that is linked as ``lines`` say."""
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(product C ASM)\n"
        f"add_executable(product main.c)\n{lines}\n"
    )
    run("cmake", "-S", ".", "-B", "out", "-Werror=dev", *options, cwd=folder)
    run("cmake", "--build", "out", cwd=folder)
    return run(folder / "out" / "product", cwd=folder)


def test_forms_are_those_of_the_command_line() -> None:
    assert set(FORMS) == set(PACKAGES)


def test_cmake_fetched(packages: dict[str, Path], product: Path) -> None:
    need("cmake")
    lines = (
        f"include(FetchContent)\nFetchContent_Declare(digits SOURCE_DIR {packages['cmake']})\n"
        "FetchContent_MakeAvailable(digits)\ntarget_link_libraries(product PRIVATE digits::digits)"
    )
    assert built_by_cmake(product, lines) == EQUAL


def test_cmake_installed_and_found(packages: dict[str, Path], product: Path) -> None:
    need("cmake")
    folder, prefix = packages["conan"], product / "prefix"  # which has the same CMake
    run("cmake", "-S", folder, "-B", "made", f"-DCMAKE_INSTALL_PREFIX={prefix}", cwd=product)
    run("cmake", "--build", "made", "--target", "install", cwd=product)
    lines = (
        "find_package(digits 2.3 REQUIRED)\ntarget_link_libraries(product PRIVATE digits::digits)"
    )
    assert built_by_cmake(product, lines, f"-DCMAKE_PREFIX_PATH={prefix}") == EQUAL


def test_pico_sdk_without_the_sdk(packages: dict[str, Path], product: Path) -> None:
    need("cmake")
    lines = f"add_subdirectory({packages['pico-sdk']} net)\ntarget_link_libraries(product digits)"
    assert built_by_cmake(product, lines) == EQUAL


@pytest.mark.parametrize(
    ("form", "framework", "option"),
    [
        ("zephyr", "zephyr", "-DCONFIG_EDGECONV_DIGITS=y;-DMODULES=digits={folder}/zephyr"),
        ("esp-idf", "esp_idf", "-DCOMPONENT_DIRS={folder}"),
    ],
)
def test_stand_ins(
    packages: dict[str, Path], product: Path, form: str, framework: str, option: str
) -> None:
    need("cmake")
    given = option.format(folder=packages[form]).split(";")
    given.append(f"-DAPP_SOURCE={product / 'main.c'}")
    run("cmake", "-S", FRAMEWORKS / framework, "-B", "out", *given, cwd=product)
    run("cmake", "--build", "out", cwd=product)
    assert run(product / "out" / "app", cwd=product) == EQUAL


def test_zephyr_module_file(packages: dict[str, Path]) -> None:
    lines = (packages["zephyr"] / "zephyr" / "module.yml").read_text().splitlines()
    assert lines == ["name: digits", "build:", "  cmake: zephyr", "  kconfig: zephyr/Kconfig"]


def test_arduino_library_and_its_example(packages: dict[str, Path], product: Path) -> None:
    """All sources in src/ and the sketch, which needs nothing but Serial of the core."""
    need("g++")
    folder = packages["arduino"]
    include = [f"-I{folder / 'src'}"]
    sketch, core = product / "sketch.cpp", product / "core.cpp"
    example = (folder / "examples" / "digits" / "digits.ino").read_text()
    serial = "struct { void begin(int) {} void println(const char *) {} } Serial;\n"
    sketch.write_text(serial + example)
    core.write_text(cpp(drivers.DIGITS).replace("int main(void)", "int tested()"))
    (product / "main.cpp").write_text(
        "void setup();\nvoid loop();\nint tested();\n"
        "int main() { setup(); loop(); return tested(); }\n"
    )
    sources = [sketch, core, product / "main.cpp"]
    sources += sorted(each for each in (folder / "src").iterdir() if each.suffix in (".c", ".S"))
    objects = [arduino_compile(each, product, include) for each in sources]
    run("g++", *objects, "-o", "program", "-lm", cwd=product)
    assert run(product / "program", cwd=product) == EQUAL
    fields = dict(
        line.split("=", 1) for line in (folder / "library.properties").read_text().splitlines()
    )
    assert (fields["name"], fields["version"], fields["includes"]) == (
        *("digits", "2.3.4"),
        "digits.h",
    )


def test_rust_crate_built_without_a_registry(packages: dict[str, Path], product: Path) -> None:
    need("cargo")
    (product / "src").mkdir()
    (product / "src" / "main.rs").write_text(RUST)
    (product / "Cargo.toml").write_text(
        '[package]\nname = "product"\nversion = "0.1.0"\nedition = "2021"\n\n'
        f'[dependencies]\ndigits-sys = {{ path = "{packages["rust"]}" }}\n'
    )
    said = run("cargo", "run", "--offline", "--quiet", cwd=product)
    assert said == EQUAL


def test_pack_has_all_that_its_description_names(
    packages: dict[str, Path], project: Project, tmp_path: Path
) -> None:
    folder = packages["cmsis-pack"]
    description = ElementTree.parse(folder / "edgeconv.digits.pdsc").getroot()
    assert description.tag == "package"
    order = ["vendor", "name", "description", "url", "license", "releases"]
    assert [child.tag for child in description][: len(order)] == order
    release = description.find("releases/release")
    assert release is not None
    assert release.get("version") == "2.3.4"
    named = [file.get("name", "") for file in description.iter("file")]
    archive = folder / "edgeconv.digits.2.3.4.pack"
    with zipfile.ZipFile(archive) as pack:
        held = pack.namelist()
        assert all(any(each.startswith(name) for each in held) for name in named)
        assert {"edgeconv.digits.pdsc", "LICENSE", "src/digits.c", "include/digits.h"} <= set(held)
    again = package(project.directory, ["cmsis-pack"], tmp_path / "again", "2.3.4").packages
    assert (again["cmsis-pack"] / archive.name).read_bytes() == archive.read_bytes()


def test_metadata_of_tools_that_are_not_here(packages: dict[str, Path]) -> None:
    library = json.loads((packages["platformio"] / "library.json").read_text())
    assert {
        "name",
        "version",
        "description",
        "license",
        "frameworks",
        "platforms",
    } <= library.keys()
    assert (packages["platformio"] / library["build"]["includeDir"] / library["headers"]).is_file()
    recipe = (packages["conan"] / "conanfile.py").read_text()
    names: dict[str, object] = {}
    body = re.sub(r"^from conan.*$", "", recipe, flags=re.MULTILINE)
    exec(body, {"ConanFile": object}, names)
    found = vars(names["Package"])
    assert (found["name"], found["version"]) == ("digits", "2.3.4")
    assert all((packages["conan"] / each).exists() for each in found["exports_sources"][:2])


def _with_a_file(folder: Path) -> dict[str, str]:
    (folder / "link.json").write_text("{}")
    return {}


def test_only_what_is_ours_is_replaced(edgeconv: Command, project: Project, tmp_path: Path) -> None:
    out = tmp_path / "made"
    base = ("package", project.directory, "-o", out, "--as")
    edgeconv.ok(*base, "cmake", "--as", "rust")
    mine = out / "cmake" / "digits" / "notes.txt"
    mine.write_text("mine")
    said = edgeconv.ok(*base, "arduino").stdout
    assert str(out / "arduino" / "digits") in "".join(said.split())
    assert mine.read_text() == "mine"
    assert not (out / "rust").exists()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "precious").write_text("x")
    with pytest.raises(EdgeconvError, match="not an edgeconv project"):
        package(project.directory, ["cmake"], foreign)
    with pytest.raises(
        EdgeconvError, match="a compiled project of .* is there, where a set of packages is to be"
    ):
        package(project.directory, ["cmake"], project.directory)
    linked = tmp_path / "linked"
    put_project(linked, Contents("linked", _with_a_file, frozenset()))
    with pytest.raises(EdgeconvError, match="a compiled project of 'linked' is there"):
        package(project.directory, ["cmake"], linked)
    with pytest.raises(UsageError, match="three numbers"):
        package(project.directory, ["cmake"], tmp_path / "other", "1.0")


def test_declarations_of_a_header() -> None:
    header = """\
enum {
    N_ARENA_BYTES = 64, /* in DTCM */
    N_E_ALIGN = 3
};
#define N_INPUT_SCALE 0.0235f
#define N_INPUT_ONE 1.0f
#define N_ALIAS N_ARENA_BYTES
#define N_AT(n) (n)
/* int n_not(void); */
int n_run(const n_model *model, const int8_t *input_type,
          uint8_t *output_y);
void n_end(void);
const char *n_strerror(int result);
"""
    found = {each.name: (each.type, each.value) for each in constants(header)}
    assert found == {
        "N_ARENA_BYTES": ("usize", "64"),
        "N_E_ALIGN": ("i32", "3"),
        "N_INPUT_SCALE": ("f32", "0.0235"),
        "N_INPUT_ONE": ("f32", "1.0"),
        "N_ALIAS": ("usize", "N_ARENA_BYTES"),
    }
    declared = {each.name: each for each in functions(header)}
    assert set(declared) == {"n_run", "n_end", "n_strerror"}
    types = [each.type for each in declared["n_run"].parameters]
    assert types == ["*const n_model", "*const i8", "*mut u8"]
    assert declared["n_end"].result == ""
    assert declared["n_strerror"].result == "*const c_char"

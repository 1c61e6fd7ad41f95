"""The forms of packages that a project is turned into: a row each, and templates of their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from edgeconv.codegen.functions import environment

SRC, INCLUDE, BESIDE = "src", "include", "csrc"


@dataclass(frozen=True, slots=True)
class Form:
    """A form of packages.  ``title``: in words; ``use``: how a product takes it, in Markdown, with
    {name} for the network's; ``sources`` and ``headers``: the folders of C sources and of public
    headers; ``files``: template by path, {name} as in ``use``.  ``archive``: the package is a file
    of this name as well, a zip of all else."""

    title: str
    use: str
    files: Mapping[str, str]
    sources: str = SRC
    headers: str = INCLUDE
    archive: str = ""


_CMAKE = {
    "CMakeLists.txt": "cmake/CMakeLists.txt",
    "{name}-config.cmake.in": "cmake/config.cmake.in",
}
FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "arduino": Form(
            "a library of Arduino",
            "Put the folder into `libraries/` of the sketchbook, or install a zip of it.",
            {
                "library.properties": "arduino/library.properties",
                "examples/{name}/{name}.ino": "arduino/example.ino",
            },
            headers=SRC,
        ),
        "esp-idf": Form(
            "a component of ESP-IDF",
            "Put the folder into `components/` of the project, or name it in "
            "`EXTRA_COMPONENT_DIRS` or as a path in `idf_component.yml`; then `REQUIRES {name}`.",
            {
                "idf_component.yml": "esp_idf/idf_component.yml",
                "CMakeLists.txt": "esp_idf/CMakeLists.txt",
            },
        ),
        "platformio": Form(
            "a library of PlatformIO",
            "Put the folder into `lib/` of the project, or `lib_deps = symlink://PATH`.",
            {"library.json": "platformio/library.json"},
        ),
        "zephyr": Form(
            "a module of Zephyr",
            "Name the folder in `ZEPHYR_EXTRA_MODULES`, or its repository in a manifest of west, "
            "as `west.yml` has it.",
            {
                "zephyr/module.yml": "zephyr/module.yml",
                "zephyr/CMakeLists.txt": "zephyr/CMakeLists.txt",
                "zephyr/Kconfig": "zephyr/Kconfig",
                "west.yml": "zephyr/west.yml",
            },
        ),
        "cmsis-pack": Form(
            "a CMSIS-Pack",
            "`cpackget add edgeconv.{name}.VERSION.pack`, then choose the component "
            "Machine Learning, Network, {name}.",
            {"edgeconv.{name}.pdsc": "cmsis_pack/pack.pdsc"},
            archive="edgeconv.{name}.{version}.pack",
        ),
        "cmake": Form(
            "a project of CMake",
            "`FetchContent_Declare({name} SOURCE_DIR ...)` or `add_subdirectory`, or install it "
            "and `find_package({name})`; then link to `{name}::{name}`.",
            _CMAKE,
        ),
        "pico-sdk": Form(
            "a library for the Pico SDK",
            "`add_subdirectory` behind `pico_sdk_init()`, then link to `{name}`.",
            {"CMakeLists.txt": "pico_sdk/CMakeLists.txt"},
        ),
        "conan": Form(
            "a package of Conan 2",
            '`conan create .`, then `requires("{name}/VERSION")` and `find_package({name})`.',
            {"conanfile.py": "conan/conanfile.py", **_CMAKE},
        ),
        "rust": Form(
            "a -sys crate of Rust",
            "`{name}-sys = {{ path = ... }}`. Declarations are written out, without bindgen; "
            "`build.rs` calls the C compiler of `CC_<target>`, `CC` or `cc`.",
            {
                "Cargo.toml": "rust/Cargo.toml",
                "build.rs": "rust/build.rs",
                "src/lib.rs": "rust/lib.rs",
            },
            sources=BESIDE,
            headers=BESIDE,
        ),
    }
)


def rendered(form: Form, name: str, variables: Mapping[str, Any]) -> dict[str, str]:
    """The files of a package of network ``name`` by path, beside the network's own."""
    known = {**variables, "title": form.title, "use": form.use.format(name=name)}
    files = {"README.md": "README.md", **form.files}
    return {
        path.format(name=name): environment().get_template(f"packages/{template}.j2").render(known)
        for path, template in files.items()
    }

"""A compiled project as packages of other build systems."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeconv import __version__
from edgeconv.base.errors import UsageError, refused
from edgeconv.base.output_folder.folder import Contents, check_target, put_project
from edgeconv.base.real_path import real_path
from edgeconv.codegen.packages import FORMS, Form, rendered
from edgeconv.codegen.rust_declarations import constants, functions
from edgeconv.run.build.compile import optimisation
from edgeconv.run.build.project import Project
from edgeconv.run.build.weights_file import image_of

_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}")
PACKAGES = "set of packages"  # the kind of folder
FIRST = "1.0.0"  # the version of a package that nobody has given one
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of what lies in an archive: the same bytes for the same project
_POINTER = re.compile(r"\*(?:const|mut) (\w+)")
_C_TYPES = {"f32": "float", "f64": "double", "bool": "_Bool"}


@dataclass(frozen=True, slots=True)
class Packaged:
    """What was made: the folder, and by form the folder of its package in there."""

    directory: Path
    packages: Mapping[str, Path]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        packages = {form: str(path) for form, path in self.packages.items()}
        return {"folder": str(self.directory), "packages": packages}


def package(
    directory: Path, forms: Sequence[str], target: Path | None, version: str = ""
) -> Packaged:
    """Make ``target`` (./NAME_packages if None) a folder with a package of the project in
    ``directory`` for each of ``forms``, of this ``version``.

    Raises EdgeconvError: no project, one whose files were changed or are missing, a version that is
    no three numbers; as `put_project` for the folder.
    """
    project = Project.open(directory)
    name = project.name
    version = version or _version_of(project)
    if not _VERSION.fullmatch(version):
        raise UsageError(
            "--package-version",
            got=repr(version),
            rule="package managers compare versions of three numbers",
            hint="1.0.0, for instance",
        )
    target = target or Path(f"{name}_packages")
    place = real_path(target)
    check_target(place, PACKAGES)
    image_of(project.directory, project.report["program"])
    files = _files(project)
    variables = _variables(project, version, files)
    chosen = list(dict.fromkeys(forms))

    def fill(folder: Path) -> Mapping[str, str]:
        for each in chosen:
            _fill(folder / each / name, FORMS[each], name, variables, files)
        return {}

    notes = put_project(place, Contents(name, fill, frozenset(), kind=PACKAGES))
    return Packaged(target, {each: target / each / name for each in chosen}, notes)


def _version_of(project: Project) -> str:
    """The user's version of the model, where it is one of packages."""
    given = str(project.report["program"].get("model_version", ""))
    return given if _VERSION.fullmatch(given) else FIRST


def _files(project: Project) -> dict[str, bytes]:
    """The network's own files by name."""
    name = project.name
    names = [f"{name}.h", f"{name}.c", f"{name}_runtime.h", project.sources[1]]
    if project.report["threads"] > 1:
        names.append(f"{name}_threads.h")
    if project.sources[1].endswith(".S"):
        names.append(f"{name}_weights.bin")
    found = {}
    for each in (*names, "README.md", f"{name}.cdx.json"):
        with refused("cannot package", project.directory / each):
            found[each] = (project.directory / each).read_bytes()
    return found


def _variables(project: Project, version: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    """What templates see."""
    name, report, board = project.name, project.report, project.board()
    header = files[f"{name}.h"].decode("utf-8")
    declared = functions(header)
    init = next(each for each in declared if each.name == f"{name}_init")
    run = next(each for each in declared if each.name == f"{name}_run")
    pointers = [p.name for p in init.parameters if p.type.startswith("*") and p.name != "model"]
    banks = [p for p in pointers if p.startswith("arena")]
    symbols = [f"{name}_{p}" for p in pointers if p.startswith("weights")]
    known = {each.name: each.value for each in constants(header)}
    word = 8 if "64" in board.arch else 4
    return {
        "name": name,
        "NAME": name.upper(),
        "version": __version__,
        "package_version": version,
        "model": report["model"]["file"],
        "board": board.name,
        "flags": board.flags,
        "optimise": optimisation(report["program"]),
        "threads": report["threads"] > 1,
        "sources": project.sources[:2],
        "headers": [f"{name}.h"],
        "image": f"{name}_weights.bin" if f"{name}_weights.bin" in files else "",
        "io_arena": report["program"]["io"] == "arena",
        "symbols": symbols,
        "banks": [
            {"pointer": each, "size": f"{name}_{each}_bytes".upper()}
            for each in banks
            if known[f"{name}_{each}_bytes".upper()] != "0"
        ],
        "ports": [
            {
                "name": parameter.name,
                "c_type": _c_type(parameter.type),
                "elements": f"{name}_{parameter.name}_elements".upper(),
            }
            for parameter in run.parameters[1:]
        ],
        "align": known[f"{name.upper()}_ARENA_ALIGN"],
        "model_words": -(-report["ram"]["model_struct"] // word),
        "constants": constants(header),
        "functions": declared,
    }


def _c_type(rust: str) -> str:
    kind = (_POINTER.fullmatch(rust) or ["", rust])[1]
    return _C_TYPES.get(kind) or re.sub(r"^(?:i|(u))([0-9]+)$", r"\1int\2_t", kind)


def _fill(
    folder: Path,
    form: Form,
    name: str,
    variables: Mapping[str, Any],
    files: Mapping[str, bytes],
) -> None:
    written: dict[str, bytes] = {
        path: text.encode() for path, text in rendered(form, name, variables).items()
    }
    for own, data in files.items():
        if own == "README.md":
            written["PROJECT.md"] = data
        elif own == f"{name}.h":
            written[f"{form.headers}/{own}"] = data
        else:
            place = f"{form.sources}/{own}" if not own.endswith(".json") else own
            written[place] = data
    written["LICENSE"] = _LICENCE.encode()
    for path, data in written.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    if form.archive:
        archive = form.archive.format(name=name, version=variables["package_version"])
        _zip(folder / archive, written)


def _zip(path: Path, files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in sorted(files.items()):
            out.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)


_LICENCE = """\
The runtime in this package, and what edgeconv generated around it, are licensed under the Apache
License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0.  The weights are those of the
model, whose licence is its owner's.
"""

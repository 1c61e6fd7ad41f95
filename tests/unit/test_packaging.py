"""The wheel: everything it needs is inside, nothing else is, and it works alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests import ROOT

LINKED = {"boards": "target.boards", "codegen": "codegen", "runtime_c": "kernels.runtime_c"}
DATA_SUFFIXES = (".c", ".h", ".S", ".j2", ".json", ".toml")

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="not run from a source checkout"
)


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the source distribution, built from a copy of the checkout."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("edgeconv", *LINKED):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignore)
    run(sys.executable, "-m", "build", "--no-isolation", cwd=copy)
    (built,) = (copy / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; the dependencies come from the running one.

    A path in a .pth file is searched for modules, but the .pth files there are not read: the
    checkout itself, installed editable, stays invisible.
    """
    venv = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=venv.parent)
    run(
        *(sys.executable, "-m", "pip", "--python", venv / "bin" / "python"),
        *("install", "--quiet", "--no-deps", "--no-index", wheel),
        cwd=venv.parent,
    )
    (site_packages(venv) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv


def site_packages(venv: Path) -> Path:
    (found,) = venv.glob("lib/python*/site-packages")
    return found


def write_model(path: Path) -> Path:
    """A convolution with a ReLU."""
    weights = np.random.default_rng(1).standard_normal((8, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["y"]),
        ],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 8, 8])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    return path


def test_wheel_holds_every_source_and_data_file(wheel: Path) -> None:
    expected = {
        f"edgeconv/{module.replace('.', '/')}/{path.relative_to(ROOT / name)}"
        for name, module in LINKED.items()
        for path in (ROOT / name).rglob("*")
        if path.suffix in (*DATA_SUFFIXES, ".py")
    }
    expected |= {str(path.relative_to(ROOT)) for path in (ROOT / "edgeconv").rglob("*.py")}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert "edgeconv/target/boards/host.toml" in expected
    assert expected - packed == set()
    page = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "edgeconv" / "report" / "html").rglob("*")
        if path.suffix in (".j2", ".css", ".js") or path.parent.name == "vendor"
    }
    measuring = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "edgeconv" / "run" / "machine").iterdir()
        if path.suffix in (".c", ".h")
    }
    headers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "edgeconv" / "target" / "backends").rglob("*.h")
    }
    others = {
        "edgeconv/__init__.pyi",
        "edgeconv/py.typed",
        "edgeconv/report/against/schema.json",
        "edgeconv/report/schema.json",
        "edgeconv/search/calibration/hook.c",
    }
    assert packed - expected == others | page | measuring | headers


def test_wheel_has_one_top_level_name_and_the_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"edgeconv"}
    assert any(name.endswith("/LICENSE") for name in names)


def test_linked_folders_are_no_modules_of_their_own(environment: Path) -> None:
    for name in LINKED:
        assert not (site_packages(environment) / name).exists()
    code = f"""
import importlib.util
import edgeconv
assert edgeconv.__file__.startswith({str(environment)!r}), edgeconv.__file__
assert [n for n in {list(LINKED)!r} if importlib.util.find_spec(n)] == []
assert all(importlib.util.find_spec(f"edgeconv.{{n}}") for n in {list(LINKED.values())!r})
"""
    run(environment / "bin" / "python", "-I", "-c", code, cwd=environment)


def test_installed_wheel_compiles_a_model_from_any_directory(
    environment: Path, tmp_path: Path
) -> None:
    model = write_model(tmp_path / "tiny.onnx")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = environment / "bin" / "edgeconv"
    run(command, "compile", model, "--board", "generic-c", "-o", "out", cwd=elsewhere)
    assert (elsewhere / "out" / "tiny.c").is_file()
    assert (elsewhere / "out" / "report.json").is_file()


@pytest.mark.slow
def test_wheel_with_its_own_dependencies_compiles_a_model(wheel: Path, tmp_path: Path) -> None:
    """An empty environment, everything that the wheel declares from the package registry."""
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv, cwd=tmp_path)
    run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    model = write_model(tmp_path / "tiny.onnx")
    run(venv / "bin" / "edgeconv", "compile", model, "--board", "host", "-o", "out", cwd=tmp_path)
    assert (tmp_path / "out" / "tiny.h").is_file()

"""The tools that `bench/quantisers.py` knows, their environments, and the files that they write."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TORCH = "torch==2.13.0"
_ONNXRUNTIME = "onnxruntime==1.32.0"
_SUFFIXES = (".onnx", ".tflite", ".failed")
_BENCH = Path(__file__).absolute().parents[1]


class NotInstalledError(Exception):
    """An interpreter lacks packages: which, and what installs them."""


@dataclass(frozen=True)
class Tool:
    """``module`` of `quantising` runs in an interpreter with ``packages``, whose modules
    ``imports`` are.  ``runtimes``: what its users run the files with, of `quantising.runtimes`, or
    ``torch`` where ``module`` itself saves what its network answers."""

    module: str
    packages: tuple[str, ...]
    imports: tuple[str, ...]
    runtimes: tuple[str, ...] = ("onnxruntime",)


TOOLS: Mapping[str, Tool] = {
    "onnxruntime": Tool(
        "by_onnxruntime",
        (_ONNXRUNTIME, "onnx==1.23.2", "onnx-ir==1.1.0", "sympy"),
        ("onnxruntime.quantization", "onnx_ir", "sympy"),
    ),
    "nncf": Tool(
        "by_nncf",
        (_TORCH, "nncf==3.4.0", "openvino==2026.4.1", "onnx", _ONNXRUNTIME),
        ("nncf", "openvino", "onnx", "onnxruntime"),
        ("openvino", "onnxruntime"),
    ),
    "brevitas": Tool(
        "by_brevitas",
        (_TORCH, "brevitas==0.13.4", "onnx", "onnxoptimizer", _ONNXRUNTIME),
        ("brevitas", "onnxoptimizer", "onnxruntime"),
        ("torch", "onnxruntime"),
    ),
    "esp-ppq": Tool(
        "by_ppq", (_TORCH, "esp-ppq==1.3.12", _ONNXRUNTIME), ("esp_ppq", "onnxruntime")
    ),
    "quark": Tool(
        "by_quark", (_TORCH, "amd-quark==0.13", _ONNXRUNTIME), ("quark.onnx", "onnxruntime")
    ),
    "modelopt": Tool(
        "by_modelopt",
        (_TORCH, "nvidia-modelopt[onnx]==0.47.0"),
        ("modelopt.onnx", "onnxruntime"),
    ),
    "torchao": Tool(
        "by_torchao",
        (_TORCH, "torchao==0.18.0", "onnx", "onnxscript", _ONNXRUNTIME),
        ("torchao", "onnxscript", "onnxruntime"),
        ("torch", "onnxruntime"),
    ),
    "litert-torch": Tool(
        "by_litert_torch",
        (_TORCH, "litert-torch==0.10.0", "onnx"),
        ("litert_torch", "ai_edge_quantizer", "onnx"),
        ("litert", "litert-reference"),
    ),
    "tensorflow": Tool(
        "by_tensorflow",
        ("tensorflow==2.21.0", "onnx", "ai-edge-litert==2.3.0"),
        ("tensorflow", "onnx", "ai_edge_litert"),
        ("litert", "litert-reference"),
    ),
}


def interpreter(name: str, folder: Path, given: Mapping[str, str]) -> str:
    """The one that has the tool ``name``: a new environment in ``folder`` where none is given."""
    if name in given:
        python = given[name]
        return str(Path(python).absolute()) if os.sep in python else python
    home = folder / "environments" / name
    if not home.exists():
        subprocess.run(["python3", "-m", "venv", home], check=True)
        subprocess.run([home / "bin/pip", "install", "-q", *TOOLS[name].packages], check=True)
    return str((home / "bin/python").absolute())


def held_to_packages(name: str, python: str) -> None:
    """Raise `NotInstalledError` where ``python`` is none, or cannot import what the tool needs."""
    tool = TOOLS[name]
    looks = "import importlib, sys\nfor each in sys.argv[1:]: importlib.import_module(each)"
    hint = f"{python} -m pip install {' '.join(tool.packages)}"
    try:
        tried = subprocess.run(
            [python, "-c", looks, *tool.imports], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise NotInstalledError(f"{name}: no interpreter at {python}: {error.strerror}") from error
    if tried.returncode:
        last = tried.stderr.strip().splitlines()[-1:]
        raise NotInstalledError(f"{name}: {' '.join(last)}; {hint}")


def files(name: str, folder: Path) -> list[Path]:
    """What lies in ``folder`` of the tool ``name``, by network and option."""
    return sorted(path for suffix in _SUFFIXES for path in (folder / name).glob(f"*{suffix}"))


def write_files(
    name: str, folder: Path, given: Mapping[str, str], networks: Path, only: Sequence[str]
) -> None:
    """Let the tool quantise all networks, with the options ``only``, all of them where it is empty;
    ``given``: interpreters by tool.  Raises `NotInstalledError`."""
    python = interpreter(name, folder, given)
    held_to_packages(name, python)
    paths = str(networks.absolute()), str((folder / name).absolute())
    options = ["--only", *only] if only else []
    command = [python, "-m", f"quantising.{TOOLS[name].module}", *paths, *options]
    _run(command, folder, f"{name}.log")


def write_answers(name: str, folder: Path, given: Mapping[str, str], only: Sequence[str]) -> None:
    """Let the runtimes of the tool run its files, each FILE to FILE.RUNTIME.npz, where neither that
    nor their refusal lies there; ``given``: interpreters by tool.  Raises `NotInstalledError`."""
    wanted = [
        (path, runtime)
        for runtime in TOOLS[name].runtimes
        for path in files(name, folder)
        if path.suffix != ".failed" and (not only or path.name.split(".")[1] in only)
        if runtime != "torch" and not (answers := answers_path(path, runtime)).exists()
        if not answers.with_suffix(".refused").exists()
    ]
    if not wanted:
        return
    python = interpreter(name, folder, given)
    held_to_packages(name, python)
    asked = [f"{runtime}={path.absolute()}" for path, runtime in wanted]
    _run([python, "-m", "quantising.runtimes", *asked], folder, f"{name}.runtimes.log")


def answers_path(model: Path, runtime: str) -> Path:
    """Where the answers of a runtime to a file lie."""
    return model.with_name(f"{model.name}.{runtime}.npz")


def _run(command: Sequence[str], folder: Path, log: str) -> None:
    """Run in ``folder``, where tools leave files, and keep what they say."""
    environment = {**os.environ, "PYTHONPATH": str(_BENCH)}
    with (folder / log).open("w") as out:
        subprocess.run(command, env=environment, stdout=out, stderr=out, check=True, cwd=folder)

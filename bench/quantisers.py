"""What quantisers of today write of six small networks, and what becomes of it.

    python bench/quantisers.py FOLDER [--tool NAME ...] [--option NAME ...] [--board NAME ...]
        [--python NAME=PATH ...] [--run]

Makes a virtual environment for each tool in FOLDER, or takes the interpreter that ``--python``
names, which has the packages of `TOOLS`; lets the tool quantise each network with each of its
options; and prints a line for each tool and option.  By network: layers computed in integers, of
those with multiply-accumulates; the share of these; milliseconds, as far as the board's file
predicts some; bytes of RAM.  ``--run`` compiles them for ``host`` too, and adds whether verify
finds them equal to the model, and the largest difference from ONNX Runtime without optimisation,
in steps of the output; of .tflite files from LiteRT's reference kernels.  Their option ``dynamic``
is compiled with ``--requantise tflite``.  Files in FOLDER are taken
as they are: remove FOLDER/TOOL to make them again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quantising.networks import NETWORKS, write_networks

import edgeconv
from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.requantisation import EXACT, TFLITE
from edgeconv.run.verify.inputs import seeded, write_tensors
from edgeconv.run.verify.program import run_program
from edgeconv.search.options import CompileOptions

_TORCH = "torch==2.13.0"
_RESULTS = (".onnx", ".tflite", ".failed")


@dataclass(frozen=True)
class Tool:
    """``module`` of `quantising` runs in an interpreter with ``packages``."""

    module: str
    packages: tuple[str, ...]


TOOLS: Mapping[str, Tool] = {
    "onnxruntime": Tool(
        "by_onnxruntime", ("onnxruntime==1.32.0", "onnx==1.23.2", "onnx-ir==1.1.0", "sympy")
    ),
    "nncf": Tool("by_nncf", (_TORCH, "nncf==3.4.0", "openvino==2026.4.1", "onnx", "onnxruntime")),
    "brevitas": Tool(
        "by_brevitas", (_TORCH, "brevitas==0.13.4", "onnx", "onnxoptimizer", "onnxruntime")
    ),
    "esp-ppq": Tool("by_ppq", (_TORCH, "esp-ppq==1.3.12", "onnxruntime")),
    "quark": Tool("by_quark", (_TORCH, "amd-quark==0.13", "onnxruntime")),
    "modelopt": Tool("by_modelopt", (_TORCH, "nvidia-modelopt[onnx]==0.47.0")),
    "torchao": Tool("by_torchao", (_TORCH, "torchao==0.18.0", "onnx", "onnxscript")),
    "litert-torch": Tool("by_litert_torch", (_TORCH, "litert-torch==0.10.0", "onnx")),
    "tensorflow": Tool("by_tensorflow", ("tensorflow==2.21.0", "onnx")),
}


@dataclass(frozen=True)
class Outcome:
    """What becomes of one file.  ``layers``: computed in integers, of all with
    multiply-accumulates; ``share``: of these, in per cent.  ``milliseconds``: None where nothing is
    predicted.  ``refused``: why there is no program, "" where there is one."""

    layers: tuple[int, int] = (0, 0)
    share: int = 0
    milliseconds: float | None = None
    ram: int = 0
    refused: str = ""
    ran: str = ""

    def cell(self) -> str:
        """As a cell of the table."""
        if self.refused:
            return self.refused
        time = "" if self.milliseconds is None else f", {self.milliseconds:.1f} ms"
        ran = f"; {self.ran}" if self.ran else ""
        done, of = self.layers
        return f"{done} of {of}, {self.share} %{time}, {self.ram:,}{ran}"


def outcome_of(report: Mapping[str, Any]) -> Outcome:
    """What the report of a compiled network says."""
    found = report.get("integers") or {"layers": 0, "of_layers": 0, "macs": 0, "of_macs": 0}
    times = [layer["predicted_ms"] for layer in report["layers"]]
    known = all(time is not None for time in times)
    return Outcome(
        layers=(found["layers"], found["of_layers"]),
        share=100 * found["macs"] // max(1, found["of_macs"]),
        milliseconds=sum(times) if known else None,
        ram=report["ram"]["total"],
    )


def table(outcomes: Mapping[tuple[str, str, str], Outcome]) -> Iterator[str]:
    """Markdown of outcomes by tool, option and network: a line for each tool and option, a column
    for each network."""
    columns = list(dict.fromkeys(network for *_, network in outcomes))
    yield f"| tool, option | {' | '.join(columns)} |"
    yield f"|{'---|' * (len(columns) + 1)}"
    for tool, option in dict.fromkeys((tool, option) for tool, option, _ in outcomes):
        cells = (outcomes.get((tool, option, column)) for column in columns)
        texts = ("" if each is None else each.cell() for each in cells)
        yield f"| {tool}, {option} | {' | '.join(texts)} |"


def interpreter(name: str, folder: Path, given: Mapping[str, str]) -> str:
    """The one that has the tool ``name``: a new environment in ``folder`` where none is given."""
    if name in given:
        return given[name]
    home = folder / "environments" / name
    if not home.exists():
        subprocess.run(["python3", "-m", "venv", home], check=True)
        subprocess.run([home / "bin/pip", "install", "-q", *TOOLS[name].packages], check=True)
    return str(home / "bin/python")


def written(name: str, folder: Path, python: str, networks: Path) -> list[Path]:
    """What the tool writes of all networks, by network and option."""
    results = folder / name
    if not results.exists():
        paths = str(networks.absolute()), str(results.absolute())
        python = str(Path(python).absolute()) if os.sep in python else python
        command = [python, "-m", f"quantising.{TOOLS[name].module}", *paths]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).absolute().parent)}
        log = folder / f"{name}.log"
        with log.open("w") as out:  # tools leave files where they run
            subprocess.run(command, env=environment, stdout=out, stderr=out, check=True, cwd=folder)
    return sorted(path for suffix in _RESULTS for path in results.glob(f"*{suffix}"))


def compiled(model: Path, board: str, *, run: bool) -> Outcome:
    """What becomes of a file, or why the tool has written none."""
    if model.suffix == ".failed":
        return Outcome(refused="not written")
    with tempfile.TemporaryDirectory() as folder:
        try:
            options = CompileOptions(model, board, requantise=_way_of(model))
            project, _ = compile_model(options, Path(folder) / "net")
        except EdgeconvError as error:
            return Outcome(refused=f"refused: {error.what}")
        found = outcome_of(project.report)
    if not run:
        return found
    ran = _ran_as_litert if model.suffix == ".tflite" else _ran
    return Outcome(**{**vars(found), "ran": ran(model)})


def _way_of(model: Path) -> str:
    """Dynamic range files of TensorFlow Lite leave it to the engine how layers are computed."""
    dynamic = model.suffix == ".tflite" and model.name.split(".")[1] == "dynamic"
    return TFLITE if dynamic else EXACT


def _ran_as_litert(model: Path) -> str:
    """What verify says of a .tflite file on this machine, and how far its program, with LiteRT's
    roundings where it has kernels of these, is from LiteRT's reference kernels."""
    from converters import compared, runs  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        for way in ("tflite", "exact"):
            with suppress(EdgeconvError):
                program = edgeconv.compile(model, "host", Path(folder) / way, requantise=way)
                verdict = "equal" if program.verify().passed else "differs"
                return f"{verdict}, {compared(program, runs(model.with_suffix('.npz')))} ({way})"
    return "not run"


def _ran(model: Path) -> str:
    """What verify says of a file on this machine, and how far its runtime is."""
    from quantised_steps import session, steps  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        project, _ = compile_model(CompileOptions(model, "host"), Path(folder) / "net", build=True)
        try:
            verdict = "equal" if verify_project(Path(folder) / "net").passed else "differs"
        except EdgeconvError as error:
            return f"not verified: {error.what}"
        feeds, outputs = seeded(project.inputs, 0), [port.name for port in project.outputs]
        write_tensors(project.input_file, feeds, project.inputs)
        binary = project.build(run_here=True)
        got = run_program(project, binary, layers=False)[0]
        with suppress(Exception):  # whatever ONNX Runtime raises: verify had another engine
            engine = session(model, "unoptimised")
            want = dict(zip(outputs, engine.run(outputs, feeds), strict=True))
            return f"{verdict}, {steps(project.outputs, got, want):.3g}"
    return f"{verdict}, runtime refuses"


def measure(
    files: Iterable[Path], tool: str, board: str, *, run: bool
) -> Iterator[tuple[tuple[str, str, str], Outcome]]:
    """Of each file NETWORK.OPTION.SUFFIX what becomes of it."""
    for path in files:
        network, option, _ = path.name.split(".")
        yield (tool, option, network), compiled(path, board, run=run)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tool", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--python", nargs="+", default=[], metavar="NAME=PATH")
    parser.add_argument("--board", nargs="+", default=["mps2-an500"])
    parser.add_argument("--option", nargs="+", help="these alone")
    parser.add_argument("--run", action="store_true")
    given = parser.parse_args(arguments)
    pythons = dict(each.split("=", 1) for each in given.python)
    networks = given.folder / "networks"
    if not networks.exists():
        write_networks(networks)
    for board in given.board:
        found: dict[tuple[str, str, str], Outcome] = {}
        for tool in given.tool:
            python = interpreter(tool, given.folder, pythons)
            files = written(tool, given.folder, python, networks)
            chosen = [f for f in files if not given.option or f.name.split(".")[1] in given.option]
            found.update(measure(chosen, tool, board, run=given.run))
        ordered = {key: found[key] for key in sorted(found, key=_place)}
        print(f"\n{board}\n")
        print("\n".join(table(ordered)), flush=True)


def _place(key: tuple[str, str, str]) -> tuple[int, str, int]:
    tool, option, network = key
    return list(TOOLS).index(tool), option, list(NETWORKS).index(network)


if __name__ == "__main__":
    main()

"""Instructions of one inference of programs for 64-bit Arm cores beside engines', under QEMU.

    python bench/arm_engines.py MODEL.onnx [MODEL.onnx ...] [--engines FOLDER]
        [--board raspberry-pi-4 ...] [--only float32 ...] [--pnnx PATH] [--layers] [--json]

Without FOLDER programs are counted alone.  It has an AArch64 Python in FOLDER/root, with its
libraries, and onnxruntime, ncnn and numpy of its own in FOLDER/site (bench/README.md says how to
come by them).  ncnn takes models that pnnx converts, which is looked for on the PATH; without it,
or where it fails, there is no ncnn.

A line for each model, board and type, millions of instructions, and the program's over those of the
engine with the fewest:

    float32   beside ONNX Runtime and ncnn in float32
    float16   beside ncnn in float16, on boards whose core has that
    int8      of quantised models, beside ONNX Runtime and ncnn in int8

All with one thread; the difference of three inferences and one, halved.  ``--layers``: below it a
line for each function of layers with equal plans: how many layers, millions of instructions, the
least that their multiply-adds take, the first over the second, and the first layer.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import onnx
from counting.compiled import counted, of_one
from counting.layers import CountedFunction, by_function
from counting.ncnn_int8 import quantise, without_rounding
from counting.program import HERE, build_plugin, executed
from telling import errors_told

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from edgeconv.target.targets import FLOAT16

BOARDS = ("raspberry-pi-3", "raspberry-pi-4", "raspberry-pi-5")  # Cortex-A53, A72, A76
QUANTISED = frozenset({"QuantizeLinear", "QLinearConv", "QLinearMatMul"})
ENGINES: Mapping[str, tuple[str, ...]] = {
    "float32": ("onnxruntime", "ncnn"),
    "float16": ("ncnn16",),
    "int8": ("onnxruntime", "ncnn8"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """Instructions of one inference: of the program, and of engines by name."""

    model: str
    board: str
    type: str
    program: int
    engines: Mapping[str, int]
    functions: Sequence[CountedFunction] = ()

    @property
    def ratio(self) -> float | None:
        """The program's over those of the engine with the fewest; None without an engine."""
        return self.program / min(self.engines.values()) if self.engines else None

    def __str__(self) -> str:
        beside = "  ".join(f"{name} {1e-6 * n:8.1f}" for name, n in self.engines.items())
        ratio = "" if self.ratio is None else f"{self.ratio:8.3f}"
        head = f"{self.model:24}{self.board:22}{self.type:8}"
        total = f"{head}{1e-6 * self.program:9.1f}{ratio}  {beside}".rstrip()
        return "\n".join([total, *map(str, self.functions)])


class Engines:
    """Those of an AArch64 Python, on models that lie in ``folder`` once they are converted."""

    def __init__(self, place: Path, pnnx: str, folder: Path) -> None:
        """Raises EdgeconvError where ``place`` has no AArch64 Python."""
        found = sorted((place / "root" / "usr" / "bin").glob("python3.*[0-9]"))
        if not found or not (place / "site").is_dir():
            raise EdgeconvError(
                "no AArch64 Python with engines",
                where=str(place),
                rule="has root/usr/bin/python3.N and site",
                hint="bench/README.md says how to make such a folder",
                code=Exit.MISSING_TOOL,
            )
        self._place, self._python, self._folder = place.resolve(), found[-1].resolve(), folder
        self._pnnx = shutil.which(pnnx)
        self._plugin = build_plugin(folder)

    def instructions(self, engine: str, model: Path, board: Board) -> int | None:
        """Of one inference; None, with a note, where the engine does not take the model."""
        try:
            arguments = self._arguments(engine, model)
            return of_one(lambda runs: self._run(engine, arguments, runs, board))
        except EdgeconvError as error:
            print(f"{engine}, {model.name}: {error.one_line()}", file=sys.stderr)
            return None

    def _arguments(self, engine: str, model: Path) -> tuple[str, ...]:
        """The model as the engine takes it, and behind it the sizes of the input, if need be."""
        if engine == "onnxruntime":
            return (str(model.resolve()),)
        sizes = _sizes(model)
        converted = self._folder / model.stem
        if not converted.with_name(f"{model.stem}.ncnn.param").exists():
            self._convert(model, sizes, converted)
        if engine == "ncnn8":
            floats, converted = converted, converted.with_name(f"{model.stem}_int8")
            quantise(floats, converted)
        return str(converted), ",".join(map(str, sizes[1:]))

    def _convert(self, model: Path, sizes: Sequence[int], converted: Path) -> None:
        if self._pnnx is None:
            raise EdgeconvError("no pnnx to convert models for ncnn", code=Exit.MISSING_TOOL)
        copy = converted.with_suffix(".onnx")  # pnnx writes beside it
        if is_quantised(model):
            onnx.save(without_rounding(model), copy)
        else:
            shutil.copyfile(model, copy)
        shape = "[" + ",".join(map(str, sizes)) + "]"
        command = [self._pnnx, copy.name, f"inputshape={shape}"]
        subprocess.run(command, cwd=self._folder, capture_output=True, check=False)
        if not converted.with_name(f"{model.stem}.ncnn.param").exists():
            raise EdgeconvError("pnnx did not convert the model", where=str(model))

    def _run(self, engine: str, arguments: Sequence[str], runs: int, board: Board) -> int:
        model, *shape = arguments
        environment = f"PYTHONPATH={self._place / 'site'},OMP_NUM_THREADS=1"
        command = ["qemu-aarch64", "-cpu", _core(board), "-L", str(self._place / "root")]
        command += ["-E", environment, str(self._python), str(HERE / "engine.py")]
        command += [engine, model, str(runs), *shape]
        return executed(command, self._plugin, board, self._folder)


def _core(board: Board) -> str:
    """The core that the board's emulator stands in for.  Raises EdgeconvError."""
    command = list(board.run.command)
    if "-cpu" not in command or not command[0].endswith("aarch64"):
        raise EdgeconvError("no core of AArch64 under QEMU", where=f"board {board.name}")
    return command[command.index("-cpu") + 1]


def _sizes(model: Path) -> list[int]:
    """Those of the only input; free dimensions are 1.  Raises EdgeconvError of several inputs."""
    graph = onnx.load(model, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [port for port in graph.input if port.name not in constants]
    if len(inputs) != 1:
        raise EdgeconvError("ncnn is given one input", where=str(model), got=f"{len(inputs)}")
    return [size.dim_value or 1 for size in inputs[0].type.tensor_type.shape.dim]


def is_quantised(model: Path) -> bool:
    graph = onnx.load(model, load_external_data=False).graph
    return any(node.op_type in QUANTISED for node in graph.node)


def types_of(model: Path, board: Board) -> tuple[str, ...]:
    """Element types in which a model is computed on a board: keys of `ENGINES`."""
    if is_quantised(model):
        return ("int8",)
    return ("float32", "float16") if FLOAT16 in board.target.features else ("float32",)


def rows(
    models: Sequence[Path],
    chosen: Sequence[Board],
    only: Sequence[str],
    engines: Engines | None,
    *,
    layers: bool = False,
) -> Iterator[Row]:
    """Model by model, for each board every type that both have, or of these those of ``only``;
    without ``engines`` programs alone."""
    for model in models:
        for board in chosen:
            for each in types_of(model, board):
                if only and each not in only:
                    continue
                half = each == "float16"
                counts = (
                    {name: engines.instructions(name, model, board) for name in ENGINES[each]}
                    if engines
                    else {}
                )
                program = counted(model, board, float16=half).instructions
                taken = {name: count for name, count in counts.items() if count is not None}
                functions = by_function(model, board, float16=half) if layers else ()
                yield Row(model.stem, board.name, each, program, taken, functions)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--engines", type=Path, metavar="FOLDER")
    parser.add_argument("--board", action="append", help=f"default: {', '.join(BOARDS)}")
    parser.add_argument("--only", nargs="+", choices=tuple(ENGINES), default=())
    parser.add_argument("--pnnx", default="pnnx", metavar="PATH")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found: list[Row] = []
    with errors_told(), tempfile.TemporaryDirectory() as folder:
        engines = Engines(args.engines, args.pnnx, Path(folder)) if args.engines else None
        chosen = [boards.load(name) for name in args.board or BOARDS]
        for row in rows(args.models, chosen, args.only, engines, layers=args.layers):
            found.append(row)
            if not args.json:
                print(row, flush=True)
    if args.json:
        keys = ("model", "board", "type", "program", "ratio")
        lines = [
            {key: getattr(row, key) for key in keys}
            | {"engines": row.engines, "functions": [asdict(each) for each in row.functions]}
            for row in found
        ]
        print(json.dumps(lines, indent=2))
    for each in ENGINES:
        ratios = [row.ratio for row in found if row.type == each and row.ratio]
        if ratios and not args.json:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{each}: geometric mean of {len(ratios)}: {mean:.3f}, most {max(ratios):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

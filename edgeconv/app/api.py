"""The Python interface of edgeconv: compile a model, load a project, run it.

    import edgeconv

    program = edgeconv.compile("model.onnx", board="raspberry-pi-4", directory="model_c")
    outputs = program.run({"image": image})
    print(program.report["ram"]["total"], program.bench(runs=50).median_ms)

What the command line takes, this takes, and checks it in the same way.  Everything that can go
wrong with a model, a board, a budget or a tool raises `EdgeconvError`, whose ``code`` is what the
command line would exit with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import click
import numpy as np
import numpy.typing as npt

from edgeconv.app import pipeline
from edgeconv.app.cli.commands import usage_error
from edgeconv.app.cli.program import COMPILE
from edgeconv.app.cli.run.compile_options import compile_options
from edgeconv.app.quantise import QuantisedModel, quantise_model
from edgeconv.base.arguments import DEFAULT_RUNS, pair
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.base.progress import Progress, no_progress
from edgeconv.model import model_path
from edgeconv.report import files
from edgeconv.run.bench import LayerTime, Timing
from edgeconv.run.build.project import Port, Project
from edgeconv.run.inference import converted
from edgeconv.run.verify import Verification
from edgeconv.search.calibration.metric import MetricFunction
from edgeconv.search.quantising.layers import QuantisedLayer

__all__ = [
    "EdgeconvError",
    "Layer",
    "LayerTime",
    "MetricFunction",
    "Options",
    "Port",
    "Program",
    "QuantisedLayer",
    "QuantisedModel",
    "Timing",
    "Verification",
    "compile",
    "load",
    "quantise",
]

Array = npt.NDArray[np.generic]
StrPath = str | os.PathLike[str]
_OF_COMPILE_ALONE = (
    *("require_int8", "selftest", "resumable", "states_apart", "bound_cycles", "max_cycles"),
    "model_version",
)


class Options(TypedDict, total=False):
    """What `compile` may be asked for: the options of ``edgeconv compile``, by their names there
    with underscores.  Sizes are bytes or words as "512K"; options that name layers, inputs or
    tensors are mappings."""

    name: str
    input: Sequence[str]
    output: Sequence[str]
    rename: Mapping[str, str]
    input_shape: Mapping[str, Sequence[int]]
    input_value: Mapping[str, float | Sequence[float]]
    max_size: Mapping[str, int]
    algorithm: Mapping[str, str]
    winograd_error: float
    storage: Mapping[str, str]
    tuned: Sequence[StrPath]
    ram: int | str
    flash: int | str
    calibration: StrPath
    int8: StrPath
    metric: str
    min_sqnr: float
    max_drop: float
    objective: str
    float16: bool
    rounding: str
    requantise: str
    weights: str
    input_layout: str
    io: str
    code: str
    threads: int
    require_int8: bool
    model_version: str
    place: Mapping[str, str]
    selftest: bool
    resumable: bool
    states_apart: bool
    bound_cycles: bool
    pareto: bool
    max_cycles: int
    state: Sequence[str]
    initial_states: StrPath
    stream: Mapping[str, int]
    stream_borders: str
    preprocess: StrPath


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a program, in the order in which they run.

    ``op``: the operation; ``algorithm``: how it is computed, "" where there is but
    one way.  ``macs``: multiply-accumulates of one inference.  ``weight_bytes`` lie in flash,
    ``output_bytes`` and ``workspace_bytes`` in the arena.  ``predicted_ms``: None where the board
    states too little.
    """

    name: str
    op: str
    algorithm: str
    macs: int
    weights: str
    weight_bytes: int
    output_shape: tuple[int, ...]
    output_bytes: int
    workspace_bytes: int
    predicted_ms: float | None


class Program:
    """A compiled project in a folder.  It is built when it is first run, and again when its sources
    change.  Made by `compile` and `load`."""

    def __init__(self, project: Project, notes: tuple[str, ...] = ()) -> None:
        self._project = project
        self.notes = notes  # what compiling had to say, a sentence each

    @property
    def directory(self) -> Path:
        """The folder of the C project."""
        return self._project.directory

    @property
    def name(self) -> str:
        """The prefix of its files and symbols."""
        return self._project.name

    @property
    def report(self) -> Mapping[str, Any]:
        """The document in its report.json, as it is now: sizes in bytes, times in milliseconds."""
        return Project.open(self.directory).report

    @property
    def inputs(self) -> tuple[Port, ...]:
        """Name, shape and element type of every input, in the model's order."""
        return self._project.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """Name, shape and element type of every output, in the model's order."""
        return self._project.outputs

    def run(self, inputs: Mapping[str, npt.ArrayLike] | npt.ArrayLike) -> dict[str, Array]:
        """One inference: the outputs by name, of the shapes in `outputs`.

        ``inputs``: an array per input by name; the array itself where there is one input.  Its
        shape is the input's, (N, C, H, W) as the model has it; numbers are converted where the
        element type holds them.  The program runs here, under the emulator of its board, or on the
        board, as the board's file says.  Raises EdgeconvError: inputs that do not fit (``code`` 2),
        no compiler or emulator (3), a program that fails (1).
        """
        return self.run_all([inputs])[0]

    def run_all(
        self, samples: Iterable[Mapping[str, npt.ArrayLike] | npt.ArrayLike], *, ssh: str = ""
    ) -> list[dict[str, Array]]:
        """`run` of many inputs, in one process.  A program with states starts from their initial
        values, and each run reads what the one before has left; so they are frames of one sequence.

        ``ssh``: the board to run it on, as ssh takes it, in place of that of `load`.
        """
        arrays = [converted(self._by_name(sample), self.inputs) for sample in samples]
        if not arrays:
            return []
        return pipeline.run_project(self.directory, arrays, ssh=ssh or self._project.ssh)[0]

    def layers(self) -> tuple[Layer, ...]:
        """Its layers, in the order in which they run."""
        return tuple(_layers(self.report["layers"]))

    def bench(
        self,
        *,
        runs: int = DEFAULT_RUNS,
        layers: bool = False,
        ssh: str = "",
        progress: Progress = no_progress,
    ) -> Timing:
        """Times of ``runs`` inferences on this machine or on its board, and of each layer with
        ``layers``.  ``ssh``: as of `run_all`.  Raises EdgeconvError, with ``code`` 2 where programs
        of the board are emulated."""
        return pipeline.bench_project(
            self.directory,
            runs=runs,
            layers=layers,
            ssh=ssh or self._project.ssh,
            progress=progress,
        )

    def verify(
        self,
        *,
        model: StrPath | None = None,
        inputs: StrPath | None = None,
        steps: int | None = None,
        layers: bool = False,
        tolerance: float | None = None,
        ssh: str = "",
        progress: Progress = no_progress,
    ) -> Verification:
        """Compare the program with its model; ``passed`` of the result is the verdict.

        ``model``: if it has moved; ``inputs``: an .npz file in place of seeded ones; ``steps``:
        runs of a program with states that follow each other; ``tolerance``: largest error over
        largest output; ``ssh``: as of `run_all`.  Raises EdgeconvError where that cannot be done.
        """
        return pipeline.verify_project(
            self.directory,
            model=Path(model) if model else None,
            inputs=Path(inputs) if inputs else None,
            steps=steps,
            layers=layers,
            tolerance=tolerance,
            ssh=ssh or self._project.ssh,
            progress=progress,
        )

    def write_html(self, path: StrPath) -> Path:
        """Write the report as one page that works offline; ``path`` as a Path.  Raises
        EdgeconvError (``code`` 2) where that cannot be done, or a file is there that is none of
        edgeconv's."""
        files.write_html(self.report, Path(path))
        return Path(path)

    def _by_name(
        self, inputs: Mapping[str, npt.ArrayLike] | npt.ArrayLike
    ) -> Mapping[str, npt.ArrayLike]:
        if isinstance(inputs, Mapping):
            return inputs
        if len(self.inputs) != 1:
            raise UsageError(
                "inputs without names",
                where=str(self.directory),
                got=f"a program of {len(self.inputs)} inputs",
                hint="give a dict of arrays: " + ", ".join(port.name for port in self.inputs),
            )
        return {self.inputs[0].name: inputs}

    def __repr__(self) -> str:
        board = self._project.report["board"]
        return f"<edgeconv program {self.name} for {board} in {self.directory}>"


def compile(  # noqa: A001 - edgeconv.compile
    model: StrPath,
    board: StrPath,
    directory: StrPath | None = None,
    *,
    build: bool = False,
    progress: Progress = no_progress,
    **options: Unpack[Options],
) -> Program:
    """Compile a model, ONNX or TensorFlow Lite, to a C project for a board.

    ``board``: a name that ``edgeconv boards`` lists, or a file.  ``directory``: the project's
    folder, by default the model's name in the working directory; a project of edgeconv's there is
    replaced.  ``build``: compile the C too, and hold the code to the flash budget.  ``options``:
    see `Options`.  Raises EdgeconvError, and then the folder is as it was.
    """
    words = [os.fspath(model), "--board", os.fspath(board), *_words(options)]
    try:
        given = COMPILE.make_context("edgeconv compile", words).params
    except click.UsageError as error:
        raise usage_error(error) from None
    alone = {name: given.pop(name) for name in _OF_COMPILE_ALONE}
    beside = {name: value for name, value in alone.items() if value is not None}
    for name in ("directory", "build", "verify", "report", "as_json"):
        given.pop(name)
    pareto = given.pop("pareto")
    model_path.require(given["model"])
    asked = replace(compile_options(**given), **beside)
    build = build or asked.bound_cycles or asked.max_cycles is not None
    folder = Path(directory if directory is not None else asked.prefix)
    project, notes = pipeline.compile_model(
        asked, folder, build=build, pareto=pareto, progress=progress
    )
    return Program(project, notes)


def quantise(
    model: StrPath,
    samples: StrPath,
    output: StrPath,
    *,
    min_sqnr: float | None = None,
    max_drop: float | None = None,
    effort: Literal["fast", "thorough"] = "fast",
    state: Sequence[str] = (),
    metric: str | MetricFunction | None = None,
    progress: Progress = no_progress,
) -> QuantisedModel:
    """Quantise a float32 model to int8 by samples and write it as ONNX (QuantizeLinear and
    DequantizeLinear), which `compile` and other tools take.

    ``samples``: an .npz file with an array per input, (S, N, C, H, W) of S samples, and optionally
    `label`.  ``min_sqnr`` in dB and ``max_drop``, a share of the labels: layers stay float32 where
    all lose more; where neither is given, where the outputs were off by a third (10 dB).
    ``state``: "OUT=IN" of outputs that are inputs of the next run; samples may be sequences then,
    (S, T, N, C, H, W) of T runs each.  ``metric``: accuracy by a function
    ``f(outputs, float32, labels) -> float``, or by ``"module:function"``, the higher the better;
    each is a dict of arrays by name, outputs of shape (S, *shape), and ``max_drop`` is then how
    much less it may be than in float32.  `edgeconv.metrics` has some.  What each layer lost and
    gained is in the result.  Raises EdgeconvError.
    """
    model_path.require(Path(model))
    return quantise_model(
        Path(model),
        Path(samples),
        Path(output),
        min_sqnr=min_sqnr,
        max_drop=max_drop,
        effort=effort,
        states=tuple(map(pair, state)),
        metric=metric,
        progress=progress,
    )


def load(directory: StrPath, *, ssh: str = "") -> Program:
    """The program in a folder that `compile` or ``edgeconv compile`` wrote.

    ``ssh``: where the board is that it runs on.  Raises EdgeconvError (``code`` 2) where there is
    none.
    """
    return Program(Project.open(Path(directory), ssh=ssh))


def _words(options: Options) -> Iterator[str]:
    """The command line of ``options``."""
    known = Options.__annotations__
    for name, value in options.items():
        if name not in known:
            rule = did_you_mean(name, known)
            raise UsageError("no such option of edgeconv.compile", got=repr(name), rule=rule)
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            yield from (option,) if value else ()
        elif isinstance(value, Mapping):
            for key, each in value.items():
                yield from (option, f"{key}={_value(each, 'x' if name == 'input_shape' else ',')}")
        elif isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
            yield from (option, _value(value, ","))
        else:
            for each in value:
                yield from (option, _value(each, ","))


def _value(value: object, separator: str) -> str:
    if isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
        return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    return separator.join(map(str, value))


def _layers(entries: Sequence[Mapping[str, Any]]) -> Iterator[Layer]:
    for entry in entries:
        yield Layer(
            name=entry["name"],
            op=entry["op"],
            algorithm=entry.get("algorithm") or "",
            macs=entry["macs"],
            weights=entry["storage"]["weights"] or "",
            weight_bytes=entry["weight_bytes"],
            output_shape=tuple(entry["output_shape"]),
            output_bytes=entry["output_bytes"],
            workspace_bytes=entry["workspace_bytes"],
            predicted_ms=entry["predicted_ms"],
        )

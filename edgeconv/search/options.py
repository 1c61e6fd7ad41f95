"""What the user asks of a compilation."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgeconv.base import limits
from edgeconv.base.arguments import NEAREST, OF_WINDOW, SIZE, SPEED, TRUNCATE, shape_word
from edgeconv.codegen.c_names import prefix as c_prefix
from edgeconv.codegen.c_names import require_prefix
from edgeconv.ir.layout import Shape
from edgeconv.ir.requantisation import EXACT
from edgeconv.model.frontend.cut import WHOLE, Cut
from edgeconv.search.budget.tables import Objective

MODEL_LAYOUT, ANY_LAYOUT = "model", "any"
ALL_INT8 = {"*:output": "int8"}  # the storage of a network that is quantised whole


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What to compile, for what, and what is asked of the result.

    ``name``: prefix of files and symbols, "" for one made from the model's file name.  ``ram`` and
    ``flash``: budgets in bytes; where absent, what the board has.  ``storage``: formats by layer
    (of its filters; of its result with ``:output`` behind the name), ``*`` for all layers.
    ``winograd_error``: of the outputs, in parts of their largest, within which layers may be
    computed by Winograd's algorithm; None for the default (`deciding.WinogradDecision`).
    ``calibration``: samples to measure accuracy on.  ``int8``: a float32 network is quantised to
    int8 by them, all of it that can be; ``metric``: ``module:function``, what accuracy then is.
    ``min_sqnr`` in dB and ``max_drop``, a share of the labels: what may be lost of it;
    ``objective``: what to make smallest within that, "" for latency where the board predicts it,
    else memory.
    ``io``: who keeps inputs and outputs, "caller" or "arena"; "" for the caller, or
    where RAM is to be small and a board has no operating system the arena (`io_on`).
    ``code``: what the compiler optimises the network for, one of `CODE`; "" for the size where RAM
    is to be small and a board has no operating system, else for speed (`code_on`).
    ``input_layout``: that of inputs and outputs, "model" or "any": what is best, of layouts that
    pad nothing.
    ``states``: outputs, each with the input that it is in the next run.
    ``initial_states``: an .npz file of what states are before the first run.
    ``streams``: inputs that are windows which slide, by name the axis and by how many rows.
    ``stream_borders``: what layers that pad them read at their ends, one of `BORDERS`.
    ``preprocess``: the file that says what the camera delivers whose frames are an input.
    ``renames``: what the C API is to call inputs and outputs, by name (``codegen.port_names``).
    ``places``: memories of the board by part (weights, arena, io) or pattern of layers' names.
    ``selftest``: the library has a function that compares an inference with its known outputs.
    ``tuned``: files of measured times, which replace predicted ones when kernels are chosen.
    ``max_sizes``: the most that is kept of what nodes find at run time, by the names of results.
    ``threads``: cores that share the layers.  ``cut``: the part of the model that is meant.
    ``rounding``: how numbers are brought to a format, one of ROUNDINGS.
    ``requantise``: how results in integers are rounded, a row of `ARITHMETICS`: as the model says,
    or as TensorFlow Lite's kernels do.
    ``float16``: layers are computed on vectors of it, where kernels and the core can.
    ``resumable``: the library has a function that computes a run in bounded steps.
    ``states_apart``: states lie in bytes of their own, which may be anywhere.
    ``require_int8``: a layer of a quantised model that would be computed in float32 is an error.
    ``model_version``: what the user calls this version of the model, for the header and reports.
    ``quoted``: the command line that these options were made of, where it says something else.
    ``bound_cycles``: the most cycles of an inference are found; ``max_cycles``: no more than these.
    """

    model: Path
    board: str
    name: str = ""
    input_shapes: Mapping[str, Shape] = field(default_factory=dict)
    max_sizes: Mapping[str, int] = field(default_factory=dict)
    algorithms: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)
    ram: int | None = None
    flash: int | None = None
    io: str = ""
    code: str = ""
    input_layout: str = MODEL_LAYOUT
    weights_as_c: bool = False
    calibration: Path | None = None
    int8: bool = False
    metric: str = ""
    winograd_error: float | None = None
    min_sqnr: float | None = None
    max_drop: float | None = None
    objective: str = ""
    rounding: str = NEAREST
    requantise: str = EXACT
    cut: Cut = WHOLE
    states: tuple[tuple[str, str], ...] = ()
    initial_states: Path | None = None
    streams: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    stream_borders: str = OF_WINDOW
    preprocess: Path | None = None
    renames: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    selftest: bool = False
    threads: int = 1
    tuned: tuple[Path, ...] = ()
    require_int8: bool = False
    float16: bool = False
    resumable: bool = False
    model_version: str = ""
    states_apart: bool = False
    quoted: str = ""
    bound_cycles: bool = False
    max_cycles: int | None = None

    @property
    def truncate(self) -> bool:
        """Numbers are stored without what does not fit, rather than rounded to nearest."""
        return self.rounding == TRUNCATE

    def io_on(self, *, bare_metal: bool) -> str:
        """Who keeps inputs and outputs on a board: the caller, or the arena, which reuses their
        bytes.  With an operating system the caller has room elsewhere."""
        return self.io or ("arena" if self._small_on(bare_metal) else "caller")

    def code_on(self, *, bare_metal: bool) -> str:
        """What the compiler optimises the network for on a board."""
        return self.code or (SIZE if self._small_on(bare_metal) else SPEED)

    def _small_on(self, bare_metal: bool) -> bool:
        """Whether memory is what is to be small, and all there is of it the board's own."""
        return bare_metal and self.objective == Objective.MEMORY.value

    @property
    def limited(self) -> bool:
        """Accuracy has a limit, within which bytes or time may be saved."""
        return self.min_sqnr is not None or self.max_drop is not None

    @property
    def asks_of_layers(self) -> bool:
        """Something is asked, or to be found, for each layer: formats, integers, algorithms.  Then
        bodies of loops, which are decided as they are, are written out."""
        asked = self.storage, self.algorithms, self.calibration, self.streams, self.winograd_error
        exact = self.requantise == EXACT
        return (
            any(asked)
            or self.int8
            or self.float16
            or self.limited
            or self.flash is not None
            or not exact
        )

    @property
    def prefix(self) -> str:
        """The prefix in use.  Raises EdgeconvError (exit status 2) when it is no C prefix."""
        return require_prefix(self.name) if self.name else c_prefix(self.model.stem)

    def command(self) -> str:
        """The command line that says the same from any directory: what the banner quotes."""
        if self.quoted:
            return self.quoted
        words = ["edgeconv", "compile", self.model.name, "--board", self.board, *self._optional()]
        words += ["--require-int8"] if self.require_int8 else []
        words += ["--selftest"] if self.selftest else []
        words += ["--float16"] if self.float16 else []
        words += ["--resumable"] if self.resumable else []
        words += ["--states-apart"] if self.states_apart else []
        words += ["--bound-cycles"] if self.bound_cycles else []
        words += ["--model-version", self.model_version] if self.model_version else []
        words += [] if self.max_cycles is None else ["--max-cycles", str(self.max_cycles)]
        return shlex.join(words)

    def _optional(self) -> Iterator[str]:
        if self.name:
            yield from ("--name", self.name)
        for option, names in (("--input", self.cut.inputs), ("--output", self.cut.outputs)):
            for name in names:
                yield from (option, name)
        for output, name in self.states:
            yield from ("--state", f"{output}={name}")
        if self.initial_states:
            yield from ("--initial-states", self.initial_states.name)
        slides = {f"{name}:{axis}": rows for name, (axis, rows) in self.streams.items()}
        shapes = {name: shape_word(shape) for name, shape in self.input_shapes.items()}
        by_name: tuple[tuple[str, Mapping[str, object]], ...] = (
            ("--stream", slides),
            ("--rename", self.renames),
            ("--input-shape", shapes),
            ("--input-value", dict(self.cut.values)),
            ("--max-size", self.max_sizes),
            ("--algorithm", self.algorithms),
            ("--storage", self._storage_beside()),
            ("--place", self.places),
        )
        for option, given in by_name:
            for name, word in sorted(given.items()):
                yield from (option, f"{name}={word}")
        for option, size in (("--ram", self.ram), ("--flash", self.flash)):
            if size is not None:
                yield from (option, str(size))
        small = self.objective == Objective.MEMORY.value  # whose default depends on the board
        if self.io == "arena" or (self.io and small):
            yield from ("--io", self.io)
        if self.weights_as_c:
            yield from ("--weights", "c")
        if self.preprocess:
            yield from ("--preprocess", self.preprocess.name)
        for path in self.tuned:
            yield from ("--tuned", path.name)
        yield from self._accuracy()
        for option, word, usual in (
            ("--code", self.code, ""),
            ("--input-layout", self.input_layout, MODEL_LAYOUT),
            ("--objective", self.objective, ""),
            ("--threads", str(self.threads), "1"),
            ("--rounding", self.rounding, NEAREST),
            ("--requantise", self.requantise, EXACT),
            ("--stream-borders", self.stream_borders, OF_WINDOW),
        ):
            if word != usual:
                yield from (option, word)
        for name, value in limits.in_force().items():
            yield from (limits.OPTION, f"{name}={value}")

    def _storage_beside(self) -> dict[str, str]:
        """``storage`` but for what ``int8`` says already."""
        said = ALL_INT8 if self.int8 else {}
        return {key: form for key, form in self.storage.items() if said.get(key) != form}

    @property
    def samples_option(self) -> str:
        """The option by which samples are given."""
        return "--int8" if self.int8 else "--calibration"

    def _accuracy(self) -> Iterator[str]:
        if self.calibration:
            yield from (self.samples_option, self.calibration.name)
        for option, limit in (
            ("--winograd-error", self.winograd_error),
            ("--min-sqnr", self.min_sqnr),
            ("--max-drop", self.max_drop),
        ):
            if limit is not None:
                yield from (option, f"{limit:g}")
        if self.metric:
            yield from ("--metric", self.metric)

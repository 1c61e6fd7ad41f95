"""The options that ``compile`` and ``explain`` have in common."""

from __future__ import annotations

from typing import Any

import click

from edgeconv.app.cli.param_types import (
    ALGORITHM,
    BOARD,
    FILE,
    INPUT_SHAPE,
    INPUT_VALUE,
    SLIDING,
    STORAGE,
    TENSOR,
    TEXT,
    Word,
    argument,
    flag,
    option,
)
from edgeconv.base.arguments import (
    BORDERS,
    CODE,
    NEAREST,
    OF_WINDOW,
    ROUNDINGS,
    decibels,
    fraction,
    most,
    named,
    pair,
    size_of,
    tolerance,
)

OBJECTIVES = ("latency", "memory", "energy")


def _by_name(names: str, kind: click.ParamType[Any], metavar: str, about: str) -> click.Option:
    """A repeated option, as a mapping."""

    def mapping(_: click.Context, given: click.Parameter, pairs: Any) -> dict[str, Any]:
        return named(given.opts[0], pairs)

    return option(names, kind, metavar, about, multiple=True, callback=mapping)


def limits_of_accuracy() -> tuple[click.Option, ...]:
    """What may be lost of a network's accuracy."""
    return (
        option(
            "--min-sqnr",
            Word(decibels),
            "DB",
            "store numbers in fewer bits where the outputs stay this far above the error",
        ),
        option(
            "--max-drop",
            Word(fraction),
            "FRACTION",
            "store numbers in fewer bits where no more labels than this are lost",
        ),
    )


def metric() -> click.Option:
    """What accuracy is."""
    return option(
        "--metric",
        TEXT,
        "MODULE:FUNCTION",
        "accuracy of an int8 network by a function of outputs, those of float32 and labels, whose "
        "number --max-drop is then the drop of; edgeconv.metrics has some",
    )


def model_options() -> tuple[click.Parameter, ...]:
    """The model and the options; `run.asked.wanted` takes what they were given.  They are called as
    the fields of `CompileOptions` where they are what those hold."""
    return (
        argument("model", FILE, "MODEL.onnx"),
        option("--board", BOARD, "NAME", "see `edgeconv boards`", required=True),
        option("--name", TEXT, "PREFIX", "of files and symbols (the model's name)", default=""),
        option(
            "--input",
            TENSOR,
            "TENSOR",
            "begin at this tensor of the model; with all others that the outputs depend on",
            multiple=True,
        ),
        option("--output", TENSOR, "TENSOR", "end at this tensor of the model", multiple=True),
        option(
            "--state states",
            Word(pair),
            "OUT=IN",
            "keep this output in the arena, where the next run reads it as this input, zeros at "
            "first",
            multiple=True,
        ),
        option(
            "--initial-states",
            FILE,
            "X.npz",
            "what states are before the first run and after a reset, an array by the input of each",
        ),
        _by_name(
            "--stream streams",
            SLIDING,
            "INPUT:AXIS=k",
            "this input is a window that moves by k rows along the axis: take the new rows only, "
            "and keep what is still needed of older ones",
        ),
        option(
            "--stream-borders",
            click.Choice(BORDERS),
            None,
            f"what layers that pad such a window read at its ends: their padding, in every window "
            f"anew, or the rows of the stream that lie there ({OF_WINDOW})",
            default=OF_WINDOW,
        ),
        option(
            "--preprocess",
            FILE,
            "FILE.toml",
            "what the camera delivers, and what becomes of it: the input is its frame, which one "
            "pass decodes, resizes and normalises",
        ),
        _by_name(
            "--rename renames",
            Word(pair),
            "OLD=NEW",
            "what the C API calls an input, output or state, by its name in the model or in C",
        ),
        _by_name(
            "--input-shape input_shapes",
            INPUT_SHAPE,
            "NAME=1x3x224x224",
            "shape of an input that the model leaves free",
        ),
        _by_name(
            "--input-value input_values",
            INPUT_VALUE,
            "NAME=VALUE",
            "make an input of known value a constant: NAME=16000, or NAME=0,0,1,1 of several",
        ),
        _by_name(
            "--max-size max_sizes",
            Word(most),
            "NAME=N",
            "the most that is kept of a value whose size is data-dependent, of what "
            "NonZero, NonMaxSuppression, Compress or TopK find for instance",
        ),
        _by_name(
            "--algorithm algorithms",
            ALGORITHM,
            "LAYER=ALG",
            "use this algorithm for a convolution, * for all",
        ),
        option(
            "--winograd-error",
            Word(tolerance),
            "R",
            "compute convolutions by Winograd's algorithm where that is faster and the "
            "outputs stay within this part of their largest, 0 never (1e-3; of a quantised model, "
            "on boards without an operating system and with --objective memory, 0)",
        ),
        _by_name(
            "--storage",
            STORAGE,
            "LAYER[:output]=FMT",
            "format of a layer's filters, or of its result; '*' for all layers",
        ),
        _by_name(
            "--place places",
            Word(pair),
            "WHAT=MEMORY",
            "memory of the board for weights, arena, io (inputs and outputs), or for constants of "
            "layers, by name or pattern",
        ),
        option(
            "--tuned",
            FILE,
            "FILE",
            "measured times, of `edgeconv tune`, which replace predicted ones in the choice",
            multiple=True,
        ),
        option("--ram", Word(size_of("--ram")), "SIZE", "budget, as 512K or 2M (the board's)"),
        option("--flash", Word(size_of("--flash")), "SIZE", "budget (the board's)"),
        option(
            "--calibration",
            FILE,
            "X.npz",
            "what to measure accuracy on: an array per input, and optionally `label`",
        ),
        option(
            "--int8",
            FILE,
            "X.npz",
            "quantise a float32 model to int8 by these samples, as `edgeconv quantise` does",
        ),
        *limits_of_accuracy(),
        metric(),
        option(
            "--objective",
            click.Choice(OBJECTIVES),
            None,
            "of the choice of storage formats within those limits (latency, where it is predicted)",
        ),
        flag(
            "--float16",
            "compute on vectors of float16 where the core and kernels can, and keep results so",
        ),
        option(
            "--rounding",
            click.Choice(ROUNDINGS),
            None,
            f"of stored numbers: to nearest even, or toward zero ({NEAREST})",
            default=NEAREST,
        ),
        option(
            "--requantise",
            click.Choice(("exact", "tflite")),
            None,
            "how results of int8 are rounded: once, as the model says, or bit for bit as the "
            "reference kernels of TensorFlow Lite (exact)",
            default="exact",
        ),
        option(
            "--weights",
            click.Choice(("image", "c")),
            None,
            "a binary file, or a C array",
            default="image",
        ),
        option(
            "--input-layout",
            click.Choice(("model", "any")),
            None,
            "of inputs and outputs in memory: the model's, or whatever makes the network fastest, "
            "as the header then says (model)",
            default="model",
        ),
        option(
            "--io",
            click.Choice(("caller", "arena")),
            None,
            "who keeps inputs and outputs: the caller, or the arena, which reuses their bytes "
            "(caller; arena with --objective memory where there is no operating system)",
        ),
        option(
            "--code",
            click.Choice(CODE),
            None,
            "what the compiler optimises the network for (speed; size with --objective memory "
            "where there is no operating system, and where code for speed exceeds the flash)",
        ),
    )

"""The options that ``compile`` and ``explain`` have in common."""

from __future__ import annotations

from typing import Any

import click

from edgeconv.arguments import NEAREST, ROUNDINGS, decibels, fraction, pair, shape, size_of
from edgeconv.cli.words import ALGORITHM, BOARD, FILE, STORAGE, TENSOR, TEXT, Word

OBJECTIVES = ("latency", "memory", "energy")
_STORAGE_HELP = "format of a layer's filters, or of its result; '*' for all layers"


def _repeated(option: str, kind: click.ParamType[Any], metavar: str, about: str) -> click.Option:
    about += "; may be repeated"
    return click.Option([option], type=kind, multiple=True, metavar=metavar, help=about)


def parameters() -> list[click.Parameter]:
    """The model and the options; `run.asked.wanted` takes what they were given."""
    return [
        click.Argument(["model"], type=FILE, metavar="MODEL.onnx"),
        click.Option(
            ["--board"], type=BOARD, required=True, metavar="NAME", help="see `edgeconv boards`"
        ),
        click.Option(
            ["--name"],
            type=TEXT,
            default="",
            metavar="PREFIX",
            help="of files and symbols (the model's name)",
        ),
        _repeated(
            "--input",
            TENSOR,
            "TENSOR",
            "begin at this tensor of the model; with all others that the outputs depend on",
        ),
        _repeated("--output", TENSOR, "TENSOR", "end at this tensor of the model"),
        _repeated(
            "--rename",
            Word(pair),
            "OLD=NEW",
            "what the C API calls an input or output, given by its name in the model or in C",
        ),
        _repeated(
            "--input-shape",
            Word(shape),
            "NAME=1x3x224x224",
            "shape of an input that the model leaves free",
        ),
        _repeated(
            "--algorithm", ALGORITHM, "LAYER=ALG", "use this algorithm for a convolution, * for all"
        ),
        _repeated("--storage", STORAGE, "LAYER[:output]=FMT", _STORAGE_HELP),
        *_limits(),
        click.Option(
            ["--weights"],
            type=click.Choice(("image", "c")),
            default="image",
            help="a binary file, or a C array",
        ),
        click.Option(
            ["--io"],
            type=click.Choice(("caller", "arena")),
            default="caller",
            help="who owns inputs and outputs: the caller, or the arena, which reuses their bytes",
        ),
    ]


def _limits() -> list[click.Parameter]:
    """Budgets, and what storage formats may cost."""
    return [
        click.Option(
            ["--ram"],
            type=Word(size_of("--ram")),
            metavar="SIZE",
            help="budget, as 512K or 2M (the board's)",
        ),
        click.Option(
            ["--flash"],
            type=Word(size_of("--flash")),
            metavar="SIZE",
            help="budget (the board's)",
        ),
        click.Option(
            ["--calibration"],
            type=FILE,
            metavar="X.npz",
            help="what to measure accuracy on: an array per input, and optionally `label`",
        ),
        click.Option(
            ["--min-sqnr"],
            type=Word(decibels),
            metavar="DB",
            help="store numbers in fewer bits where the outputs stay this far above the error",
        ),
        click.Option(
            ["--max-drop"],
            type=Word(fraction),
            metavar="FRACTION",
            help="store numbers in fewer bits where no more labels than this are lost",
        ),
        click.Option(
            ["--objective"],
            type=click.Choice(OBJECTIVES),
            help="of the choice of storage formats within those limits (latency, where it is "
            "predicted)",
        ),
        click.Option(
            ["--rounding"],
            type=click.Choice(ROUNDINGS),
            default=NEAREST,
            help=f"of stored numbers: to nearest even, or toward zero ({NEAREST})",
        ),
    ]

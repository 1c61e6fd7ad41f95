"""The program ``edgeconv``: its commands and their options."""

from __future__ import annotations

import click

from edgeconv import __version__
from edgeconv.app.cli.commands import CONTEXT, Command, Group, Program
from edgeconv.app.cli.model_options import limits_of_accuracy, metric, model_options
from edgeconv.app.cli.param_types import BOARD, FILE, FOLDER, TEXT, Word, argument, flag, option
from edgeconv.base.arguments import (
    DEFAULT_RUNS,
    DEFAULT_TOLERANCE,
    EFFORTS,
    PACKAGES,
    STRATEGIES,
    count,
    minutes,
    pair,
    tolerance,
    version,
    words,
)

NAME = "edgeconv"


COMPILE = Command(
    "compile",
    "compile a model, ONNX or TensorFlow Lite (.tflite), to a C project",
    "compiling:run",
    *model_options(),
    option("--threads", Word(count), "N", "cores that share the layers (1)", default=1),
    option("-o --directory", FOLDER, "DIR", "the project (./PREFIX)"),
    flag("--build", "compile the C too; code counts against --flash"),
    flag("--verify", "build, run, and compare with the model"),
    flag(
        "--require-int8",
        "refuse a quantised model of which a layer would be computed in float32, naming each",
    ),
    flag(
        "--selftest",
        "add PREFIX_selftest to the library: weights, RAM, an inference of known result",
    ),
    flag(
        "--resumable",
        "add PREFIX_step to the library: a run in steps of bounded work, between rows of a layer",
    ),
    option(
        "--model-version",
        Word(version),
        "TEXT",
        "what you call this version of the model: PREFIX_MODEL_VERSION in the header",
    ),
    flag(
        "--states-apart",
        "states in bytes of their own, outside of windows: for init_apart and link --arena",
    ),
    flag(
        "--bound-cycles",
        "build, and find the most cycles of an inference from the machine code",
    ),
    option("--max-cycles", Word(count), "N", "refuse a program that may take more cycles"),
    flag(
        "--pareto",
        "note in the report what RAM, flash, time and SQNR trade: report --html draws it",
    ),
    option("--report", FOLDER, "DIR", "also write report.json, .txt and .html there"),
)
_SSH = ("--ssh", Word(str), "HOST", "run it on the board there, as ssh takes it: [user@]host")
_VERIFY = Command(
    "verify",
    "build and run a project, and compare it with its model",
    "projects:verify",
    argument("directory", FOLDER, "DIR"),
    option("--inputs", FILE, "X.npz", "instead of seeded ones"),
    option(
        "--samples",
        FILE,
        "X.npz",
        "measure SQNR and, by an array `label`, top-1 on these inputs",
    ),
    option(
        "--steps",
        Word(count),
        "N",
        "runs of a network with states that follow each other (8, or as many as X.npz has)",
    ),
    flag("--layers", "compare every layer"),
    option("--model", FILE, "MODEL.onnx", "if it has moved, or MODEL.tflite"),
    option(*_SSH, default=""),
    option(
        "--tolerance",
        Word(tolerance),
        "R",
        f"largest error over largest output ({DEFAULT_TOLERANCE}; where weights are rounded, by "
        "default against the same network with such weights)",
    ),
)
_BENCH = Command(
    "bench",
    "time a project on this machine or on its board",
    "projects:bench",
    argument("directory", FOLDER, "DIR"),
    option("--runs", Word(count), "N", f"({DEFAULT_RUNS})", default=DEFAULT_RUNS),
    option("--threads", Word(count), "N", "that the project was compiled for (any)"),
    option(*_SSH, default=""),
    flag("--layers", "time every layer"),
)
_QUANTISE = Command(
    "quantise",
    "quantise a float32 model to int8 by samples, and write it as ONNX (QDQ)",
    "quantising:run",
    argument("model", FILE, "MODEL.onnx"),
    option("--samples", FILE, "X.npz", "an array per input, and optionally `label`", required=True),
    option("-o --output", FILE, "FILE", "the int8 model (./MODEL_int8.onnx)"),
    option(
        "--state states",
        Word(pair),
        "OUT=IN",
        "this output is this input in the next run: samples are sequences",
        multiple=True,
    ),
    *limits_of_accuracy(),
    metric(),
    option(
        "--effort",
        click.Choice(EFFORTS),
        None,
        f"how much is tried, each by what the outputs say ({EFFORTS[0]})",
        default=EFFORTS[0],
    ),
)
_RUN = Command(
    "run",
    "run a project on inputs, on this machine or on its board",
    "running:run",
    argument("directory", FOLDER, "DIR"),
    option(
        "--inputs", FILE, "X.npz", "an array per input, or of several sets of inputs", required=True
    ),
    option("-o --output", FILE, "Y.npz", "write the outputs there instead of printing them"),
    option(*_SSH, default=""),
)
_REPORT = Command(
    "report",
    "memory and time of a project, per layer, or of two side by side",
    "projects:report",
    argument("directory", FOLDER, "DIR"),
    argument("other", FOLDER, "[DIR]", required=False),
    option(
        "--against",
        FILE,
        "FILE.json",
        "compare with another tool's figures, or with the project in a folder",
        multiple=True,
    ),
    option("--html", FILE, "FILE", "write one page that works offline instead of printing"),
)
_UPDATE_WEIGHTS = Command(
    "update-weights",
    "put the weights of a model that was trained anew into a project",
    "updating:run",
    argument("directory", FOLDER, "DIR"),
    argument("model", FILE, "NEW.onnx"),
    option(
        "-o --output",
        FILE,
        "FILE",
        "write the image there, to be sent to devices, and leave the project as it is",
    ),
)
_LINK = Command(
    "link",
    "put several projects of one board into one program, and maybe one arena",
    "linking:run",
    argument("directories", FOLDER, "DIR...", nargs=-1, required=True),
    option("--name", TEXT, "PREFIX", "of files and symbols (networks)", default="networks"),
    option("-o --directory", FOLDER, "DIR", "the folder (./PREFIX)"),
    flag("--arena", "one arena: networks that are never in use together have the same bytes"),
    option(
        "--together",
        Word(words),
        "A,B...",
        "networks, by their prefixes, that may be in use at the same time",
        multiple=True,
    ),
)
_PACKAGE = Command(
    "package",
    "turn a project into packages of other build systems",
    "packaging:run",
    argument("directory", FOLDER, "DIR"),
    option(
        "--as forms",
        click.Choice(PACKAGES),
        None,
        "the form",
        multiple=True,
        required=True,
    ),
    option("-o --output", FOLDER, "FOLDER", "the packages, in a folder each (./PREFIX_packages)"),
    option(
        "--package-version",
        TEXT,
        "X.Y.Z",
        "of the packages (that of the model, where it is three numbers, else 1.0.0)",
        default="",
    ),
)
_KIT = Command(
    "kit",
    "write what a certification asks of a project: MISRA C deviations, tool confidence",
    "certifying:run",
    argument("directory", FOLDER, "DIR"),
    option("-o --output", FOLDER, "FOLDER", "the documents (./PREFIX_kit)"),
)
_TUNE = Command(
    "tune",
    "measure kernels where programs of the board run, for `compile --tuned`",
    "tuning:run",
    *model_options(),
    option("--minutes", Word(minutes), "M", "that it may take (10)", default=10.0),
    option(
        "--strategy",
        click.Choice(STRATEGIES),
        None,
        f"what is measured next ({STRATEGIES[0]})",
        default=STRATEGIES[0],
    ),
    option(*_SSH, default=""),
    option("--cluster", TEXT, "ADDRESS", "measure on the workers of a Dask scheduler", default=""),
)
_EXPLAIN = Command(
    "explain",
    "every choice and the numbers behind it",
    "explaining:run",
    *model_options(),
    option("--layer", TEXT, "L", "this one only, by name or number", default=""),
    flag("--pareto", "what storage formats trade: RAM, flash, predicted time and SQNR"),
    option("--html", FILE, "FILE", "draw what --pareto prints"),
    option(
        "--threads",
        Word(count),
        "P",
        "how P cores share each layer, and bounds on what one of P processors moves",
    ),
)
_BOARDS = Group(
    "boards",
    "the boards that can be compiled for",
    "boards:list_all",
    Command(
        "list",
        "all of them",
        "boards:list_all",
        flag("--markdown", "as a table in Markdown, the same on every machine"),
    ),
    Command(
        "show", "everything about one board", "boards:show_one", argument("name", BOARD, "NAME")
    ),
    Command(
        "check",
        "check a board file against the schema",
        "boards:check",
        argument("file", FILE, "FILE"),
    ),
    Command(
        "new",
        "measure this machine, or read a CMSIS-Pack, and write a board file",
        "boards:new",
        argument("name", TEXT, "NAME"),
        option("-o --output", FILE, "FILE", "(./NAME.toml)"),
        option("--mcu", TEXT, "DEVICE", "a microcontroller that --pack describes"),
        option("--pack", FILE, "FILE", "its CMSIS-Pack (.pack), or the .pdsc of one"),
    ),
)
_DOCTOR = Command("doctor", "which toolchains, emulators and runtimes are here", "boards:diagnose")

program = Program(
    NAME,
    help="Compile convolutional networks, of ONNX or TensorFlow Lite, to standalone, "
    "dependency-free C.",
    epilog="Exit status: 0 done; 1 the model or a budget cannot be satisfied, or verification "
    "failed; 2 wrong usage; 3 a tool is missing. With --json errors are a JSON document too.",
    context_settings=CONTEXT,
    commands=(
        COMPILE,
        _QUANTISE,
        _VERIFY,
        _RUN,
        _BENCH,
        _REPORT,
        _UPDATE_WEIGHTS,
        _LINK,
        _PACKAGE,
        _KIT,
        _TUNE,
        _EXPLAIN,
        _BOARDS,
        _DOCTOR,
    ),
)
click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")(program)

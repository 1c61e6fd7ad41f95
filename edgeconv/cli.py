"""The command line: arguments -> pipeline -> printed result."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rich.console import RenderableType
from rich.markup import escape

from edgeconv import __version__, pipeline
from edgeconv import board as board_files
from edgeconv.arguments import (
    count,
    decibels,
    fraction,
    named,
    one_thread,
    pair,
    shape,
    size_of,
    tolerance,
)
from edgeconv.bench import DEFAULT_RUNS
from edgeconv.build.project import Project
from edgeconv.doctor import diagnose, diagnose_boards
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.machine import new_board
from edgeconv.options import ROUNDINGS
from edgeconv.report import accuracy, files, frontier, outcome, text
from edgeconv.report import boards as board_tables
from edgeconv.report import doctor as doctor_tables
from edgeconv.report import explain as explanation
from edgeconv.report import new_board as new_tables
from edgeconv.terminal import Progress, say, show
from edgeconv.verify import DEFAULT_TOLERANCE

_STORAGE_HELP = "format of a layer's filters, or of its result; '*' for all layers"
OBJECTIVES = ("latency", "memory", "energy")
DEBUG_VARIABLE = "EDGECONV_DEBUG"
INTERRUPTED = 130  # 128 + SIGINT, as shells count
TERMINATED = 143  # 128 + SIGTERM

# What the file system may refuse at any time, and no fault of the program.
_REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status (``edgeconv.errors.Exit``)."""
    _clean_up_when_terminated()
    try:
        options = _parser().parse_args(arguments)
        status = options.run(options)
        sys.stdout.flush()
        return int(status)
    except EdgeconvError as error:
        say(f"error: {error.one_line()}", *error.details)
        return int(error.code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.OK)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _REFUSALS:
            say(f"error: cannot write: {error.filename or 'the output'}: got {error.strerror}")
            return int(Exit.UNSATISFIED)
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc()
        what = " ".join(f"{type(error).__name__}: {error}".split())
        say(f"internal error, please report it with the output of {DEBUG_VARIABLE}=1: {what}")
        return int(Exit.UNSATISFIED)


def _clean_up_when_terminated() -> None:
    """SIGTERM unwinds as Ctrl-C does, so that nothing half-written stays behind."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))


def _compile(options: argparse.Namespace) -> Exit:
    wanted = _wanted(options)
    directory = options.output or Path(wanted.prefix)
    with Progress() as step:
        build = options.build or options.verify
        project, notes = pipeline.compile_model(wanted, directory, build=build, step=step)
    for note in notes:
        say(f"note: {note}")
    report, passed = project.report, True
    if options.verify:
        with Progress() as step:
            result = pipeline.verify_project(directory, model=options.model, step=step)
        report, passed = Project.open(directory).report, result.passed
        if not passed:
            say("error: the program differs from the model", result.one_line())
    if options.report:
        files.write(report, options.report)
    show(text.compiled(report, directory), report, as_json=options.json)
    return Exit.OK if passed else Exit.UNSATISFIED


def _try(options: argparse.Namespace) -> Exit:
    with Progress() as step:
        found, ran, limits = pipeline.try_project(
            options.directory, options.samples, model=options.model, step=step
        )
    missed = accuracy.misses(found, limits)
    document = accuracy.tried_json(found, ran, passed=not missed)
    show(accuracy.tried(found, ran), document, as_json=options.json)
    for note in accuracy.unchecked(found, limits):
        say(f"note: {note}")
    if missed:
        say("error: the program is less accurate than it was compiled to be", *missed)
    return Exit.UNSATISFIED if missed else Exit.OK


def _verify(options: argparse.Namespace) -> Exit:
    if options.samples:
        return _try(options)
    with Progress() as step:
        result = pipeline.verify_project(
            options.directory,
            model=options.model,
            inputs=options.inputs,
            layers=options.layers,
            tolerance=options.tolerance,
            step=step,
        )
    show(outcome.verification(result), outcome.verification_json(result), as_json=options.json)
    return Exit.OK if result.passed else Exit.UNSATISFIED


def _bench(options: argparse.Namespace) -> Exit:
    with Progress() as step:
        result = pipeline.bench_project(
            options.directory, runs=options.runs, layers=options.layers, step=step
        )
    show(outcome.timing(result), outcome.timing_json(result), as_json=options.json)
    return Exit.OK


def _pareto(options: argparse.Namespace) -> Exit:
    with Progress() as step:
        points, model = pipeline.frontier_of(_wanted(options), step=step)
    shown: RenderableType = frontier.frontier_table(points)
    if options.html:
        files.write_frontier(points, options.html, model=model, board=options.board)
        shown = f"frontier: {escape(str(options.html))}"
    show(shown, frontier.document(points), as_json=options.json)
    return Exit.OK


def _explain(options: argparse.Namespace) -> Exit:
    if options.pareto:
        return _pareto(options)
    if options.html:
        raise EdgeconvError("--html is for --pareto", hint="see `report --html`", code=Exit.USAGE)
    with Progress() as step:
        document, notes = pipeline.explain_model(
            _wanted(options), layer=options.layer, threads=options.threads, step=step
        )
    for note in notes:
        say(f"note: {note}")
    show(explanation.render(document), document, as_json=options.json)
    return Exit.OK


def _report(options: argparse.Namespace) -> Exit:
    report = Project.open(options.directory).report
    shown: RenderableType = text.render(report)
    if options.html:
        files.write_html(report, options.html)
        shown = f"report: {escape(str(options.html))}"
    show(shown, report, as_json=options.json)
    return Exit.OK


def _boards_list(options: argparse.Namespace) -> Exit:
    found = [board_files.load(name) for name in board_files.names()]
    documents = [board_tables.board_json(board) for board in found]
    show(board_tables.board_table(found), documents, as_json=options.json)
    return Exit.OK


def _boards_show(options: argparse.Namespace) -> Exit:
    board = board_files.load(options.name)
    show(board_tables.board_details(board), board_tables.board_json(board), as_json=options.json)
    return Exit.OK


def _boards_check(options: argparse.Namespace) -> Exit:
    board = board_files.check_new(options.file)
    show(board_tables.checked(board), board_tables.board_json(board), as_json=options.json)
    return Exit.OK


def _boards_new(options: argparse.Namespace) -> Exit:
    with Progress() as step:
        found = new_board(options.name, options.output, step=step)
    show(new_tables.render(found), new_tables.to_json(found), as_json=options.json)
    return Exit.OK


def _doctor(options: argparse.Namespace) -> Exit:
    with Progress() as step:
        step("looking for tools")
        checks, found = diagnose(), diagnose_boards()
    show(
        doctor_tables.render(checks, found),
        doctor_tables.to_json(checks, found),
        as_json=options.json,
    )
    return Exit.OK


def _wanted(options: argparse.Namespace) -> pipeline.CompileOptions:
    return pipeline.CompileOptions(
        model=options.model,
        board=options.board,
        name=options.name,
        input_shapes=named("--input-shape", options.input_shape),
        algorithms=named("--algorithm", options.algorithm),
        storage=named("--storage", options.storage),
        ram=options.ram,
        flash=options.flash,
        io=options.io,
        weights_as_c=options.weights == "c",
        calibration=options.calibration,
        min_sqnr=options.min_sqnr,
        max_drop=options.max_drop,
        objective=options.objective,
        rounding=options.rounding,
    )


class _Parser(argparse.ArgumentParser):
    """argparse with errors of one line."""

    def error(self, message: str) -> NoReturn:
        hint = f"see `{self.prog} --help`"
        raise EdgeconvError(message, hint=hint, code=Exit.USAGE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="edgeconv",
        description="Compile ONNX convolutional networks to standalone, dependency-free C.",
        epilog="Exit status: 0 done; 1 the model or a budget cannot be satisfied, or verification "
        "failed; 2 wrong usage; 3 a tool is missing.",
    )
    parser.add_argument("--version", action="version", version=f"edgeconv {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    _add_compile(commands)
    _add_project_commands(commands)
    _add_explain(commands)
    _add_boards(commands)
    _command(commands, "doctor", _doctor, "which toolchains, emulators and runtimes are here")
    return parser


def _command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], Exit],
    about: str,
    *,
    nested: bool = False,
) -> argparse.ArgumentParser:
    """A sub-command; every one has --json, a nested one leaves the outer's value as it is."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=f"{about[0].upper()}{about[1:]}.", allow_abbrev=False
    )
    default = argparse.SUPPRESS if nested else False
    parser.add_argument(
        "--json", action="store_true", default=default, help="print one JSON document"
    )
    parser.set_defaults(run=run)
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    """What compile and explain have in common."""
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL.onnx")
    add("--board", required=True, metavar="NAME", help="see `edgeconv boards`")
    add("--name", default="", metavar="PREFIX", help="of files and symbols (the model's name)")
    add(
        "--input-shape",
        action="append",
        default=[],
        type=shape,
        metavar="NAME=1x3x224x224",
        help="shape of an input that the model leaves free; may be repeated",
    )
    for option, about, metavar in (
        ("--algorithm", "use this algorithm for a convolution, * for all", "LAYER=ALG"),
        ("--storage", _STORAGE_HELP, "LAYER[:output]=FMT"),
    ):
        about += "; may be repeated"
        add(option, action="append", default=[], type=pair, metavar=metavar, help=about)
    add("--ram", type=size_of("--ram"), metavar="SIZE", help="budget, as 512K or 2M (the board's)")
    add("--flash", type=size_of("--flash"), metavar="SIZE", help="budget (the board's)")
    about = "what to measure accuracy on: an array per input, and optionally `label`"
    add("--calibration", type=Path, metavar="X.npz", help=about)
    about = "store numbers in fewer bits where the outputs stay this far above the error"
    add("--min-sqnr", type=decibels, metavar="DB", help=about)
    about = "store numbers in fewer bits where no more labels than this are lost"
    add("--max-drop", type=fraction, metavar="FRACTION", help=about)
    about = "of the choice of storage formats within those limits (latency, where it is predicted)"
    add("--objective", choices=OBJECTIVES, default="", help=about)
    about = "of stored numbers: to nearest even, or toward zero (%(default)s)"
    add("--rounding", choices=ROUNDINGS, default=ROUNDINGS[0], help=about)
    add("--weights", choices=("image", "c"), default="image", help="a binary file, or a C array")
    add(
        "--io",
        choices=("caller", "arena"),
        default="caller",
        help="who owns inputs and outputs: the caller, or the arena, which reuses their bytes",
    )


def _add_compile(commands: Any) -> None:
    parser = _command(commands, "compile", _compile, "compile a model to a C project")
    _add_model(parser)
    add = parser.add_argument
    add("--threads", type=one_thread, default=1, metavar="N", help="1 in this version")
    add("-o", "--output", type=Path, metavar="DIR", help="the project (./PREFIX)")
    add("--build", action="store_true", help="compile the C too; code counts against --flash")
    add("--verify", action="store_true", help="build, run, and compare with the model")
    add("--report", type=Path, metavar="DIR", help="also write report.json, .txt and .html there")


def _add_project_commands(commands: Any) -> None:
    verify = _command(
        commands, "verify", _verify, "build and run a project, and compare it with its model"
    )
    verify.add_argument("--inputs", type=Path, metavar="X.npz", help="instead of seeded ones")
    about = "measure SQNR and, by an array `label`, top-1 on these inputs"
    verify.add_argument("--samples", type=Path, metavar="X.npz", help=about)
    verify.add_argument("--layers", action="store_true", help="compare every layer")
    verify.add_argument("--model", type=Path, metavar="MODEL.onnx", help="if it has moved")
    verify.add_argument(
        "--tolerance",
        type=tolerance,
        metavar="R",
        help=f"largest error over largest output ({DEFAULT_TOLERANCE}; where weights are rounded, "
        "by default against the same network with such weights)",
    )
    bench = _command(commands, "bench", _bench, "time a project on this machine")
    bench.add_argument(
        "--runs", type=count, default=DEFAULT_RUNS, metavar="N", help="(%(default)s)"
    )
    bench.add_argument(
        "--threads", type=one_thread, default=1, metavar="N", help="1 in this version"
    )
    bench.add_argument("--layers", action="store_true", help="time every layer")
    report = _command(commands, "report", _report, "memory and time of a project, per layer")
    about = "write one page that works offline instead of printing"
    report.add_argument("--html", type=Path, metavar="FILE", help=about)
    for parser in (verify, bench, report):
        parser.add_argument("directory", type=Path, metavar="DIR", help="what compile wrote")


def _add_explain(commands: Any) -> None:
    parser = _command(commands, "explain", _explain, "every choice and the numbers behind it")
    _add_model(parser)
    add = parser.add_argument
    add("--layer", default="", metavar="L", help="this one only, by name or number")
    about = "what storage formats trade: RAM, flash, predicted time and SQNR"
    add("--pareto", action="store_true", help=about)
    add("--html", type=Path, metavar="FILE", help="draw what --pareto prints")
    add("--threads", type=count, metavar="P", help="bounds on what one of P processors moves, too")


def _add_boards(commands: Any) -> None:
    boards = _command(commands, "boards", _boards_list, "the boards that can be compiled for")
    actions = boards.add_subparsers(metavar="ACTION", parser_class=_Parser)
    _command(actions, "list", _boards_list, "all of them", nested=True)
    show = _command(actions, "show", _boards_show, "everything about one board", nested=True)
    show.add_argument("name", metavar="NAME")
    about = "check a board file against the schema"
    check = _command(actions, "check", _boards_check, about, nested=True)
    check.add_argument("file", type=Path, metavar="FILE")
    about = "measure this machine and write it as a board file"
    new = _command(actions, "new", _boards_new, about, nested=True)
    new.add_argument("name", metavar="NAME", help="such as my-board")
    new.add_argument("-o", "--output", type=Path, metavar="FILE", help="(./NAME.toml)")

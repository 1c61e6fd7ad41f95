"""From decisions to a project: written and, if asked for, built until it keeps the budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from edgeconv.app.bounding import bounded
from edgeconv.app.deciding import Decider, Decision
from edgeconv.app.known_answer import known_answers
from edgeconv.base.arguments import DEFAULT_TOLERANCE, SIZE, SPEED
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import Progress
from edgeconv.base.real_path import real_path
from edgeconv.codegen.emit import EmitOptions, emit, weight_image
from edgeconv.codegen.source_tree import SourceTree
from edgeconv.ir.link import LinkPlan
from edgeconv.report import document
from edgeconv.report.document import Report
from edgeconv.report.integers import require_int8
from edgeconv.report.regions import sizes_of
from edgeconv.report.text import budget_lines
from edgeconv.run.build import find_compiler, report_file
from edgeconv.run.build.abi import check_objects
from edgeconv.run.build.compile import optimisation
from edgeconv.run.build.cross import cross
from edgeconv.run.build.footprint import footprint
from edgeconv.run.build.image import check_image, check_network
from edgeconv.run.build.project import APP, Project
from edgeconv.run.build.project import render as render_report
from edgeconv.run.build.usage import FirmwareTooLargeError
from edgeconv.run.build.weights_file import facts_of, header_of
from edgeconv.run.cycles.bound import require_table
from edgeconv.search.budget.infeasible import beyond
from edgeconv.search.budget.tables import Limits
from edgeconv.search.fitting import UnfitError
from edgeconv.search.memory.link import kept_free, link_plan
from edgeconv.search.memory.sibling import sibling_plan
from edgeconv.search.memory.sizes import Sizes
from edgeconv.search.options import ANY_LAYOUT, CompileOptions
from edgeconv.target import board as boards
from edgeconv.target.board import RunKind
from edgeconv.target.board.team import cpus_of

ATTEMPTS = 6  # at formats for what the code leaves: its size depends on them a little


class TooLargeError(EdgeconvError):
    """A budget is exceeded; ``sizes`` say by what, and ``planned`` what was planned where a
    program has been built."""

    def __init__(self, sizes: Sizes, what: str, **words: Any) -> None:
        super().__init__(what, **words)
        self.sizes = sizes
        self.planned: Sizes | None = None


class LargeCodeError(Exception):
    """What was built for speed exceeds the flash, or cannot be linked."""


def within_budgets(
    decider: Decider, directory: Path, progress: Progress, *, build: bool
) -> Decision:
    """As `_compiled`, by a compiler that optimises for size where code for speed exceeds the flash;
    where what was built exceeds budgets that were kept without its code, within less RAM too."""
    try:
        return _compiled(decider, directory, progress, build=build)
    except LargeCodeError:
        progress("compiling for size")
        with Decider(replace(decider.options, code=SIZE), progress) as other:
            decided = within_budgets(other, directory, progress, build=build)
        note = "code: for size, since code for speed exceeds the flash (--code)"
        return replace(decided, notes=(*decided.notes, note))
    except (UnfitError, TooLargeError, FirmwareTooLargeError) as error:
        tried = []
        for less in decider.within_less() if build else ():
            tried.append(f"--ram {less.planner.budgets.ram}")
            progress(f"looking for a program within {tried[-1]}")
            try:
                return _compiled(less, directory, progress, build=True)
            except EdgeconvError:
                continue
        if tried:
            none = f"nothing was built within {', '.join(tried)} either"
            error.details = (*error.details, none)
        raise


def _compiled(decider: Decider, directory: Path, progress: Progress, *, build: bool) -> Decision:
    """Decides and writes until what was built keeps the budgets.  Raises LargeCodeError where
    smaller code comes before formats that lose accuracy."""
    options, bare_metal = decider.options, decider.board.bare_metal
    for_speed = not options.code and options.code_on(bare_metal=bare_metal) == SPEED
    smallest: Decision | None = None
    for left in reversed(range(ATTEMPTS)):
        try:
            decided = decider.decide()
            _require_budgets(decided.report, known=build)
            return _write(decided, directory, progress, build=build)
        except TooLargeError as error:
            if error.planned is None or not left:
                raise
            if for_speed and error.sizes.exceeds("flash"):
                raise LargeCodeError from error
            if not decider.learn(error.sizes, error.planned):
                raise
        except UnfitError as error:
            # The code that is known may be that of a larger program than need be.
            if error.final or not build:
                raise
            if smallest is None:
                smallest = _smallest(decider, progress, error)
            else:  # nothing better keeps the budgets
                return _write(smallest, directory, progress, build=build)
        except (
            FirmwareTooLargeError
        ) as error:  # its code is not known, but that of a smaller one is
            if smallest is not None:
                raise
            if for_speed:
                raise LargeCodeError from error
            smallest = _smallest(decider, progress, error)
    raise AssertionError("the last attempt ends in one way or the other")


def _smallest(decider: Decider, progress: Progress, error: EdgeconvError) -> Decision:
    """A small program within the budgets, its code included: that with the smallest weights, else
    what exceeds the budgets least as far as that is known before it is built.

    Raises UnfitError with what the nearest takes where all exceed a budget; ``error`` where none
    can be built.
    """
    tried: list[Sizes] = []
    for propose in (decider.lightest, decider.nearest):
        try:
            small = propose()
            built = sizes_of(_built(small, progress))
        except EdgeconvError:
            continue
        decider.learn(built, small.sizes)
        if not built.excess(known=True):
            return small
        tried.append(built)
    if not tried:
        raise error from None
    raise _unfit(error, min(tried, key=_beyond)) from None


def _beyond(sizes: Sizes) -> tuple[float, int]:
    ram, flash = sizes.ram, sizes.flash
    return beyond(Limits(ram.budget, flash.budget), ram.total, flash.total)


def _unfit(error: EdgeconvError, nearest: Sizes) -> UnfitError:
    """What it would take; a budget that is kept stays as it is."""
    ram, flash = nearest.ram, nearest.flash
    enough = " ".join(
        f"--{kind} {max(use.total, use.budget or 0)}"
        for kind, use in (("ram", ram), ("flash", flash))
    )
    return UnfitError(
        EdgeconvError(
            error.what,
            where=error.where,
            rule=f"the nearest program that was found takes {ram.total} bytes of RAM and "
            f"{flash.total} of flash, its code included",
            hint=f"{enough} would do",
            details=(*budget_lines(nearest, known=True), *error.details),
        )
    )


def _write(decided: Decision, directory: Path, progress: Progress, *, build: bool) -> Decision:
    """Puts the project into ``directory``, as ``compile_model`` has it; notes what was kept."""
    if build:
        find_compiler(decided.board)  # before anything long
    if _bounds(decided.options):
        require_table(decided.board)
    if decided.options.require_int8:
        require_int8(decided.report)
    progress("emitting")
    tree = source_tree(decided, progress)
    try:
        made = [_build_and_judge(progress, decided.options)] if build else []
        kept = tree.write(real_path(directory), *made)
    except TooLargeError as error:
        error.planned = decided.sizes
        raise
    return replace(decided, notes=(*decided.notes, *kept))


def _built(decided: Decision, progress: Progress) -> Report:
    """The report of a program that is built to be measured, and thrown away."""
    progress("building the smallest program")
    with TemporaryDirectory(prefix="edgeconv-smallest-") as folder:
        directory = Path(folder) / decided.options.prefix
        reports = []
        source_tree(decided, progress).write(
            directory, lambda where: reports.append(measured(Project.open(where)))
        )
    return reports[0]


def source_tree(decided: Decision, progress: Progress) -> SourceTree:
    """The project of what was decided."""
    options = decided.options
    image = weight_image(decided.choice, decided.memory)
    link = link_plan(decided.board, decided.memory, image.parts)
    emit_options = EmitOptions(
        name=options.prefix,
        board=decided.board.name,
        command=options.command(),
        flags=decided.board.flags,
        weights_as_c=options.weights_as_c,
        truncate=options.truncate,
        link=link,
        cross=cross(decided.board),
        renames=options.renames,
        selftest=known_answers(decided, progress) if options.selftest else None,
        tolerance=decided.report.get("winograd", {}).get("promised", DEFAULT_TOLERANCE),
        cpus=cpus_of(decided.board, decided.choice.threads),
        any_layout=options.input_layout == ANY_LAYOUT,
        optimise=optimisation(decided.report["program"]),
        sibling=_sibling(decided, link) if link else None,
        resumption=decided.resumption,
        model_version=options.model_version,
    )
    tree = emit(decided.choice, decided.memory, emit_options, render_report(decided.report))
    return replace(
        tree, others=decided.files, report=lambda folder: _render_beside(folder, decided.report)
    )


def _sibling(decided: Decision, link: LinkPlan) -> tuple[str, LinkPlan] | None:
    """The first sibling of the board that has room for the program, where the board itself runs
    nowhere here."""
    board, report = decided.board, decided.report
    rows = (*report["ram"]["regions"], *report["flash"]["regions"])
    parts = ("arena", "io", "weights")
    named = {r.name: s.name for r, s in zip(board.memory, link.regions, strict=True)}
    needs = {named[row["name"]]: sum(row.get(part) or 0 for part in parts) for row in rows}
    needs[link.data] += kept_free(board)
    for name in board.run.siblings if board.run.kind is RunKind.NONE else ():
        plan = sibling_plan(link, needs, boards.load(name))
        if plan:
            return name, plan
    return None


def _bounds(options: CompileOptions) -> bool:
    return options.bound_cycles or options.max_cycles is not None


def _build_and_judge(progress: Progress, options: CompileOptions) -> Callable[[Path], None]:
    """Builds a written project; raises when it then exceeds the flash budget, or the cycles."""

    def finish(directory: Path) -> None:
        project = Project.open(directory)
        progress("building")
        try:
            report = measured(project)
        except EdgeconvError as error:
            if error.details:  # says all there is to say
                raise
            # The log file that it names goes with the directory.
            hint = "compile without --build to keep what was emitted"
            if error.what.startswith(APP):
                hint = f"{hint}; {_YOURS}"
            raise EdgeconvError(error.what, got=error.got, hint=hint, code=error.code) from error
        _require_budgets(report, known=True)
        if _bounds(options):
            progress("bounding the cycles")
            report = bounded(project, report, options.max_cycles)
        project.write_report(report)

    return finish


_YOURS = (
    f"{APP} is yours, and stays as it is: the new firmware.h declares what it defines, "
    "and where it is deleted or moved away one is written that fits"
)


def _render_beside(folder: Path, report: Report) -> str:
    """The text of report.json beside the weight image in ``folder``, with what that says of
    itself."""
    program = report["program"]
    program = {**program, **facts_of(header_of(folder, program))}
    made = {**report, "program": program}
    text = render_report(made)
    report_file.note_made(made, text)
    return text


def measured(project: Project) -> Report:
    """The project's report with the sizes of its program, which is built if need be.

    Raises EdgeconvError when what was built is not what the board or the report says.
    """
    binary = project.build()
    report = document.with_footprint(project.report, footprint(project, binary))
    check_objects(binary)
    if project.is_firmware:
        check_image(binary, report)
    else:
        check_network(binary, report, project.sources[0])
    return report


def _require_budgets(report: Report, *, known: bool) -> None:
    """``known``: stack and variables are, or the linker will say."""
    sizes = sizes_of(report)
    lines = budget_lines(sizes, known=known)
    if lines:
        of_ram = any(each.kind == "ram" for each in sizes.excess(known=known))
        flash = report["flash"]
        large = (
            "weights take most of it: a smaller network, or a board with more flash"
            if 2 * flash["weights"] >= flash["total"]
            else "code and constants take most of it: a board with more flash"
        )
        raise TooLargeError(
            sizes,
            "does not fit",
            where=f"{report['model']['file']} on board {report['board']}",
            rule=lines[0],
            hint="`edgeconv explain` shows what is live at the memory peak" if of_ram else large,
            details=lines[1:],
        )

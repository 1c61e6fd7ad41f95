"""Kernels and their memory for given formats, and what they take; no search."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf

from edgeconv.app.choice_notes import (
    average_notes,
    computing_notes,
    float32_notes,
    integer_notes,
    integers_of,
    left_notes,
    port_notes,
    thread_notes,
    tuned_notes,
    winograd_notes,
)
from edgeconv.app.deciding.preprocess_model import PreprocessModel
from edgeconv.app.deciding.stream_model import StreamModel
from edgeconv.app.deciding.winograd import WinogradDecision
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.codegen.emit import weight_image
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Graph
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.requantisation import EXACT
from edgeconv.ir.request import NO_WORKSPACE, Workspace
from edgeconv.ir.resumable import MOST_WORK, Resumption
from edgeconv.ir.states import states_apart
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.model.recurrences.form import Form
from edgeconv.report import document
from edgeconv.report.document import Facts, Report
from edgeconv.report.placement import placement_document, placement_notes
from edgeconv.report.resumable import resumable
from edgeconv.search import choose, memory
from edgeconv.search.budget.tables import Objective
from edgeconv.search.choose.arena_limit import Room
from edgeconv.search.choose.attention import with_attention
from edgeconv.search.choose.in_float32 import LayerOptions, in_float32
from edgeconv.search.choose.prices import Known
from edgeconv.search.choose.sharing import share_out
from edgeconv.search.choose.storage import EVERY_LAYER, NO_RESULT, OUTPUT, ROUNDED
from edgeconv.search.fitting import FormatChoice, FormatPlan, Lower
from edgeconv.search.measured import load
from edgeconv.search.memory.check import check as check_map
from edgeconv.search.memory.link import unusable
from edgeconv.search.memory.placement import WEIGHTS, require_memories, with_placement
from edgeconv.search.memory.sizes import Budgets, Overhead, Sizes, planned_sizes
from edgeconv.search.options import ANY_LAYOUT, CompileOptions
from edgeconv.search.predict import Prediction, predict
from edgeconv.search.predict.rates import with_constants_in
from edgeconv.search.predict.resumption import resumption
from edgeconv.target.board import Board
from edgeconv.target.board.team import team_of
from edgeconv.target.price import Machine, machine_of
from edgeconv.target.price.energy import reads_flash, usable
from edgeconv.target.price.measured import Measured


@dataclass(frozen=True, slots=True)
class Allowed:
    """Kernels that may be chosen: ``workspace``: the limit by layer; ``integers``: layers whose
    results are stored as the int8 that a quantised model has rounded them to, None: those where
    that is predicted to be faster.  Both as `search.choose.select` takes them.  ``winograd``:
    layers that may be computed by Winograd's algorithm, beside those that the user names; None:
    all. ``flash``: bytes that the constants of all layers may take.  ``room``: of the arena."""

    workspace: Mapping[str, Workspace] = field(default_factory=dict)
    integers: frozenset[str] | None = NO_RESULT
    winograd: frozenset[str] | None = None
    flash: float = inf
    room: Room | None = None


@dataclass(frozen=True, kw_only=True)
class NetworkPlan:
    """Kernels among those ``allowed``, their memory, and what both take."""

    allowed: Allowed
    choice: Choice
    memory: MemoryMap
    sizes: Sizes
    notes: tuple[str, ...] = ()

    @property
    def settled(self) -> Allowed:
        """Permission for the kernels chosen here, and for the results that are int8 here: whatever
        else is changed, they stay so."""
        kept = integers_of(self.choice)
        layers = (node.name for node in self.choice.graph.nodes if kept & {*node.outputs})
        return replace(self.allowed, integers=frozenset(layers))


@dataclass(frozen=True, kw_only=True)
class Decision(NetworkPlan):
    """Every decision about a model on a board, and the report of them.

    ``found``: the formats that were searched for; None where the user gave all, or none was needed.
    ``resumption``: of a run that may be interrupted, None where it may not.
    ``files``: what goes into the project as it is, by name.
    """

    options: CompileOptions
    board: Board
    predicted: Prediction
    report: Report
    found: FormatChoice | None = None
    resumption: Resumption | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


class Planner:
    """Plans for what the user asks for, on one board; raises UsageError as `team_of`.

    ``overhead``: what a built program is known to take beside.  ``filtering``: of the network,
    where another planner knows it.  ``measured``: asked for times instead of the user's files.
    Raises EdgeconvError as `search.measured.load` where the user names some.
    """

    def __init__(
        self,
        options: CompileOptions,
        board: Board,
        filtering: WinogradDecision | None = None,
        measured: Measured | None = None,
    ) -> None:
        self.options, self.board = options, board
        self._times = load(options.tuned, board) if options.tuned else None
        self.measured = measured or self._times
        self.team = team_of(board, options.threads)
        self.places = require_memories(options.places, board)
        if options.resumable and options.threads > 1:
            raise UsageError(
                "--resumable",
                got=f"--threads {options.threads}",
                rule="one thread computes a step",
                hint="leave one of the two out",
            )
        self.io = options.io_on(bare_metal=board.bare_metal)
        self.filtering = filtering or WinogradDecision(options, bare_metal=board.bare_metal)
        self._attention: dict[tuple[int, bool, frozenset[str]], tuple[Graph, Graph]] = {}
        self.overhead = Overhead()
        self._known = Known()
        self.stream: StreamModel | None = None
        self.frames: PreprocessModel | None = None
        self.recurrences = Form()
        self.budgets = self._budgets()

    def within(self, ram: int | None, flash: int | None) -> Planner:
        """A planner for other budgets; what is known of prices and errors stays common."""
        other = copy(self)
        other.options = replace(self.options, ram=ram, flash=flash)
        other.budgets = other._budgets()
        return other

    def priced_for(self, machine: Machine) -> Planner:
        """A planner that chooses by the prices of this machine."""
        other = copy(self)
        other.machine, other._known = machine, Known()
        return other

    def _budgets(self) -> Budgets:
        options, board = self.options, self.board
        return Budgets(
            self._budget(options.ram, board.ram_bytes),
            self._budget(options.flash, board.flash_bytes),
        )

    def ram_beside(self, draft: NetworkPlan) -> int | None:
        """Bytes of RAM that there are for what is like ``draft``: the budget, of which a board
        without an operating system keeps some free for stack and variables."""
        board, budget, ram = self.board, self.budgets.ram, draft.sizes.ram
        if budget is None or not ram.regions:
            return budget
        has = sum(region.size - region.kept_free for region in ram.regions)
        own = ram.parts["model_struct"]  # which is among the variables
        return min(budget, has - sum(map(unusable, board.ram)) + own)

    def _budget(self, given: int | None, has: int | None) -> int | None:
        """What the user allows; no more than a board without an operating system has."""
        if given is None or has is None or not self.board.bare_metal:
            return has if given is None else given
        return min(given, has)

    @cached_property
    def machine(self) -> Machine:
        """What kernels are priced for: with energies only where these are to be small, and where
        waiting takes some: otherwise all kernels of the same bytes would be as good, or their time
        decides anyhow."""
        board = self.board
        known = machine_of(board.target)
        if WEIGHTS in self.places:
            known = with_constants_in(known, board, self.places[WEIGHTS])
        machine = replace(known, team=self.team, measured=self.measured)
        energy = usable(board) if self.options.objective == Objective.ENERGY.value else None
        if not energy or not energy.idle:
            return machine
        return replace(machine, energy=energy, reads_flash=reads_flash(board), measured=None)

    def draft(self, graph: Graph, allowed: Allowed, storage: Mapping[str, str]) -> NetworkPlan:
        """Kernels for ``storage``, the formats by layer, and their memory.

        Raises EdgeconvError as `search.choose.select` and `WinogradDecision.settle` do, and where
        objects are larger than addresses.
        """
        memory.check_tensors(graph, self.board)
        choice = self._chosen(graph, allowed, storage)
        if self.filtering.settle(graph, choice):
            choice = self._chosen(graph, allowed, storage)
        return self.placed(choice, allowed, storage)

    def _chosen(self, graph: Graph, allowed: Allowed, storage: Mapping[str, str]) -> Choice:
        options, board = self.options, self.board
        formats = {**_pinned(options.storage), **storage}
        choice = choose.select(
            self._with_attention(graph, allowed, formats),
            board.target,
            io=self.io,
            algorithms=options.algorithms,
            storage=formats,
            truncate=options.truncate,
            integers=allowed.integers,
            workspace=allowed.workspace,
            machine=self.machine,
            winograd_forms=self.filtering.forms(graph, allowed.winograd),
            flash=allowed.flash,
            known=self._known,
            room=allowed.room,
            any_layout=options.input_layout == ANY_LAYOUT,
            float16=(EVERY_LAYER,) if options.float16 else (),
        )
        choice = replace(choice, resumable=options.resumable, states_apart=options.states_apart)
        return share_out(choice, board.target, self.machine)

    def _with_attention(self, graph: Graph, allowed: Allowed, formats: Mapping[str, str]) -> Graph:
        """``graph`` with Attention nodes for layers of which nobody asks more than float32."""
        asked = frozenset(name.removesuffix(OUTPUT) for name in formats)
        if EVERY_LAYER + OUTPUT in formats or graph.requantise != EXACT:
            return graph
        small = self.options.objective == Objective.MEMORY.value
        least = small or allowed.workspace.get(EVERY_LAYER) == NO_WORKSPACE
        key = id(graph), least, asked
        if key not in self._attention:
            target = self.board.target
            made = with_attention(graph, target, self.machine, asked, minimum_ram=least)
            self._attention[key] = graph, made  # an id is one graph's as long as that is kept
        return self._attention[key][1]

    def placed(self, choice: Choice, allowed: Allowed, storage: Mapping[str, str]) -> NetworkPlan:
        """``choice``, made for ``storage``, in memory; its map is checked once it is decided."""
        board = self.board
        choice = with_placement(choice, self.places, board)
        plan = memory.fit(choice, board, self.options.ram, verified=False)
        image = weight_image(choice, plan)
        memory.check_objects(board, arena=plan.arena_bytes, weights=image.bytes)
        notes = (
            *computing_notes(choice),
            *winograd_notes(choice, self.filtering.promised),
            *self.filtering.notes,
            *integer_notes(choice, storage),
            *average_notes(choice),
            *left_notes(choice, storage),
            *port_notes(choice, self.options.io),
            *thread_notes(choice, self.options.threads),
            *placement_notes(choice, plan, board, image),
            *tuned_notes(choice, self._times, timed=board.macs_per_cycle is not None),
        )
        return NetworkPlan(
            allowed=allowed,
            choice=choice,
            memory=plan,
            sizes=planned_sizes(choice, plan, board, image, self.budgets),
            notes=(*choice.graph.notes, *notes),
        )

    def planned(self, graph: Graph, allowed: Allowed, storage: Mapping[str, str]) -> FormatPlan:
        """A draft as the search for formats takes it."""
        draft, overhead = self.draft(graph, allowed, storage), self.overhead
        excess = draft.sizes.excess()
        return FormatPlan(
            draft.choice,
            draft.memory,
            draft.sizes.ram.total + overhead.ram,
            draft.sizes.flash.total,
            overhead.flash,
            sum(each.bytes for each in excess if each.kind == "ram" and each.region),
        )

    def lower(self, allowed: Allowed) -> Lower:
        """Plans of `planned` with these kernels."""
        return lambda graph, storage: self.planned(graph, allowed, storage)

    def exceeded(self, draft: NetworkPlan, kind: str = "") -> bool:
        """Whether a budget or region is too small, with the overhead that is known."""
        sizes = draft.sizes
        return sizes.exceeds(kind) or sizes.beside(self.overhead).exceeds(kind)

    def decided(self, draft: NetworkPlan) -> Decision:
        """The draft with its prediction and its report."""
        options, board = self.options, self.board
        facts = Facts(
            name=options.prefix,
            model_file=options.model.name,
            weights_as_c=options.weights_as_c,
            rounding=options.rounding,
            requantise=options.requantise,
            cut=options.cut,
            max_sizes=options.max_sizes,
            renames=options.renames,
            command=options.command(),
            input_layout=options.input_layout,
            code=options.code_on(bare_metal=board.bare_metal),
            model_version=options.model_version,
            recurrences=self.recurrences,
        )
        choice, plan, sizes = draft.choice, draft.memory, draft.sizes
        check_map(choice, plan)
        predicted = predict(choice, plan, board)
        asked = LayerOptions(options.algorithms, options.storage)
        whys = in_float32(choice, board.target, asked)
        report = document.build_report(choice, plan, board, sizes, predicted, facts, whys)
        report = self.filtering.into(report, choice)
        if options.states_apart:
            _require_apart(choice, plan)
        resumed = self._resumption(draft, predicted)
        report |= resumable(choice, plan, resumed) if resumed else {}
        report |= placement_document(facts.name, choice, board, weight_image(choice, plan))
        own = {each.name: getattr(draft, each.name) for each in fields(NetworkPlan)}
        own["notes"] = (*draft.notes, *float32_notes(choice, whys))
        files: dict[str, bytes] = {}
        if self.stream:
            report, files = self.stream.into(report, facts.name), self.stream.file(facts.name)
            own["notes"] = (*own["notes"], self.stream.note(report["model"]["macs"]))
        if self.frames:
            report, files = self.frames.into(report, facts.name), self.frames.file(facts.name)
            own["notes"] = (*own["notes"], self.frames.note())
        return Decision(
            **own,
            options=options,
            board=board,
            predicted=predicted,
            report=report,
            files=files,
            resumption=resumed,
        )

    def _resumption(self, draft: NetworkPlan, predicted: Prediction) -> Resumption | None:
        """What a run in bounded steps takes, where the user asks for it.  Raises EdgeconvError
        where a piece takes more than a step counts."""
        if not self.options.resumable:
            return None
        found = resumption(draft.choice, draft.memory, self.board, predicted)
        if found.longest is not None and found.least > MOST_WORK:
            raise EdgeconvError(
                "--resumable",
                where=f"layer {draft.choice.layers[found.longest].node.name}",
                got=f"{found.least} predicted cycles in one piece",
                rule=f"a step has at most {MOST_WORK}",
                hint="leave --resumable out",
            )
        return found


def _require_apart(choice: Choice, plan: MemoryMap) -> None:
    """Raises EdgeconvError (exit status 2 without states) where states cannot lie apart."""
    if not choice.graph.states:
        raise UsageError(
            "--states-apart",
            rule="the network keeps no state",
            hint="--state OUT=IN keeps an output for the next run",
        )
    if not states_apart(choice.graph, plan):
        raise EdgeconvError(
            "--states-apart",
            got="an arena in " + ", ".join(bank.name for bank in plan.banks if bank.bytes),
            rule="states lie apart from an arena that is in one memory",
            hint="leave --states-apart out, or compile for a memory that has room for all of it",
        )


def _pinned(storage: Mapping[str, str]) -> dict[str, str]:
    """Formats of results that lose nothing and that the user wants: nothing searches for them."""
    lossless = (FLOAT32, *ROUNDED.values())
    return {k: form for k, form in storage.items() if k.endswith(OUTPUT) and form in lossless}

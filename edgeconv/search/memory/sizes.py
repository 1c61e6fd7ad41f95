"""What a network takes of RAM and flash, and by what that exceeds budgets and regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from edgeconv.codegen.weights import WeightImage
from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.states import states_apart
from edgeconv.search.memory.link import data_region, io_region, kept_free, weights_by_region
from edgeconv.search.memory.program import caller_bytes
from edgeconv.target.board import Board, Memory

RAM_PARTS = ("arena", "io", "weights", "data", "stack", "padding")
FLASH_PARTS = ("weights", "code", "rodata", "padding")


@dataclass(frozen=True, slots=True)
class Overhead:
    """Bytes that count against the budgets and that only a built program tells: code, constants,
    stack, variables."""

    ram: int = 0
    flash: int = 0


@dataclass(frozen=True, slots=True)
class Budgets:
    """Bytes allowed; None: any number."""

    ram: int | None = None
    flash: int | None = None

    @property
    def words(self) -> str:
        """As the command line takes them."""
        given = (("--ram", self.ram), ("--flash", self.flash))
        return " ".join(f"{option} {size}" for option, size in given if size is not None)


@dataclass(frozen=True, slots=True)
class RegionUse:
    """One memory region of a bare-metal board, of ``size`` bytes at ``base``.

    ``parts``: bytes by what takes them, None where that is not known yet; ``kept_free``: bytes for
    what is not.
    """

    name: str
    kind: str
    base: int | None
    size: int
    parts: Mapping[str, int | None]
    kept_free: int = 0

    @property
    def used(self) -> int:
        """Bytes of all that is known."""
        return sum(size or 0 for size in self.parts.values())


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """RAM or flash: bytes by what takes them, those of them in the regions of a bare-metal board,
    and those allowed in all (None: any number)."""

    parts: Mapping[str, int]
    budget: int | None
    regions: tuple[RegionUse, ...] = ()

    @property
    def total(self) -> int:
        """Bytes of all parts."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Excess:
    """``needed`` bytes are more than the ``allowed`` ones: of all RAM or flash (``kind``), or of
    its region of this name."""

    kind: str
    needed: int
    allowed: int
    region: str = ""

    @property
    def bytes(self) -> int:
        """The bytes that are too many."""
        return self.needed - self.allowed


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes that a program takes of each kind of memory."""

    ram: MemoryUse
    flash: MemoryUse

    def excess(self, *, known: bool = False) -> tuple[Excess, ...]:
        """All that is exceeded; of regions only where budgets are kept, or all is ``known``.

        What is kept free for stack and variables counts, unless they are known or soon will be.
        """
        totals = self._of_budgets()
        return totals if totals and not known else totals + self._of_regions(known)

    def exceeds(self, kind: str = "") -> bool:
        """Whether a budget or a region is too small, of one kind of memory or of any."""
        found = (*self._of_budgets(), *self._of_regions(known=False))
        return any(kind in ("", excess.kind) for excess in found)

    def beside(self, overhead: Overhead) -> Sizes:
        """The sizes with what a built program takes beside: against budgets, not in regions."""
        ram, flash = self.ram, self.flash
        return Sizes(
            replace(ram, parts={**ram.parts, "overhead": overhead.ram}),
            replace(flash, parts={**flash.parts, "overhead": overhead.flash}),
        )

    def _of_budgets(self) -> tuple[Excess, ...]:
        return tuple(
            Excess(kind, use.total, use.budget)
            for kind, use in (("ram", self.ram), ("flash", self.flash))
            if use.budget is not None and use.total > use.budget
        )

    def _of_regions(self, known: bool) -> tuple[Excess, ...]:
        return tuple(
            Excess(kind, needed, region.size, region.name)
            for kind, use in (("ram", self.ram), ("flash", self.flash))
            for region in use.regions
            if (needed := region.used + (0 if known else region.kept_free)) > region.size
        )


def planned_sizes(
    choice: Choice, memory: MemoryMap, board: Board, image: WeightImage, budgets: Budgets
) -> Sizes:
    """Before anything is built: of RAM what one instance needs, the caller's buffers included, and
    of flash the bytes of the weight ``image``, of which the user may have some copied to RAM."""
    io = caller_bytes(choice)
    banks = sum(1 for bank in memory.banks if bank.bytes)
    # `name_model`: every part of the weights and of the arena, and states that may lie apart.
    pointers = len(image.parts) + max(banks, 1) + bool(states_apart(choice.graph, memory))
    word = 8 if "64" in board.arch else 4
    place = -(-_place_bytes(choice) // word) * word
    ram = {
        "arena": memory.arena_bytes,
        "io": io,
        "model_struct": pointers * word + place,
    }
    by_region = weights_by_region(board, image.parts) if board.firmware else {}
    copied = sum(size for region, size in by_region.items() if not region.is_flash)
    ram |= {"weights": copied} if copied else {}
    return Sizes(
        MemoryUse(ram, budgets.ram, _ram_regions(board, memory, io, by_region)),
        MemoryUse({"weights": image.bytes}, budgets.flash, _flash_regions(board, by_region)),
    )


def _place_bytes(choice: Choice) -> int:
    """How far a run is that may be interrupted: its step, maybe a patch, and a count by layer of
    the longest step."""
    if not choice.resumable:
        return 0
    patch = any(step.patches > 1 for step in choice.steps)
    return 4 * (1 + patch + max((len(step.layers) for step in choice.steps), default=1))


def _ram_regions(
    board: Board, memory: MemoryMap, io: int, weights: Mapping[Memory, int]
) -> tuple[RegionUse, ...]:
    """Neither variables nor the stack are known yet, for which bytes are kept free.

    None for a board with an operating system, which decides where things lie.
    """
    if board.firmware is None:
        return ()
    found = []
    for region, bank in zip(board.ram, memory.banks, strict=True):
        home = region == data_region(board)
        taken = {
            "arena": bank.bytes,
            "io": io if region == io_region(board, memory) else 0,
            **({"weights": weights[region]} if region in weights else {}),
            **dict.fromkeys(("data", "stack"), None if home else 0),
            "padding": None,
        }
        found.append(_region(region, taken, kept_free(board) if home else 0))
    return tuple(found)


def _flash_regions(board: Board, weights: Mapping[Memory, int]) -> tuple[RegionUse, ...]:
    """Code and constants are not known yet.  Weights in RAM are loaded from beside the code."""
    if board.firmware is None:
        return ()
    loaded = sum(size for region, size in weights.items() if not region.is_flash)
    return tuple(
        _region(
            region,
            {
                "weights": weights.get(region, 0) + (loaded if region == board.flash[0] else 0),
                **dict.fromkeys(("code", "rodata"), None if region == board.flash[0] else 0),
                "padding": None,
            },
        )
        for region in board.flash
    )


def _region(region: Memory, parts: Mapping[str, int | None], kept: int = 0) -> RegionUse:
    return RegionUse(region.name, region.kind, region.base, region.size, parts, kept)

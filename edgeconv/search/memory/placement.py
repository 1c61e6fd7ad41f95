"""What the user says of the memories that parts of a network lie in, held to the board's file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import did_you_mean, shortened
from edgeconv.base.sizes import human
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.placement import Placement
from edgeconv.search.memory.banks import identifiers
from edgeconv.search.memory.sizes import Sizes
from edgeconv.target.board import Board, Memory

OPTION = "--place"
WEIGHTS, ARENA, IO = PARTS = ("weights", "arena", "io")
_WRITTEN = (ARENA, IO)  # parts that a run writes to


def require_memories(places: Mapping[str, str], board: Board) -> dict[str, str]:
    """``places``, memories by part or pattern of layers' names, with the memories as the board's
    file calls them.  They may be given in lower case, and as C has them (``axi_sram``).

    Raises UsageError: a board with an operating system, a memory that it does not have, one of
    kind flash for what a run writes.
    """
    if places and not board.bare_metal:
        raise UsageError(
            OPTION,
            where=f"board {board.name}",
            got=next(f"{what}={memory}" for what, memory in places.items()),
            rule="it has an operating system, which decides where programs lie",
            hint="define PREFIX_WEIGHTS_SECTION to put the weights into a section of your own",
        )
    return {what: _memory(what, memory, board).name for what, memory in places.items()}


def _memory(what: str, name: str, board: Board) -> Memory:
    called = zip(board.memory, identifiers(board.memory), strict=True)
    plain = name.casefold()
    found = next((each for each, c in called if plain in (each.name.casefold(), c)), None)
    has = ", ".join(f"{each.name} ({each.kind}, {human(each.size)})" for each in board.memory)
    if found is None:
        raise UsageError(
            f"{OPTION} {what}",
            where=f"board {board.name}",
            got=repr(name),
            rule=f"its memories are {has}",
            hint=did_you_mean(name, (each.name for each in board.memory)),
        )
    if found.is_flash and what in _WRITTEN:
        raise UsageError(
            f"{OPTION} {what}",
            where=f"board {board.name}",
            got=repr(name),
            rule=f"a run writes there, and {found.name} is flash",
            hint=f"RAM is {', '.join(each.name for each in board.ram)}",
        )
    return found


def with_placement(choice: Choice, places: Mapping[str, str], board: Board) -> Choice:
    """``choice`` with what ``places`` say, as `require_memories` returns them: of the weight image,
    the arena, inputs and outputs, and of the constants of layers whose name, or one of whose nodes,
    is another key or matches it as a pattern of a shell.

    Raises UsageError for a pattern that no layer with constants matches, and for a layer that two
    of them have in different memories.
    """
    if not places:
        return choice
    patterns = {what: memory for what, memory in places.items() if what not in PARTS}
    weights = places.get(WEIGHTS, board.flash[0].name if patterns else "")
    layers = [layer for layer in choice.layers if layer.blobs]
    for pattern in patterns:
        if not any(_matches(layer, pattern) for layer in layers):
            names = [layer.node.name for layer in layers]
            raise UsageError(
                OPTION,
                got=repr(pattern),
                rule="it is not weights, arena or io, and no layer with constants is called so",
                hint=did_you_mean(pattern, names),
            )
    own = {layer.node.name: _of_layer(layer, patterns) or weights for layer in layers}
    placement = Placement(
        weights=weights,
        arena=places.get(ARENA, ""),
        io=places.get(IO, ""),
        layers={name: memory for name, memory in own.items() if memory != weights},
    )
    return replace(choice, placement=placement)


def require_room(sizes: Sizes, places: Mapping[str, str], board: Board) -> None:
    """Raises EdgeconvError where a memory that the user names is too small for what is to lie
    there, beside all else that does."""
    exceeded = (*sizes.excess(), *sizes.excess(known=True))
    by_region = {each.region: each for each in reversed(exceeded) if each.region}
    for what, memory in places.items():
        if memory not in by_region:
            continue
        excess = by_region[memory]
        kinds = board.ram if what in _WRITTEN or excess.kind == "ram" else board.memory
        others = [each for each in kinds if each.size >= excess.needed]
        raise EdgeconvError(
            "does not fit",
            where=f"{OPTION} {what}={excess.region} on board {board.name}",
            got=f"{excess.needed:,} bytes",
            rule=f"{excess.region} has {excess.allowed:,}",
            hint=f"{_listed(others)}numbers in fewer bits with --storage or --min-sqnr",
        )


def _listed(memories: Iterable[Memory]) -> str:
    """Where there is room."""
    words = ", ".join(f"{each.name} ({human(each.size)})" for each in memories)
    return f"large enough: {words}; or " if words else ""


def _names(layer: Layer) -> Iterable[str]:
    return dict.fromkeys((layer.node.name, *layer.node.origin))


def _matches(layer: Layer, pattern: str) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for name in _names(layer))


def _of_layer(layer: Layer, patterns: Mapping[str, str]) -> str:
    """The memory of a layer's constants; "" where no pattern is of it.  A name comes before
    patterns."""
    exact = {patterns[name] for name in _names(layer) if name in patterns}
    found = exact or {memory for what, memory in patterns.items() if _matches(layer, what)}
    if len(found) > 1:
        raise UsageError(
            OPTION,
            where=f"layer {shortened(layer.node.name)}",
            got=" and ".join(sorted(found)),
            rule="constants of a layer lie in one memory",
            hint="say it of the layer by its whole name",
        )
    return next(iter(found), "")

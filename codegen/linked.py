"""Several networks in one arena, as the files of a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv import __version__
from edgeconv.codegen.functions import environment
from edgeconv.codegen.weights import VERSION


@dataclass(frozen=True, slots=True)
class LinkedBank:
    """An arena of the folder.  ``name``: of the memory; ``pointer``: of the parameter; ``bytes``:
    for all networks."""

    name: str
    pointer: str
    bytes: int


@dataclass(frozen=True, slots=True)
class LinkedPlace:
    """A network's bytes in an arena of the folder, ``bank`` its pointer: from ``offset`` on.
    ``offset_name``, ``size_name``: the constants, of the folder's header and of the network's.
    ``apart``: bytes at its beginning that may lie elsewhere, 0 for none; ``states``: where in the
    arena of the folder they do, None where they are not apart."""

    bank: str
    offset: int
    bytes: int
    offset_name: str
    size_name: str
    apart: int = 0
    states: int | None = None


@dataclass(frozen=True, slots=True)
class LinkedNetwork:
    """A network of the folder.  ``folder``: of its project, from this one.  ``others``: those that
    may be in use at the same time.  ``kept``: bytes that it keeps between two runs.  ``weights``:
    bytes of every part of its image by symbol, C arrays with ``as_c``.  ``optimise``: the
    compiler's option.  ``parameters``: of its init function."""

    name: str
    folder: str
    others: tuple[str, ...]
    places: tuple[LinkedPlace, ...]
    kept: int
    weights: Mapping[str, int]
    as_c: bool
    optimise: str
    threads: int
    parameters: tuple[str, ...]

    @property
    def states(self) -> LinkedPlace | None:
        """The place of its arena, if its states lie apart from that."""
        return next((place for place in self.places if place.states is not None), None)

    @property
    def NAME(self) -> str:  # noqa: N802 - as templates call it
        """What its macros begin with."""
        return self.name.upper()


def linked_files(
    name: str,
    board: str,
    flags: Sequence[str],
    align: int,
    banks: Sequence[LinkedBank],
    networks: Sequence[LinkedNetwork],
) -> Mapping[str, str]:
    """The files of the folder ``name`` by name.  ``align``: bytes, of every arena."""
    variables = {
        "name": name,
        "NAME": name.upper(),
        "version": __version__,
        "board": board,
        "flags": flags,
        "align": align,
        "banks": banks,
        "networks": networks,
        "total": sum(bank.bytes for bank in banks),
        "alone": sum(place.bytes for network in networks for place in network.places),
        "weights_version": VERSION,
    }
    templates = {
        f"{name}.h": "link.h.j2",
        f"{name}.c": "link.c.j2",
        "CMakeLists.txt": "CMakeLists.txt.j2",
        "Makefile": "Makefile.j2",
    }
    return {
        file: environment().get_template(f"link/{template}").render(variables)
        for file, template in templates.items()
    }

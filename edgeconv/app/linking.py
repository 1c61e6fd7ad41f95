"""Compiled projects in one arena: which bytes each has, and the folder that says so."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.base.output_folder.folder import Contents, check_target, put_project
from edgeconv.base.real_path import real_path
from edgeconv.base.visible import json_text
from edgeconv.codegen.c_names import require_prefix
from edgeconv.codegen.linked import LinkedBank, LinkedNetwork, LinkedPlace, linked_files
from edgeconv.run.build.compile import optimisation
from edgeconv.run.build.project import Project
from edgeconv.search.memory.banks import identifiers
from edgeconv.search.memory.common_arena import CommonArena, Tenant, common_arena
from edgeconv.target.board import Board

LINK = "program of several networks"  # the kind of folder
LINKED = "link.json"
_PLAIN = re.compile(r"[\w./+@%,-]+", re.ASCII)  # in makefiles
_MOST = 16  # networks: every pair is told apart


@dataclass(frozen=True, slots=True)
class Linked:
    """What was linked.  ``document``: of link.json.  ``notes``: what the user should know."""

    directory: Path
    document: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def link(
    directories: Sequence[Path],
    name: str,
    directory: Path | None,
    *,
    arena: bool,
    together: Sequence[Sequence[str]] = (),
) -> Linked:
    """Make ``directory`` (./``name`` if None) the folder that links the projects in
    ``directories``: in one ``arena`` those that never run together use the same bytes, without it
    each has its own.

    ``together``: names of networks of which any two may be in use at the same time.  Raises
    EdgeconvError: projects of different boards, of one name, or unknown names; an arena that does
    not fit its memory; as `Project.open` and `put_project`.
    """
    target = real_path(directory or Path(name))
    projects = _opened(directories, name)
    boards = {project.name: project.report["board"] for project in projects}
    if len(set(boards.values())) > 1:
        raise UsageError(
            "cannot link",
            got=", ".join(f"{network} is for board {board}" for network, board in boards.items()),
            rule="all are compiled for one board",
            hint="compile them for the same --board",
        )
    _require_target(target, projects)
    board, names = projects[0].board(), [project.name for project in projects]
    pairs = _pairs(names, together)
    if not arena:
        pairs = _pairs(names, [names])
    align = max(board.target.align, 64)
    held = {project.name: _tenants(project) for project in projects}
    memories = [
        memory for memory in _memories(board) if any(memory in own for own in held.values())
    ]
    plans = {
        memory: common_arena(
            {n: own.get(memory, Tenant(0)) for n, own in held.items()}, pairs, align
        )
        for memory in memories
    }
    _require_room(projects, plans)
    pointers = _pointers(board, memories)
    banks = [LinkedBank(m, pointers[m], plans[m].bytes) for m in memories]
    networks = [_network(p, held[p.name], plans, pointers, pairs, name, target) for p in projects]
    document = _document(name, board.name, align, banks, networks, plans)
    files = {**linked_files(name, board.name, board.flags, align, banks, networks)}
    files[LINKED] = json_text(document) + "\n"

    def fill(folder: Path) -> Mapping[str, str]:
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8", newline="\n")
        return {}

    vital = frozenset({f"{name}.h", f"{name}.c", LINKED})
    notes = put_project(target, Contents(name, fill, vital, kind=LINK))
    own = tuple(chain.from_iterable(map(_within_windows, projects))) if arena else ()
    return Linked(directory or Path(name), document, (*own, *notes))


def _within_windows(project: Project) -> Iterator[str]:
    """A note where the states of ``project`` bring bytes along that could be shared."""
    report, align = project.report, project.board().target.align
    apart = report["ram"].get("states_apart", 0)
    own = sum(-(-state["bytes"] // align) * align for state in report.get("states", ()))
    if own < apart:
        yield (
            f"{project.name} keeps {apart} bytes from run to run, of which {own} are states: these "
            "lie within windows; compile it with --states-apart, and the rest can be shared"
        )


def _opened(directories: Sequence[Path], name: str) -> list[Project]:
    require_prefix(name)
    if not 2 <= len(directories) <= _MOST:
        raise UsageError(
            "cannot link",
            got=f"{len(directories)} project(s)",
            rule=f"from 2 to {_MOST} are linked",
        )
    found: dict[str, Project] = {}
    for directory in directories:
        project = Project.open(directory)
        if project.name == name or project.name in found:
            other = found[project.name].directory if project.name in found else "the folder itself"
            raise UsageError(
                "cannot link",
                where=str(directory),
                got=f"the name {project.name}, which {other} has too",
                rule="every symbol begins with the name, so that names differ",
                hint="compile it with another --name",
            )
        found[project.name] = project
    return list(found.values())


def _require_target(target: Path, projects: Sequence[Project]) -> None:
    """Raises EdgeconvError where ``target`` is no place for a folder of this kind."""
    check_target(target, LINK)
    for project in projects:
        folder = os.path.relpath(real_path(project.directory), target)
        if not _PLAIN.fullmatch(folder):
            raise UsageError(
                "cannot link",
                where=str(project.directory),
                got=repr(folder),
                rule="makefiles name a path of letters, digits and ./+@%,-_",
                hint="put the projects and the folder side by side",
            )


def _pairs(names: Sequence[str], together: Sequence[Sequence[str]]) -> set[frozenset[str]]:
    for each in (word for group in together for word in group):
        if each not in names:
            raise UsageError(
                "--together",
                got=repr(each),
                rule=f"is none of {', '.join(names)}",
                hint=did_you_mean(each, names),
            )
    return {frozenset(pair) for group in together for pair in combinations(sorted(set(group)), 2)}


def _memories(board: Board) -> list[str]:
    """The memories that an arena may lie in, as reports name them, in the order of banks."""
    return [region.name for region in board.ram] if board.bare_metal else ["arena"]


def _pointers(board: Board, memories: Sequence[str]) -> dict[str, str]:
    """By memory the C name of the parameter: as projects call those of their banks."""
    if not board.bare_metal:
        return dict.fromkeys(memories, "arena")
    called = dict(zip(_memories(board), identifiers(board.ram), strict=True))
    return {m: f"arena_{called[m]}" if number else "arena" for number, m in enumerate(memories)}


def _tenants(project: Project) -> dict[str, Tenant]:
    """By memory what the project's arena has there, in the order of its banks."""
    report, board = project.report, project.board()
    names = {state.get("tensor", state["name"]) for state in report.get("states", ())}
    apart = report["ram"].get("states_apart", 0)
    found = {}
    sizes = {"arena": report["ram"]["arena"]}
    if board.bare_metal:
        sizes = {row["name"]: row["arena"] for row in report["ram"]["regions"]}
    for memory in _memories(board):
        rows = [
            row for row in report["arena_map"] if row["bank"] == memory and row["name"] in names
        ]
        kept = tuple((row["offset"], row["offset"] + row["bytes"]) for row in rows)
        if size := sizes.get(memory) or 0:
            # Assertions hold the project to the end of what lies apart, not to each of its states.
            found[memory] = Tenant(size, ((0, apart),) if apart else kept, apart)
    return found


def _require_room(projects: Sequence[Project], plans: Mapping[str, CommonArena]) -> None:
    for row in projects[0].report["ram"]["regions"]:
        plan = plans.get(row["name"])
        if plan is not None and plan.bytes > row["size"]:
            raise EdgeconvError(
                "does not fit",
                where=f"memory {row['name']}",
                got=f"an arena of {plan.bytes} bytes",
                rule=f"it has {row['size']}",
                hint="fewer networks --together, or compile them with less --ram",
            )


def _network(
    project: Project,
    held: Mapping[str, Tenant],
    plans: Mapping[str, CommonArena],
    pointers: Mapping[str, str],
    pairs: set[frozenset[str]],
    name: str,
    target: Path,
) -> LinkedNetwork:
    own, report = project.name, project.report
    called = _pointers(project.board(), list(held))
    places = [
        LinkedPlace(
            bank=pointers[memory],
            offset=plans[memory].offsets[own],
            bytes=tenant.bytes,
            offset_name=f"{name}_{own}{pointers[memory].removeprefix('arena')}_offset".upper(),
            size_name=f"{own}_{called[memory]}_bytes".upper(),
            apart=tenant.apart,
            states=plans[memory].states.get(own),
        )
        for memory, tenant in held.items()
    ]
    arenas = [f"void *{each}, size_t {each}_bytes" for each in pointers.values()]
    whole = {"symbol": f"{own}_weights", "bytes": report["flash"]["weights"]}
    parts = report.get("placement", {}).get("parts", [whole])
    return LinkedNetwork(
        name=own,
        folder=Path(os.path.relpath(real_path(project.directory), target)).as_posix(),
        others=tuple(sorted(other for pair in pairs if own in pair for other in pair - {own})),
        places=tuple(places),
        kept=sum(end - begin for tenant in held.values() for begin, end in tenant.kept),
        weights={part["symbol"]: part["bytes"] for part in parts},
        as_c=report["program"]["weights"] == "c",
        optimise=optimisation(report["program"]),
        threads=report["threads"],
        parameters=(f"{own}_model *model", *arenas),
    )


def _document(
    name: str,
    board: str,
    align: int,
    banks: Sequence[LinkedBank],
    networks: Sequence[LinkedNetwork],
    plans: Mapping[str, CommonArena],
) -> dict[str, Any]:
    """link.json: sizes and offsets in bytes.  ``states``: where those of a network begin that lie
    apart from the rest of its arena, the beginning of which is then not its own."""
    return {
        "name": name,
        "board": board,
        "align": align,
        "arenas": [
            {"memory": each.name, "bytes": each.bytes, "optimal": plans[each.name].optimal}
            for each in banks
        ],
        "alone": sum(place.bytes for network in networks for place in network.places),
        "networks": [
            {
                "name": each.name,
                "folder": each.folder,
                "together": list(each.others),
                "kept": each.kept,
                "arenas": [
                    {
                        "parameter": place.bank,
                        "offset": place.offset,
                        "bytes": place.bytes,
                        **({} if place.states is None else {"states": place.states}),
                    }
                    for place in each.places
                ],
            }
            for each in networks
        ],
    }

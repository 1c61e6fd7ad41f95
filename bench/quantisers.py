"""What quantisers of today write of six small networks, and what becomes of it.

    python bench/quantisers.py FOLDER [--tool NAME ...] [--option NAME ...] [--network NAME ...]
        [--board NAME ...] [--python NAME=PATH ...] [--verify] [--summary]
    python bench/quantisers.py FOLDER --runtime [--requantise tflite] ...

Makes a virtual environment for each tool in FOLDER, or takes the interpreter that ``--python``
names, which has the packages of `quantising.tools`; and lets the tool quantise each network with
each of its options.  Files in FOLDER are taken as they are: remove FOLDER/TOOL to make them again.

Prints Markdown, for each board a line for each tool and option.  By network: layers computed in
integers, of those with multiply-accumulates; the share of these; milliseconds, as far as the
board's file predicts some; bytes of RAM; with ``--verify`` whether verify, under an emulator for
boards that are not here, finds programs equal to exact arithmetic of their models.  ``--summary``:
one table of all boards instead, see `quantising.summary`.  Files of TensorFlow Lite of the option
``dynamic`` are compiled with ``--requantise tflite``.

``--runtime``: how far programs are from the runtimes of the tools' users instead, those of
`quantising.tools` in their defaults, on seeded inputs: at most how many steps of the output's grid,
or how much where it has none, and the share of numbers that differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from quantising.networks import NETWORKS, write_networks
from quantising.outcomes import Apart, Outcome, beside_runtime, compiled
from quantising.summary import summary
from quantising.tools import (
    TOOLS,
    NotInstalledError,
    files,
    write_answers,
    write_files,
)

from edgeconv.ir.requantisation import EXACT, TFLITE

Key = tuple[str, str, str]  # tool, option, network


def table(outcomes: Mapping[Key, Outcome | Apart]) -> Iterator[str]:
    """Markdown of outcomes by tool, option and network: a line for each tool and option, a column
    for each network."""
    columns = list(dict.fromkeys(network for *_, network in outcomes))
    yield f"| tool, option | {' | '.join(columns)} |"
    yield f"|{'---|' * (len(columns) + 1)}"
    for tool, option in dict.fromkeys((tool, option) for tool, option, _ in outcomes):
        cells = (outcomes.get((tool, option, column)) for column in columns)
        texts = ("" if each is None else each.cell() for each in cells)
        yield f"| {tool}, {option} | {' | '.join(texts)} |"


def chosen(given: argparse.Namespace) -> dict[Key, Path]:
    """The files NETWORK.OPTION.SUFFIX of all tools, which are written where none lies there."""
    networks = given.folder / "networks"
    if not networks.exists():
        write_networks(networks)
    pythons = dict(each.split("=", 1) for each in given.python)
    found: dict[Key, Path] = {}
    for tool in given.tool:
        only = given.option or ()
        if not files(tool, given.folder):
            write_files(tool, given.folder, pythons, networks, only)
        if given.runtime:
            write_answers(tool, given.folder, pythons, only)
        for path in files(tool, given.folder):
            network, option, _ = path.name.split(".")
            if network in given.network and (not only or option in only):
                found[tool, option, network] = path
    return {key: found[key] for key in sorted(found, key=_place)}


def _place(key: Key) -> tuple[int, str, int]:
    tool, option, network = key
    return list(TOOLS).index(tool), option, list(NETWORKS).index(network)


def by_board(given: argparse.Namespace, paths: Mapping[Key, Path]) -> None:
    """What becomes of the files on each board."""
    found: dict[str, dict[Key, Outcome]] = {}
    real: dict[str, dict[str, Outcome]] = {}
    for board in given.board:
        found[board] = {}
        for key, path in paths.items():
            found[board][key] = compiled(path, board, verify=given.verify)
            print(board, *key, found[board][key].cell(), file=sys.stderr, flush=True)
        if not given.summary:
            print(f"\n{board}\n\n" + "\n".join(table(found[board])), flush=True)
            continue
        models = {name: given.folder / "networks" / f"{name}.onnx" for _, _, name in paths}
        real[board] = {name: compiled(p, board, verify=False) for name, p in models.items()}
    if given.summary:
        print("\n".join(summary(found, real)))


def by_runtime(given: argparse.Namespace, paths: Mapping[Key, Path]) -> None:
    """How far programs of the files are from each runtime."""
    for runtime in dict.fromkeys(name for tool in given.tool for name in TOOLS[tool].runtimes):
        found: dict[Key, Apart] = {}
        for key, path in paths.items():
            if runtime in TOOLS[key[0]].runtimes:
                found[key] = beside_runtime(path, runtime, given.requantise)
                print(runtime, *key, found[key].cell(), file=sys.stderr, flush=True)
        if found:
            print(f"\n{runtime}\n\n" + "\n".join(table(found)), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tool", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--python", nargs="+", default=[], metavar="NAME=PATH")
    parser.add_argument("--board", nargs="+", default=["mps2-an500"])
    parser.add_argument("--option", nargs="+", help="these alone")
    parser.add_argument("--network", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--runtime", action="store_true")
    parser.add_argument("--requantise", choices=(EXACT, TFLITE), default=EXACT)
    given = parser.parse_args(arguments)
    try:
        paths = chosen(given)
    except NotInstalledError as error:
        parser.exit(1, f"{error}\n")
    (by_runtime if given.runtime else by_board)(given, paths)


if __name__ == "__main__":
    main()

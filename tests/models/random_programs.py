"""Random programs: random networks compiled for random boards with random options, and verified.

python -m tests.models.random_programs [--first SEED] [--count N] [--seconds S] [--only SEED]
                                       [--forms] [--boards NAME ...]

Networks are of float32, some with states, quantised (QDQ), or quantised to int8 by samples; with
--forms they are those of `random_forms`, compiled without options, for one board after the other.
What a budget or an option rules out is refused, which is no mistake; every other program must be
called right by ``verify``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import find_compiler, find_emulator
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind
from tests.models import random_forms, random_quantised, random_states
from tests.models.random_blocks import random_network
from tests.tools import representatives

_NODES = 14  # of float32 networks: what is left of a failure can be read
_SAMPLES = 4
_PATIENCE_S = 900
RIGHT, REFUSED = "right", "refused"
FORMS, STATES = "forms", "states"
# Of status 1 what no program is expected to be made of.
_REFUSALS = ("cannot be compiled", "does not fit", "would not be bit for bit")
_STORED = ("int8", "flyte8", "flyte16", "flyte24")


@dataclass(frozen=True)
class Program:
    """What ``seed`` draws: the ``kind`` of network, the board's name, options of compile."""

    seed: int
    kind: str
    board: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.seed} {self.kind} --board {self.board} {' '.join(self.options)}"


def runnable() -> list[Board]:
    """The boards whose programs run here."""
    found = []
    for name in representatives(boards.names()):
        board = boards.load(name)
        try:
            find_compiler(board)
            find_emulator(board)
        except EdgeconvError:
            continue
        if board.run.kind is not RunKind.NONE:
            found.append(board)
    return found


def draw(seed: int, among: Sequence[Board]) -> Program:
    """The program of ``seed``."""
    rng = np.random.default_rng(seed)

    def maybe(chance: float, *words: str) -> list[str]:
        return list(words) if rng.random() < chance else []

    board = among[int(rng.integers(len(among)))]
    kind = str(rng.choice(["float32", "qdq", "samples", STATES], p=[0.4, 0.3, 0.15, 0.15]))
    options = [
        *maybe(0.3, "--objective", str(rng.choice(["latency", "memory"]))),
        *maybe(0.3, "--io", str(rng.choice(["caller", "arena"]))),
        *maybe(0.2, "--input-layout", "any"),
        *maybe(0.2, "--weights", "c"),
        *maybe(0.1, "--rounding", "truncate"),
        *maybe(0.3, "--ram", f"{int(rng.choice([2, 4, 8, 16]))}K"),
    ]
    if not board.bare_metal:
        options += maybe(0.4, "--threads", str(rng.integers(2, 5)))
    if kind == "qdq":
        options += maybe(0.4, "--requantise", "tflite")
    else:
        options += maybe(0.2, "--winograd-error", "1e-3")
    if kind == "samples":
        options += ["--storage", "*:output=int8"]
    elif rng.random() < 0.3:
        where = str(rng.choice(["*", "*:output"]))
        options += ["--storage", f"{where}={rng.choice(_STORED)}"]
    return Program(seed, kind, board.name, tuple(options))


def of_forms(seed: int, among: Sequence[Board]) -> Program:
    """The program of a network of `random_forms`."""
    return Program(seed, FORMS, among[seed % len(among)].name, ())


def model_of(program: Program, folder: Path) -> tuple[Path, list[str]]:
    """The network's file, and the options that name files beside it."""
    path, more = folder / "net.onnx", list[str]()
    if program.kind == FORMS:
        onnx.save(random_forms.network(program.seed), path)
        return path, more
    if program.kind == "qdq":
        onnx.save(random_quantised.network(program.seed), path)
        return path, more
    if program.kind == STATES:
        model, states = random_states.network(program.seed, _NODES)
        onnx.save(model, path)
        return path, [word for out, to in states for word in ("--state", f"{out}={to}")]
    model = random_network(program.seed, _NODES)
    onnx.save(model, path)
    if program.kind == "samples":
        rng, samples = np.random.default_rng(program.seed), dict[str, Any]()
        constants = {tensor.name for tensor in model.graph.initializer}
        for value in (each for each in model.graph.input if each.name not in constants):
            shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            drawn = rng.uniform(-1, 1, (_SAMPLES, *shape)).astype(np.float32)
            samples[value.name] = drawn
        np.savez(folder / "samples.npz", **samples)
        more += ["--calibration", str(folder / "samples.npz")]
    return path, more


def outcome(program: Program) -> tuple[str, str]:
    """RIGHT, REFUSED or what went wrong; and what was said."""
    with TemporaryDirectory() as folder:
        model, more = model_of(program, Path(folder))
        out = ("--board", program.board, "-o", str(Path(folder, "net")), "--verify")
        command = [sys.executable, "-m", "edgeconv", "compile", str(model), *out]
        try:
            done = subprocess.run(
                [*command, *program.options, *more],
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "takes too long", ""
    said = done.stderr.strip()
    if done.returncode == 0:
        return RIGHT, said
    errors = [line for line in said.splitlines() if "error:" in line]
    last = errors[-1] if errors else said[-300:]
    usage = done.returncode == 2
    if usage or any(words in last for words in _REFUSALS):
        return REFUSED, last
    return f"status {done.returncode}", said[-1500:]


def sweep(
    first: int,
    count: int,
    seconds: float,
    among: Sequence[Board],
    drawn: Callable[[int, Sequence[Board]], Program] = draw,
) -> Iterator[tuple[Program, str, str]]:
    """Programs, what became of each, and what was said."""
    until = time.monotonic() + seconds
    for seed in range(first, first + count):
        if time.monotonic() > until:
            return
        program = drawn(seed, among)
        yield program, *outcome(program)


def main() -> None:
    """Print what is wrong, and the count of all outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", type=int)
    parser.add_argument("--forms", action="store_true")
    parser.add_argument("--boards", nargs="*", default=())
    given = parser.parse_args()
    first, count = (given.first, given.count) if given.only is None else (given.only, 1)
    found, reasons = Counter[str](), Counter[str]()
    among = [boards.load(name) for name in given.boards] or runnable()
    drawn = of_forms if given.forms else draw
    for program, result, said in sweep(first, count, given.seconds, among, drawn):
        found[result] += 1
        if result == REFUSED:
            reasons[said.partition("error: ")[2][:60]] += 1
        elif result != RIGHT or given.only is not None:
            print(f"{program}\n    {result}: {said}", flush=True)
    print(dict(found), dict(reasons.most_common(12)))
    sys.exit(any(result not in (RIGHT, REFUSED) for result in found))


if __name__ == "__main__":
    main()

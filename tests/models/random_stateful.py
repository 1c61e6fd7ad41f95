"""Random networks with random states under the address and undefined-behaviour sanitizers.

    python -m tests.models.random_stateful [--first SEED] [--count N] [--kinds pieces ...]

``pieces``: ONNX networks of `random_pieces`, whose states --state names, of float32, int8, uint8
and int16, beside ONNX Runtime step by step, half of them run in bounded steps too, which have to
have the same bytes.  ``variables``: TensorFlow Lite files of `random_variables`, beside numpy, bit
for bit.  ``windows``: networks of `random_windows` under --stream, beside ONNX Runtime on whole
windows.  Every sequence runs twice with a reset between, from other garbage in the arena.

Prints what is wrong, and how often each thing came out, also where it is interrupted; ends with 1
where something is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import seeded, tensor_bytes
from edgeconv.run.verify.program import run_sets
from tests.compilers import sanitizing
from tests.models import random_pieces, random_variables, random_windows

STEPS = 6
BOARDS = ("generic-c", "generic-c", "host")
RIGHT, REFUSED = "right", "refused"
_RUN = re.compile(r"return net_run\(model(.*?)\);")
_STEPS = """\
int status = NET_MORE;
    while (status == NET_MORE)
        status = net_step((net_model *)(uintptr_t)model, UINT32_C({}){});
    return status;"""


def drawn(options: CompileOptions, draw: random.Random) -> CompileOptions:
    """Options that change where states lie, or how a run goes."""
    return replace(
        options,
        name="net",
        io=draw.choice(["", "caller", "arena"]),
        input_layout=draw.choice(["model", "model", "any"]),
        objective=draw.choice(["", "memory"]),
        states_apart=draw.random() < 0.4,
        weights_as_c=draw.random() < 0.2,
        resumable=draw.random() < 0.5,
    )


def pieces(seed: int, folder: Path) -> str:
    """What is wrong with the program of a network of `random_pieces`; RIGHT."""
    net, draw = random_pieces.network(seed), random.Random(seed)
    path = folder / "net.onnx"
    onnx.save(net.model(), path)
    options = CompileOptions(path, draw.choice(BOARDS), states=tuple(net.states))
    if net.initial:
        np.savez(folder / "initial.npz", allow_pickle=False, **net.initial)
        options = replace(options, initial_states=folder / "initial.npz")
    options = drawn(options, draw)
    project, _ = compile_model(options, folder / "out")
    result = verify_project(project.directory, model=path, steps=STEPS)
    if not result.passed or result.unwritten:
        return f"step {result.step}: {result.one_line()}"
    return _stepped(project, draw) if options.resumable else RIGHT


def _stepped(project: Project, draw: random.Random) -> str:
    """Whether runs in steps of a random budget have the bytes of whole ones."""
    sequence = [seeded(project.inputs, step) for step in range(STEPS)]
    given = b"".join(tensor_bytes(each, project.inputs) for each in sequence)
    whole = _run(project, given)
    found = project.report["resumable"]
    budget = draw.randint(found["least"], max(found["least"], found["total"] // 2))
    main = project.directory / "main.c"
    text = main.read_text()
    made, places = _RUN.subn(lambda call: _STEPS.format(budget, call[1]), text)
    if not places:
        return "main.c does not call net_run"
    main.write_text(made)
    return RIGHT if _run(project, given) == whole else f"other bytes in steps of {budget}"


def _run(project: Project, given: bytes) -> list[bytes]:
    """All outputs of a sequence that runs twice, its states among them."""
    binary = project.build(run_here=True)
    project.run_file.write_bytes(given * 2)
    ran, _ = run_sets(project, binary, 2 * STEPS, steps=STEPS, inputs=project.run_file)
    return [value.tobytes() for each in ran for value in each.values()]


def variables(seed: int, folder: Path) -> str:
    """What is wrong with the program of a network of `random_variables`; RIGHT."""
    net, draw = random_variables.network(seed), random.Random(seed)
    path = folder / "net.tflite"
    path.write_bytes(net.bytes())
    options = drawn(CompileOptions(path, draw.choice(BOARDS)), draw)
    options = replace(options, requantise=draw.choice(["exact", "tflite"]))
    project, _ = compile_model(options, folder / "out")
    sequence = net.sequence(STEPS)
    names = [port.name for port in project.inputs]
    ordered = {x.name: place for place, x in enumerate(net.inputs)}
    given = b"".join(
        tensor_bytes({name: each[ordered[name]] for name in names}, project.inputs)
        for each in sequence
    )
    binary = project.build(run_here=True)
    project.run_file.write_bytes(given * 2)
    ran, _ = run_sets(project, binary, 2 * STEPS, steps=STEPS, inputs=project.run_file)
    for step, (found, want) in enumerate(zip(ran, [*net.outputs(sequence)] * 2, strict=True)):
        for port, kind, value in zip(project.outputs, net.kinds, want, strict=True):
            if not np.array_equal(found[port.name], value):
                return f"run {step} of twice {STEPS}: output {port.name} of {kind} is wrong"
    return RIGHT


def windows(seed: int, folder: Path) -> str:
    """What is wrong with the program of a network of `random_windows`; RIGHT."""
    net, draw = random_windows.network(seed), random.Random(seed)
    path = folder / "net.onnx"
    onnx.save(net.model, path)
    options = CompileOptions(
        path, draw.choice(BOARDS), streams={"x": (2, net.hop)}, stream_borders=net.borders
    )
    options = replace(drawn(options, draw), resumable=False)
    project, _ = compile_model(options, folder / "out")
    result = verify_project(project.directory, model=path)
    if not result.passed or result.unwritten:
        return f"step {result.step}: {result.one_line()}"
    return RIGHT if result.windows else "nothing was compared with whole windows"


KINDS: Mapping[str, Callable[[int, Path], str]] = {
    "pieces": pieces,
    "variables": variables,
    "windows": windows,
}


def outcome(kind: str, seed: int, folder: Path) -> tuple[str, str]:
    """RIGHT, REFUSED or "wrong", and what was said of it."""
    try:
        with sanitizing():
            said = KINDS[kind](seed, folder)
    except EdgeconvError as error:
        details = " ".join(str(each) for each in error.details)
        refused = not (folder / "out" / "net.c").exists()
        return REFUSED if refused else "wrong", f"{error.one_line()} {details}".strip()
    return (RIGHT, "") if said == RIGHT else ("wrong", said)


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m tests.models.random_stateful",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=20, metavar="N")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    given = parser.parse_args()
    found: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    seeds = range(given.first, given.first + given.count)
    with suppress(KeyboardInterrupt):  # what there is so far
        for seed, kind in itertools.product(seeds, given.kinds):
            with TemporaryDirectory(prefix="edgeconv-stateful-") as folder:
                result, said = outcome(kind, seed, Path(folder))
            found[kind, result] += 1
            if result == REFUSED:
                reasons[said] += 1
            elif result != RIGHT:
                print(f"{kind} {seed}: {said}", flush=True)
    for (kind, result), count in sorted(found.items()):
        print(f"{kind}: {count} {result}")
    for said, count in reasons.most_common(12):
        print(f"  refused {count}: {said}")
    return int(any(result not in (RIGHT, REFUSED) for _, result in found))


if __name__ == "__main__":
    sys.exit(main())

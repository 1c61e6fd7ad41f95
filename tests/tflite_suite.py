"""TensorFlow Lite's operators: models of one each, and what programs of them make.

``python -m tests.tflite_suite`` compiles every model of `ALL_CASES`, runs the program, and holds
its results to those of TensorFlow Lite Micro, or of LiteRT's reference kernels where Micro has no
kernel: integers with ``--requantise tflite`` and to the last bit, other numbers within 1e-6 of the
largest.  It prints a table in Markdown, an operator a row, and what differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from edgeconv.ir.requantisation import EXACT, TFLITE
from edgeconv.model.frontend.tflite import translate
from edgeconv.search.options import CompileOptions
from tests.onnx_suite import programs
from tests.onnx_suite.cases import Array, Value
from tests.onnx_suite.cases import Case as ProgramCase
from tests.onnx_suite.outcomes import PASS, REFUSED, Outcome
from tests.tflite_cases import EXPECTED, Case
from tests.tflite_engines import ALL_CASES, MICRO

_BATCH = 48
_SCALED = ("int8", "uint8", "int16")
_TOLERANCE = 1e-6
# Where engines differ, and LiteRT's reference kernels are followed: docs/tflite.md says why.
AS_LITERT = frozenset({"RELU6 int8 other grid", "RELU6 int16 other grid"})


@dataclass(frozen=True)
class SuiteCase(ProgramCase):
    """A TensorFlow Lite model as a program; ``data``: as `ProgramCase` has it."""

    content: bytes = b""
    requantise: str = EXACT

    def options(self, folder: Path, prefix: str, board: str) -> CompileOptions:
        """What compiles it."""
        path = folder / f"{prefix}.tflite"
        path.write_bytes(self.content)
        return CompileOptions(path, board, name=prefix, requantise=self.requantise)


def results_of(
    case: Case, litert: Mapping[str, Array], micro: Mapping[str, Array]
) -> tuple[str, list[Array]] | None:
    """The engine that is followed and what it makes of the model; None where none computes it."""
    names = [f"{case.name}:output_{index}" for index in range(len(case.shapes))]
    by_micro = all(name in micro for name in names)
    if all(name in litert for name in names) and (case.name in AS_LITERT or not by_micro):
        return "LiteRT", [litert[name] for name in names]
    return ("Micro", [micro[name] for name in names]) if by_micro else None


def prepared(cases: Iterable[Case]) -> Iterator[tuple[SuiteCase, str]]:
    """Those of ``cases`` that an engine computes, and the engine."""
    with np.load(EXPECTED) as of_litert, np.load(MICRO) as of_micro:
        litert, micro = dict(of_litert), dict(of_micro)
    for case in cases:
        found = results_of(case, litert, micro)
        if found is None:
            continue
        engine, results = found
        content = case.write()
        model = translate(content, case.name).model
        given = case.inputs()
        inputs: Sequence[Value] = [
            given[value.name] if value.name in given else _zeros(value)  # a state
            for value in model.graph.input
        ]
        whole = any(result.dtype.name in _SCALED for result in results)
        largest = max((float(np.abs(r).max(initial=0)) for r in results), default=0.0)
        tolerance = _TOLERANCE * max(largest, 1.0)
        made = SuiteCase(
            case.name,
            model,
            [(inputs, results)],
            _TOLERANCE,
            tolerance,
            content,
            TFLITE if whole else EXACT,
        )
        yield made, engine


def _zeros(value: onnx.ValueInfoProto) -> Array:
    tensor = value.type.tensor_type
    shape = [size.dim_value for size in tensor.shape.dim]
    return np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))


def run(cases: Sequence[SuiteCase], board: str, jobs: int = 1) -> list[Outcome]:
    """How the program of each ends."""
    batches = [cases[i : i + _BATCH] for i in range(0, len(cases), _BATCH)]
    if jobs == 1:
        return [outcome for batch in batches for outcome in _batch(batch, board)]
    with ProcessPoolExecutor(jobs) as pool:
        found = pool.map(_batch, batches, [board] * len(batches))
        return [outcome for batch in found for outcome in batch]


def _batch(cases: Sequence[SuiteCase], board: str) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="edgeconv-suite-") as folder:
        return [*programs.outcomes(cases, Path(folder), board)]


def kind_of(case: Case) -> tuple[str, str]:
    """The operator, and the type of its operands or results that says most."""
    types = [values.dtype.name for values in case.inputs().values()]
    scaled = [name for name in types if name in _SCALED]
    return case.kind, (scaled or types or ["constant"])[0]


def table(
    cases: Mapping[str, Case], engines: Mapping[str, str], outcomes: Iterable[Outcome]
) -> Iterator[str]:
    """Lines of Markdown: an operator a row."""
    types: dict[str, set[str]] = defaultdict(set)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        operator, dtype = kind_of(cases[outcome.name])
        equal = outcome.kind == PASS
        types[operator] |= {dtype} if equal else set()
        counts[operator][engines[outcome.name] if equal else outcome.kind] += 1
    yield "| operator | types | as Micro | as LiteRT | refused | other numbers |"
    yield "|---|---|--:|--:|--:|--:|"
    for operator in sorted(counts):
        row = counts[operator]
        other = row.total() - row["Micro"] - row["LiteRT"] - row[REFUSED]
        numbers = (row["Micro"], row["LiteRT"], row[REFUSED], other)
        cells = " | ".join(str(number or "") for number in numbers)
        yield f"| {operator} | {', '.join(sorted(types[operator]))} | {cells} |"


def main() -> int:
    """The table."""
    parser = argparse.ArgumentParser(prog="python -m tests.tflite_suite", description=__doc__)
    parser.add_argument("--board", default="generic-c")
    parser.add_argument("--only", default="", help="models whose names begin so")
    parser.add_argument("--jobs", type=int, default=1)
    wanted = parser.parse_args()
    chosen = {case.name: case for case in ALL_CASES if case.name.startswith(wanted.only)}
    ready = [*prepared(chosen.values())]
    engines = {case.name: engine for case, engine in ready}
    found = run([case for case, _ in ready], wanted.board, wanted.jobs)
    print(*table(chosen, engines, found), sep="\n")
    kinds = Counter(outcome.kind for outcome in found)
    equal = {chosen[outcome.name].kind for outcome in found if outcome.kind == PASS}
    print(f"\n{len(equal)} operators, {len(found)} models: {dict(kinds)}", file=sys.stderr)
    wrong = [outcome for outcome in found if outcome.kind not in (PASS, REFUSED)]
    for outcome in wrong:
        print(f"{outcome.name}: {'; '.join(outcome.reasons)}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""What Winograd convolutions of a model would be off by, layer by layer and form by form; and the
instructions that they execute under QEMU, beside the cheapest other algorithm.

    python bench/winograd.py resnet18.onnx
    python bench/winograd.py resnet18.onnx --board raspberry-pi-4
    python bench/winograd.py --bounds 64
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from convtime.cases import Candidate, Convolution, distinct
from counting.program import Counter
from telling import errors_told

from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.packing import weights_of
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.winograd.bound import UNIT, amplification, roundings
from edgeconv.kernels.algorithms.winograd.candidate import applies
from edgeconv.kernels.algorithms.winograd.forms import OUTPUTS, error_of, forms_for
from edgeconv.kernels.algorithms.winograd.probable import probable_bound
from edgeconv.model import frontend, passes
from edgeconv.search.choose import select
from edgeconv.search.choose.winograd import forms_within
from edgeconv.target import board as boards
from edgeconv.target.targets import Target

OUTPUTS_OF_A_LAYER = 1_000_000  # of which the largest error is asked for


def errors(model: Path) -> Iterator[tuple[str, dict[Nested, float]]]:
    """Layers that have forms, and the error of each."""
    graph = passes.optimise(frontend.load(model))
    for node in graph.nodes:
        if node.op == "Conv" and applies(problem_of(node, graph)):
            weights, strides = weights_of(node, graph), node.attrs["strides"]
            sizes = (
                list(forms_for(*weights.shape[2:], strides=strides)) if weights.ndim == 4 else []
            )
            forms = [form for each in sizes for form in each]
            if forms:
                yield node.name, {form: error_of(form, weights, strides) for form in forms}


def print_bounds(channels: int) -> None:
    """Of every form: what rounding can take any output off, whatever filters and inputs; and
    probably does of random ones, in standard deviations of outputs."""
    print("form           amplification  roundings  bound    probable")
    for taps in sorted(OUTPUTS):
        for form, *_ in forms_for(taps, taps):
            found, count = amplification(form), roundings(form, channels)
            bound = found * count * UNIT
            usual = probable_bound(form, channels, OUTPUTS_OF_A_LAYER)
            usual /= math.sqrt(channels * taps**2)
            print(f"{form!s:14} {found:13.1f} {count:10}  {bound:.1e}  {usual:.1e}")
    print(f"{channels} channels; parts of the sum of a filter's magnitudes and the largest input;")
    print(f"the largest of {OUTPUTS_OF_A_LAYER:,} outputs, in parts of their standard deviation")


def print_errors(model: Path) -> None:
    """A line per layer, a column per form."""
    for name, found in errors(model):
        columns = "  ".join(f"{form} {error:.1e}" for form, error in found.items())
        print(f"{name[-40:]:40}  {columns}", flush=True)


def lowered(layer: Convolution, target: Target, error: float) -> Candidate:
    """The cheapest, where forms of at most this error may be chosen."""
    limits = {node.name: error for node in layer.graph.nodes}
    forms = forms_within(layer.graph, limits)
    choice = select(layer.graph, target, winograd_forms=forms)
    (chosen,) = (entry for entry in choice.layers if entry.candidate)
    return Candidate(chosen.algorithm, chosen, choice.graph)


def print_counts(model: Path, name: str, error: float) -> None:
    """Instructions of the layers that are then computed so, and of what they would be else."""
    board = boards.load(name)
    layers = [layer for layer, _ in distinct(model) if applies(layer.problem)]
    pairs = [[lowered(layer, board.target, most) for most in (0.0, error)] for layer in layers]
    both = zip(layers, pairs, strict=True)
    chosen = [(layer, pair) for layer, pair in both if pair[1].name == "winograd"]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        counter = Counter(board, [way for _, pair in chosen for way in pair], Path(folder))
        for number, (layer, (other, fast)) in enumerate(chosen):
            before, after = (counter.instructions(2 * number + i) for i in range(2))
            ratios.append(before / after)
            ways = f"{other.name:8}{before:14,}  {fast.layer.plan['form']}{after:14,}"
            print(f"{layer.label:32}{ways}{ratios[-1]:7.2f}", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{name}: {len(ratios)} of {len(layers)} layers, geometric mean {mean:.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="?", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--bounds", type=int, metavar="CHANNELS", help="print those of every form")
    parser.add_argument("--board", action="append", default=[], help="count instructions there")
    parser.add_argument("--error", type=float, default=1e-4, help="of a layer, for the counts")
    args = parser.parse_args()
    if not (args.model or args.bounds):
        parser.error("a model, or --bounds")
    with errors_told():
        if args.bounds:
            print_bounds(args.bounds)
        if args.model and not args.board:
            print_errors(args.model)
        for name in args.board if args.model else ():
            print_counts(args.model, name, args.error)
    return 0


if __name__ == "__main__":
    sys.exit(main())

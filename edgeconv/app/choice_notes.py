"""What of a choice is worth a word: results kept as integers, layers that compute in fewer bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from edgeconv.base.names import shortened
from edgeconv.ir.candidate import FLOAT, HALF, IN_WHOLE_NUMBERS
from edgeconv.ir.choice import Choice
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.filters import undecoded
from edgeconv.ir.quantisation import AWAY
from edgeconv.ir.requantisation import EXACT
from edgeconv.kernels.algorithms.no_integers import Reason
from edgeconv.kernels.algorithms.winograd.lower import promised_error
from edgeconv.kernels.lowering.integers import is_int8
from edgeconv.kernels.ops.integer_pool import counts_of
from edgeconv.search.choose.storage import EVERY_LAYER, INT8, OUTPUT, ROUNDED
from edgeconv.search.choose.winograd import NAME as WINOGRAD
from edgeconv.search.measured import Times, kernel_key
from edgeconv.search.measured.times import ON_BOARD
from edgeconv.search.quantising.layers import left_note

_IN_FLOAT32 = "computed in float32; in integers, as those do, with --storage '*:output=int8'"
_AS_WRITTEN = "as an ONNX file means them; a .tflite file's are TensorFlow Lite's"


def integer_notes(choice: Choice, wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Says how many results are stored as the model's own integers, or that none can be."""
    kept, results = len(integers_of(choice)), len(choice.graph.producers())
    if kept:
        stored = {t.storage.bits for t in choice.graph.activations() if t.storage.scale}
        kinds = " or ".join(ROUNDED[bits] for bits in sorted(stored))
        return (
            f"{kept} of {results} results are stored as the {kinds} that the model rounds them to",
        )
    if wanted.get(EVERY_LAYER + OUTPUT) == INT8:
        return (_NOT_ROUNDED,)
    return ()


def integers_of(choice: Choice) -> frozenset[str]:
    """The tensors that are stored as the integers of a quantised model."""
    tensors = choice.graph.activations()
    return frozenset(tensor.name for tensor in tensors if tensor.storage.scale)


def float32_notes(choice: Choice, whys: Mapping[str, Reason]) -> tuple[str, ...]:
    """Says for each reason which layers of a quantised model are computed in float32: the first,
    and how many more."""
    operators = {layer.node.name: layer.node.op for layer in choice.layers}
    layers: dict[Reason, list[str]] = {}
    for name, why in whys.items():
        layers.setdefault(why, []).append(name)
    return tuple(
        f"{operators[first]} {shortened(first)!r}{_more(len(others))} computed in float32: {why}"
        for why, (first, *others) in layers.items()
    )


def _more(count: int) -> str:
    return f" and {count} more are" if count else " is"


def average_notes(choice: Choice) -> tuple[str, ...]:
    """Says which averages of int8 round halves of a step to even, where TensorFlow Lite's kernels
    round them away from 0."""
    even: dict[str, list[str]] = {_IN_FLOAT32: [], _AS_WRITTEN: []}
    for layer in choice.layers:
        node, graph = layer.node, choice.graph
        if node.op != "Pool" or node.attrs["mode"] != "average" or graph.requantise != EXACT:
            continue
        if all(count % 2 for count in counts_of(node, graph)):
            continue  # nothing lies in the middle
        whole, follows = node.request.integers, AWAY in node.attrs
        x, y = graph[node.inputs[0]].storage, graph[node.output].storage
        if follows and not whole:
            even[_IN_FLOAT32].append(node.name)
        elif whole and not follows and x.scale == y.scale and is_int8(x) and is_int8(y):
            even[_AS_WRITTEN].append(node.name)
    return tuple(
        f"averages round halves of a step to even, TensorFlow Lite's kernels away from 0 "
        f"({shortened(first)!r}{f' and {len(others)} more' if others else ''}): {why}"
        for why, names in even.items()
        for first, *others in [names][: len(names)]
    )


def left_notes(choice: Choice, wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Says which weights keep their format where one is asked for of every layer, or of every
    result."""
    every = wanted.get(EVERY_LAYER, FLOAT32) != FLOAT32
    if not every and wanted.get(EVERY_LAYER + OUTPUT) != INT8:
        return ()
    left = undecoded(choice.graph)
    return tuple(left_note(op, sizes, "formats are") for op, sizes in left.items())


def tuned_notes(choice: Choice, times: Times | None, *, timed: bool) -> tuple[str, ...]:
    """Says for how many layers there were measured times, and of what; ``timed``: predictions of
    the board are seconds."""
    if times is None:
        return ()
    count = sum(kernel_key(layer) in times.seconds for layer in choice.layers)
    where = "on the board" if times.place == ON_BOARD else f"under {shortened(times.place)}"
    found = f"{count} of {len(choice.layers)} layers have a measured time ({where}, built by "
    nominal = "" if timed else "; the board's file states no clock, so that others only compare"
    return (f"{found}{shortened(times.compiler)}){nominal}",)


def thread_notes(choice: Choice, asked: int) -> tuple[str, ...]:
    """Where fewer threads are used than were ``asked`` for."""
    used = choice.threads
    if used == asked:
        return ()
    if used == 1:
        return (f"--threads {asked}: no layer gains by it, and the program has one thread",)
    return (f"--threads {asked}: no layer gains by more than {used}, which the program has",)


def port_notes(choice: Choice, asked: str) -> tuple[str, ...]:
    """Says where inputs and outputs lie if nobody ``asked`` for it."""
    return (_IN_ARENA,) if choice.io == "arena" and not asked else ()


def winograd_notes(choice: Choice, promised: float) -> tuple[str, ...]:
    """Says how many convolutions are computed by Winograd's algorithm, how far each is off, and how
    far the outputs are ``promised`` to be at most."""
    layers = [each for each in choice.layers if each.algorithm == WINOGRAD and each.compute != HALF]
    if not layers:
        return ()
    counts = Counter(str(layer.plan["form"]) for layer in layers)
    forms = ", ".join(f"{count} in {form}" for form, count in sorted(counts.items()))
    worst = max(promised_error(layer, choice.graph) for layer in layers)
    found = f"none is off by more than {worst:.2g} of its largest result"
    words = f"{len(layers)} convolution(s) by Winograd's algorithm ({forms}): as measured, {found}"
    return (f"{words}; outputs by no more than {promised:.1g} (--winograd-error 0 forbids it)",)


def computing_notes(choice: Choice) -> tuple[str, ...]:
    """Says how many layers round what they compute with, and how to see its cost."""
    computing = (layer.candidate.compute for layer in choice.layers if layer.candidate)
    found = Counter(name for name in computing if name not in (FLOAT, *IN_WHOLE_NUMBERS))
    return tuple(
        f"{count} convolution(s) multiply {name}: `edgeconv verify` tells the network's SQNR"
        for name, count in found.items()
    )


_IN_ARENA = (
    "inputs and outputs lie in the arena, whose bytes they share: write the inputs before every "
    "run and read the outputs before the next one, or leave them to the caller with --io caller"
)
_NOT_ROUNDED = (
    "no result is stored as int8: the model rounds none to eight bits; with --calibration X.npz it "
    "is made to"
)

"""What integer kernels are to compute of a quantised network, in Python, against the file itself.

python -m tests.models.in_integers [--first SEED] [--count N] [--only SEED]

Random networks of every form that quantisers write (`random_forms`) are loaded and optimised as
``compile`` does it.  Of each layer that has a form in integers the results are computed by that, in
Python, and held to exact arithmetic of the file; a layer without one has a reason.  No program is
made, so that thousands take minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.array_types import array_type
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import encodings_of
from edgeconv.ir.grids import rounded_to as roundings_of
from edgeconv.ir.requantisation.channel_pairs import ChannelPairs
from edgeconv.ir.requantisation.exact_reals import Integers, UndecidedError
from edgeconv.ir.requantisation.exact_reals import multiples as real_multiples
from edgeconv.ir.requantisation.pair import PairSum
from edgeconv.kernels.algorithms.int16.product import wide_product_of
from edgeconv.kernels.algorithms.no_integers import no_integers
from edgeconv.kernels.algorithms.product_sums import PRODUCT, form_of_product, unit_of_product
from edgeconv.kernels.algorithms.real_sums import real_sums_of
from edgeconv.kernels.algorithms.sums import form_of, multiples, pair_of, result_of
from edgeconv.kernels.algorithms.wide_sums import wide_sums_of
from edgeconv.kernels.algorithms.widening import widened
from edgeconv.kernels.ops import int8_binary, int8_channels
from edgeconv.model import frontend, passes
from edgeconv.run.verify.exact import expected
from edgeconv.run.verify.exact.functions import activated, added
from edgeconv.run.verify.exact.operators import computed
from edgeconv.run.verify.exact.value import NoExactValueError, Value, constant, stored
from edgeconv.run.verify.exact.windows import convolved
from edgeconv.search.choose.channel_sums import with_channel_sums
from edgeconv.search.choose.dynamic_quantisation import quantised_at_run_time
from tests.ir_interpreter import evaluate
from tests.models import random_forms

Array = npt.NDArray[Any]
_SUMMED = ("Conv", "Dense")
_WITH_MACS = (*_SUMMED, PRODUCT)


@dataclass
class Outcome:
    """``exact``: layers of integers whose results are the file's, ``wrong`` those with others.
    ``real``: layers of integers whose results are float32.  ``reasons``: of all other layers with
    multiply-accumulates, and why.  ``other``: what else is computed in integers."""

    exact: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    real: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


def held_to_file(path: Path, seed: int = 0) -> Outcome:
    """The layers of the model at ``path``, of inputs drawn with ``seed``."""
    model = frontend.load(path)
    graph = _stored(passes.optimise(model))
    return _Network(model, graph, np.random.default_rng(seed)).judged()


def _stored(graph: Graph) -> Graph:
    """With all results as the integers that they may be stored in, as without an operating
    system, and sums as they are then."""
    held = {
        name: replace(graph[name], storage=encoding)
        for name, encoding in encodings_of(graph).items()
        if name not in (*graph.inputs, *graph.outputs)
    }
    return with_channel_sums(graph.with_tensors(held), {})


def _drawn(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Array:
    kind = array_type(dtype)
    if kind.kind == "f":
        return rng.normal(0, 2, shape).astype(kind)
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(kind)


class _Network:
    def __init__(self, model: Graph, graph: Graph, rng: np.random.Generator) -> None:
        self.model, self.graph = model, graph
        self.values: dict[str, Value] = {}
        self.known: dict[str, Array] = {}  # those that the file has, too
        self.whole: dict[str, Encoding] = {}  # what is in integers, and which
        self.unsure: set[str] = set()  # not computed exactly from what the file has
        self.found = Outcome()
        for name in graph.inputs:
            drawn = _drawn(graph[name].shape, graph[name].dtype, rng)
            self.known[name] = drawn
            self.values[name] = _given(drawn)

    def judged(self) -> Outcome:
        judged: list[tuple[str, str]] = []
        roundings = roundings_of(self.graph)
        for each in self.graph.nodes:
            node = (widened(each, self.graph) if each.op in _SUMMED else None) or each
            unsure = any(name in self.unsure for name in node.reads())
            value = self._in_integers(node) if node.op in (*_WITH_MACS, "Binary") else None
            whole = value is not None
            if value is None:
                if node.op in _WITH_MACS:
                    unsure = True
                    self._explained(node, roundings)
                value = self._otherwise(node)
                unsure |= value is None
            if value is None:
                value = _given(self._numerically(node))
            name = node.output
            self.values[name] = value
            if name in self.model.tensors and self.model[name].shape == value.shape:
                self.known[name] = value.near().astype(array_type(self.model[name].dtype))
                if whole and not unsure:
                    judged.append((node.op, name))
            elif unsure:
                self.unsure.add(name)
        self._compare(judged)
        return self.found

    def _compare(self, judged: list[tuple[str, str]]) -> None:
        right = expected(self.model, self.known)
        for op, name in judged:
            if name not in right:
                continue
            wanted = right[name].near().astype(self.known[name].dtype)
            same = np.array_equal(wanted, self.known[name])
            kept = self.found.exact if op in _WITH_MACS else self.found.other
            (kept if same else self.found.wrong).append(name)

    def _explained(self, node: Node, roundings: Any) -> None:
        real = unit_of_product if node.op == PRODUCT else real_sums_of
        if real(node, self.graph) is not None:
            self.found.real.append(node.name)
            return
        at_run_time = not set(node.inputs).isdisjoint(quantised_at_run_time(self.graph))
        reason = no_integers(node, self.graph, roundings)
        name = reason.name if reason else ""
        self.found.reasons[node.name] = "run-time scales" if at_run_time else name

    def _integers(self, name: str, encoding: Encoding) -> Integers:
        """What memory has of a tensor."""
        near = self.values[name].near() / encoding.scale[0]
        return np.rint(near).astype(np.int64) + encoding.zero[0]

    def _in_integers(self, node: Node) -> Value | None:
        """What the kernel of ``node`` computes; None where it has none in integers."""
        if node.op == "Binary":
            return self._pair(node)
        if node.op == PRODUCT:
            return self._product(node)
        wide = wide_sums_of(node, self.graph)
        form = wide.form if wide else form_of(node, self.graph)
        if form is None:
            return None
        q = self._sums(node)
        first = np.moveaxis(q, 1 if node.op == "Conv" else -1, 0)
        results = form.of(first.reshape(len(first), -1)).reshape(first.shape)
        made = np.moveaxis(results, 0, 1 if node.op == "Conv" else -1)
        y = self.graph[node.output].storage
        if wide:
            if wide.added is None:
                return _decoded(made, y)
            r = self.graph[node.epilogue.residual].storage
            return _decoded(wide.added.of(made, self._integers(node.epilogue.residual, r)), y)
        last = result_of(node, self.graph)
        assert last is not None
        if node.epilogue.is_only_before:
            return _decoded(made, last)
        pair = pair_of(node, self.graph)
        assert pair is not None
        residual = node.epilogue.residual
        b = self._integers(residual, self.graph[residual].storage) if residual else made * 0
        return _decoded(pair.of(made, b), last)

    def _product(self, node: Node) -> Value | None:
        """Of both tensors' integers less their zero points, as what is packed makes of them."""
        wide = wide_product_of(node, self.graph)
        last = self.graph[node.output].storage if wide else result_of(node, self.graph)
        form = wide or form_of_product(node, self.graph)
        if form is None or last is None or not node.epilogue.is_only_before:
            return None
        stored = [self.graph[name].storage for name in node.inputs]
        a, b = (
            self._integers(name, each).astype(np.float64) - each.zero[0]
            for name, each in zip(node.inputs, stored, strict=True)
        )
        sums = np.rint(a @ b).astype(np.int64)
        return _decoded(form.of(sums.reshape(1, -1)).reshape(sums.shape), last)

    def _sums(self, node: Node) -> Integers:
        """Of the stored integers, padding being the zero point."""
        x, w = self.graph[node.inputs[0]].storage, multiples(node, self.graph).astype(np.float64)
        q = self._integers(node.inputs[0], x).astype(np.float64) - x.zero[0]
        zeros = x.zero[0] * w.reshape(len(w), -1).sum(axis=1)
        if node.op == "Dense":
            total = q @ w.T + zeros
        else:
            out = self.graph[node.output].shape[2:]
            total = convolved(q, w, node.attrs, out) + zeros.reshape(-1, *(1,) * len(out))
        sums: Integers = np.rint(total).astype(np.int64)
        return sums

    def _pair(self, node: Node) -> Value | None:
        by_channel = int8_channels.form_of(node, self.graph)
        if by_channel is not None:
            return self._by_channel(by_channel, node)
        form = int8_binary.form_of(node, self.graph)
        operands = int8_binary.operands_of(node, self.graph)
        if not isinstance(form, PairSum) or operands is None:
            return None
        a, b = (self._integers(n, self.graph[n].storage) for n in (operands.a, operands.b))
        return _decoded(form.of(a, b), self.graph[node.output].storage)

    def _by_channel(self, form: ChannelPairs, node: Node) -> Value:
        operands = int8_channels.operands_of(node, self.graph)
        assert operands is not None
        names = (operands.a, operands.b or operands.a)
        whole = [self._integers(name, self.graph[name].storage) for name in names]
        first = [np.moveaxis(each, operands.over.axis, 0) for each in whole]
        made = form.of(*(each.reshape(len(each), -1) for each in first)).reshape(first[0].shape)
        result = np.moveaxis(made, 0, operands.over.axis)
        return _decoded(result, self.graph[node.output].storage)

    def _otherwise(self, node: Node) -> Value | None:
        """What the node says, exactly, of the numbers that it has."""
        try:
            weighted = node.op in _SUMMED
            names = node.inputs[:1] if weighted else [name for name in node.inputs if name]
            operands = [self._operand(name) for name in names]
            y = activated(node.epilogue.before, computed(node, operands, self.graph))
            if node.epilogue.residual:
                y = added(y, self.values[node.epilogue.residual])
            return activated(node.epilogue.after, y)
        except (NoExactValueError, UndecidedError, KeyError):
            return None

    def _operand(self, name: str) -> Value:
        if name in self.values:
            return self.values[name]
        data = self.graph[name].constant()
        return _given(data) if data.dtype.kind in "iu" else constant(data, data.shape)

    def _numerically(self, node: Node) -> Array:
        """The output of ``node`` alone, in float64, as float32."""
        reads = {n: self.values[n].near() for n in node.reads() if n in self.values}
        alone = replace(
            self.graph,
            nodes=(node,),
            inputs=tuple(reads),
            outputs=(node.output,),
            data_dependent=(),
        )
        made = evaluate(alone, reads)[node.output]
        y = self.graph[node.output]
        encoding = y.storage if y.storage.scale else None
        if encoding is None:
            return made.astype(array_type(y.dtype))
        whole = np.rint(made / encoding.scale[0])
        return (whole * encoding.scale[0]).astype(np.float32)


def _given(array: Array) -> Value:
    if array.dtype.kind in "iu":
        return Value(real_multiples(array.astype(np.int64)), lambda: np.zeros(array.shape))
    return constant(array, array.shape)


def _decoded(whole: Integers, encoding: Encoding) -> Value:
    return stored(real_multiples(whole - encoding.zero[0], encoding.scale[0]))


def outcome(seed: int) -> Outcome:
    """Of the network that ``seed`` draws."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "net.onnx")
        onnx.save(random_forms.network(seed), path)
        return held_to_file(path, seed)


def main() -> None:
    """Print what is wrong, and the count of all layers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    first, count = (given.first, given.count) if given.only is None else (given.only, 1)
    layers, reasons, wrong = Counter[str](), Counter[str](), 0
    for seed in range(first, first + count):
        try:
            found = outcome(seed)
        except EdgeconvError as error:  # such as sums that float32 does not hold
            layers["refused networks"] += 1
            print(seed, *error.details, flush=True)
            continue
        layers["exact"] += len(found.exact)
        layers["int8 to float32"] += len(found.real)
        layers["sums of two tensors"] += len(found.other)
        layers["float32"] += len(found.reasons)
        reasons.update(found.reasons.values())
        bad = found.wrong or not all(found.reasons.values())
        wrong += bool(bad)
        if bad or given.only is not None:
            print(seed, found, flush=True)
    print(f"{count} networks, {wrong} wrong:", dict(layers), dict(reasons.most_common()))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

"""Graphs with data-dependent sizes as they are compiled: rewritten, and many of them in one
program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from edgeconv.app.pipeline import compile_model
from edgeconv.ir.array_types import array_type
from edgeconv.ir.graph import CHECK, DataDependentOutput, Graph
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.running import prepared
from edgeconv.run.build import run_binary
from edgeconv.search.options import CompileOptions
from tests.compilers import sanitized
from tests.onnx_runtime import results

Values = npt.NDArray[Any]
Feeds = Mapping[str, Values]


def there(
    got: Mapping[str, Values], name: str, data_dependent: Mapping[str, DataDependentOutput]
) -> Values:
    """What there is of an output; AssertionError: it is followed by something else than zeros."""
    value = got[name]
    if name not in data_dependent:
        return value
    axis, count = data_dependent[name].axis, int(got[data_dependent[name].count].reshape(-1)[0])
    assert 0 <= count <= value.shape[axis], f"{name}: a count of {count} in {value.shape}"
    behind = np.take(value, range(count, value.shape[axis]), axis)
    assert not behind.any(), f"{name}: behind {count} there are other numbers than zeros"
    return np.take(value, range(count), axis)


def compare(
    got: Mapping[str, Values],
    expected: Mapping[str, Values],
    data_dependent: Mapping[str, DataDependentOutput],
    *,
    close: float = 2e-5,
) -> None:
    """AssertionError where an output of the model differs in size, type or numbers, those by more
    than the part ``close``."""
    for output, wanted in expected.items():
        value = there(got, output, data_dependent)
        assert (value.shape, value.dtype) == (wanted.shape, wanted.dtype), output
        np.testing.assert_allclose(value, wanted, rtol=close, atol=close / 2, err_msg=output)


def rewritten(path: Path) -> Graph:
    """The graph that is compiled."""
    return passes.optimise(frontend.load(path))


def check_rewritten(graph: Graph, feeds: Sequence[Feeds], wanted: Sequence[Feeds]) -> int:
    """Of which ONNX Runtime is the interpreter here.  Returns how many of the inputs the program
    refuses: those where a size of 1 meets another one, for which the runtime has results."""
    checks = [node.inputs[0] for node in graph.nodes if node.op == CHECK]
    run = prepared(replace(graph, outputs=tuple(dict.fromkeys((*graph.outputs, *checks)))))
    data_dependent, refused = {each.name: each for each in graph.data_dependent}, 0
    for given, expected in zip(feeds, wanted, strict=True):
        got = run(given)
        if all(got[name].all() for name in checks):
            compare(got, expected, data_dependent)
        else:
            refused += 1
    return refused


def check_computed(graph: Graph, model: Path, feeds: Sequence[Feeds]) -> None:
    """What ``graph``, made of ``model``, computes is what ONNX Runtime makes of the model."""
    run, data_dependent = prepared(graph), {each.name: each for each in graph.data_dependent}
    for given in feeds:
        compare(run(given), results(model, given), data_dependent, close=1e-6)


def merged(models: Sequence[onnx.ModelProto]) -> onnx.ModelProto:
    """Models of one opset side by side; no two values have one name."""
    graphs = [model.graph for model in models]
    graph = helper.make_graph(
        [node for graph in graphs for node in graph.node],
        "merged",
        [value for graph in graphs for value in graph.input],
        [value for graph in graphs for value in graph.output],
        [tensor for graph in graphs for tensor in graph.initializer],
    )
    first = models[0]
    return helper.make_model(graph, opset_imports=first.opset_import, ir_version=first.ir_version)


def check_in_c(path: Path, board: str, feeds: Sequence[Feeds], wanted: Sequence[Feeds]) -> None:
    """The same of the program, compiled with address and undefined-behaviour sanitizers."""
    folder, graph = path.with_suffix(""), rewritten(path)
    project, _ = compile_model(CompileOptions(path, board, name="net"), folder)
    binary = sanitized(project, folder / "program")
    data_dependent = {each.name: each for each in graph.data_dependent}
    for given, expected in zip(feeds, wanted, strict=True):
        stored = (np.ascontiguousarray(given[name]).tobytes() for name in graph.inputs)
        (folder / "in.bin").write_bytes(b"".join(stored))
        words = ["--input", "in.bin", "--output", "out.bin"]
        done = run_binary(binary.path, binary.board, words, cwd=folder)
        if done.status == 2 and any(node.op == CHECK for node in graph.nodes):
            assert "sizes found at run time differ" in done.stderr
            continue
        assert done.status == 0, done.stdout + done.stderr
        compare(_read(graph, (folder / "out.bin").read_bytes()), expected, data_dependent)


def _read(graph: Graph, data: bytes) -> dict[str, Values]:
    """Outputs of a program, one after the other."""
    found, at = dict[str, Values](), 0
    for name in graph.outputs:
        tensor = graph[name]
        kind = np.dtype(array_type(tensor.dtype))
        found[name] = np.frombuffer(data, kind, tensor.size, at).reshape(tensor.shape)
        at += tensor.size * kind.itemsize
    assert at == len(data), "outputs of another size than the graph says"
    return found

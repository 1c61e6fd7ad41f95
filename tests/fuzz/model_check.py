"""Whether a graph that was made of an odd model computes what ONNX Runtime does, or else what the
model is in float64."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import BOOL, SMALL_INTEGERS, element_type
from edgeconv.ir.graph import Graph, Node
from edgeconv.model.frontend import IN_FLOAT64, ReferenceRun, load, reference_outputs
from tests.ir_interpreter import computed, evaluate

_MOST_ELEMENTS = 100_000
_TOLERANCE = 1e-3  # of the largest value: float32 against float64, both odd
_SMALL_FLOATS = ("float4", "float8")


def compared(path: Path, graph: Graph) -> str:
    """ "equal"; "rounding" where ONNX Runtime is off and onnx's evaluator in float64 is not; else
    why the two are not to be compared.

    Raises AssertionError where they compute different values, and float64 does, too.
    """
    if sum(t.size for t in graph.activations()) > _MOST_ELEMENTS:
        return "large"
    if any("the model defines" in note for note in graph.notes):
        return "own operators"  # which ONNX Runtime does not use
    if any(node.op in ("Quantise", "Dequantise") for node in graph.nodes):
        return "integers"  # which the evaluator does not know
    if not computed(graph):
        return "operators that the evaluator does not know"
    constants = (t.data for t in graph.tensors.values() if t.data is not None)
    if not all(np.isfinite(data).all() for data in constants if data.dtype.kind == "f"):
        return "not finite"  # which the user is told
    rng = np.random.default_rng(1)
    inputs = {name: _values(rng, graph, name) for name in graph.inputs}
    onnxruntime.set_default_logger_severity(4)
    try:
        run = reference_outputs(path, inputs, graph.outputs)
    except (EdgeconvError, MemoryError):  # what it keeps may be more than a worker has
        return "the reference refuses"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = evaluate(graph, inputs)
    if any(name.endswith("/stated") for node in graph.nodes for name in node.inputs):
        return "sizes that the model states"  # where ONNX Runtime follows the values
    if any(np.isnan(values[n.inputs[0]]).any() for n in graph.nodes if n.op in ("Pool", "Reduce")):
        # ONNX Runtime loses it in places, see docs/algorithms/operators.md.
        return "NaN in a window"
    if any(_power_beyond(graph, node, values) for node in graph.nodes):
        return "whole powers that overflow"  # modulo 2^64 here, a float64 converted there
    if any(_zero_point_of_floats(node, values) for node in _read(path).graph.node):
        return "zero points of small floats"  # which both engines leave out
    if _vanishing(path):
        return "numbers below those of float32"  # in which float64 is computed
    if any(_same_with_dilations(node) for node in _read(path).graph.node):
        return "SAME with dilations"  # which ONNX Runtime leaves out, see docs/readings.md
    if not run.engine.startswith("ONNX Runtime") and any(
        node.op_type in ("LpNormalization", "STFT") for node in _read(path).graph.node
    ):
        # The evaluator adds numbers, not their sizes, and has signals of other ranks.
        return "operators that the evaluator reads otherwise"
    if not run.engine.startswith("ONNX Runtime") and any(map(_of_integers(graph), graph.nodes)):
        return "integers resized"  # which the evaluator rounds, see docs/readings.md
    if not run.engine.startswith("ONNX Runtime") and any(
        _of_fractions(node, values) for node in _read(path).graph.node
    ):
        return "fractions as indices"  # which are cast by ONNX's text, and not by the evaluator
    try:
        return _judged(path, graph, values, run)
    except AssertionError as error:
        with suppress(EdgeconvError, MemoryError, AssertionError):
            _judged(path, graph, values, reference_outputs(path, inputs, engine=IN_FLOAT64))
            return "rounding"
        raise error from None


def _judged(path: Path, graph: Graph, values: Mapping[str, np.ndarray], run: ReferenceRun) -> str:
    """ "equal" where the outputs are those of ``run``; AssertionError where they are not."""
    for name in graph.outputs:
        if name in run.values:
            want, kind = np.asarray(run.values[name]), array_type(graph[name].dtype)
            if want.dtype == np.float64 and element_type(graph[name].dtype).is_real:
                want = want.astype(kind)  # of an engine that computes in float64
            elif kind.itemsize == want.itemsize:
                want = want.view(kind)  # small floats come as their bytes
            if want.shape != graph[name].shape and _stated_alone(path, graph, name):
                return "sizes that the model states"  # and others at run time
            if not _mean_of_nothing(path, graph, want):
                got = np.asarray(values[name])
                if element_type(graph[name].dtype).is_real:
                    got = got.astype(kind)
                _compare(name, got, want)
    return "equal"


def _read(path: Path) -> onnx.ModelProto:
    """Without what lies in other files; nothing of a TensorFlow Lite file."""
    if path.suffix != ".onnx":
        return onnx.ModelProto()
    return onnx.load(path, load_external_data=False)


def _zero_point_of_floats(node: onnx.NodeProto, values: Mapping[str, np.ndarray]) -> bool:
    """Whether it rounds to a float of few bits, or comes from one, with a zero point.

    ONNX: "the (de)quantization formula remains the same"; engines take the zero point for 0.
    """
    if node.op_type not in ("QuantizeLinear", "DequantizeLinear") or len(node.input) < 3:
        return False
    zero = values.get(node.input[2])
    return zero is not None and zero.dtype.kind == "f" and bool(zero.any())


def _vanishing(path: Path) -> bool:
    """Whether the model has numbers of float64 that are zero in float32."""
    for tensor in _read(path).graph.initializer:
        if tensor.data_type == onnx.TensorProto.DOUBLE:
            with suppress(ValueError, OSError, onnx.checker.ValidationError):
                onnx.external_data_helper.load_external_data_for_tensor(tensor, str(path.parent))
            whole = len(tensor.raw_data) // 8 * 8
            exact = np.frombuffer(tensor.raw_data[:whole], "<f8") if whole else tensor.double_data
            if any(0 < abs(number) < np.finfo(np.float32).tiny for number in exact):
                return True
    return False


def _same_with_dilations(node: onnx.NodeProto) -> bool:
    """Whether it is a pool whose padding follows from its dilations, too."""
    if node.op_type not in ("AveragePool", "MaxPool", "LpPool"):
        return False
    given = {each.name: each for each in node.attribute}
    same = "auto_pad" in given and given["auto_pad"].s.startswith(b"SAME")
    return same and "dilations" in given and any(n > 1 for n in given["dilations"].ints)


def _of_fractions(node: onnx.NodeProto, values: Mapping[str, np.ndarray]) -> bool:
    """Whether it is a OneHot of numbers that are not whole."""
    indices = values.get(node.input[0]) if node.op_type == "OneHot" and node.input else None
    return indices is not None and bool((indices != np.rint(indices)).any())


def _of_integers(graph: Graph) -> Callable[[Node], bool]:
    """Whether a node is a Resize of integers."""
    copied = {
        node.output
        for node in graph.nodes
        if node.op == "Elementwise" and not element_type(graph[node.inputs[0]].dtype).is_real
    }
    return lambda node: node.op == "Resize" and node.inputs[0] in copied


def _power_beyond(graph: Graph, node: Node, values: Mapping[str, np.ndarray]) -> bool:
    """Whether it raises whole numbers to powers that their type does not hold."""
    if node.attrs.get("function") != "power" or element_type(graph[node.output].dtype).is_real:
        return False
    with np.errstate(all="ignore"):
        base, exponent = (values[name].astype(np.float64) for name in node.inputs)
        exact = np.abs(np.power(base, exponent))
    return not (exact <= np.iinfo(graph[node.output].dtype).max).all()


def _stated_alone(path: Path, graph: Graph, name: str) -> bool:
    """Whether nothing but what the model states of its values says which shape ``name`` has."""
    if path.suffix != ".onnx":
        return False
    source = onnx.load(path, load_external_data=False)
    del source.graph.value_info[:]
    for value in source.graph.output:
        value.type.tensor_type.ClearField("shape")
    other = path.with_suffix(".unstated.onnx")
    other.write_bytes(source.SerializeToString())
    try:
        return load(other)[name].shape != graph[name].shape
    except EdgeconvError:
        return True


def _mean_of_nothing(path: Path, graph: Graph, want: np.ndarray) -> bool:
    """Whether ``want`` may be 0 / 0 as an integer, which has no value."""
    empty = any(graph[name].size == 0 for name in graph.inputs)
    folded = any(node.op_type == "ReduceMean" for node in _read(path).graph.node)
    return (empty or folded) and want.dtype.kind == "i" and (want == np.iinfo(want.dtype).min).any()


def _values(rng: np.random.Generator, graph: Graph, name: str) -> np.ndarray:
    tensor = graph[name]
    if element_type(tensor.dtype).is_real:
        return rng.standard_normal(tensor.shape).astype(array_type(tensor.dtype))
    if tensor.dtype == BOOL:
        return rng.integers(2, size=tensor.shape).astype(np.bool_)
    info = ml_dtypes.iinfo(array_type(tensor.dtype))
    held = "int64" if tensor.dtype in SMALL_INTEGERS else tensor.dtype
    drawn = rng.integers(info.min, info.max, tensor.shape, held, endpoint=True)
    return drawn.astype(array_type(tensor.dtype))


def _compare(name: str, got: np.ndarray, want: np.ndarray) -> None:
    if got.size == want.size == 1:  # a function of scalars has one dimension in ONNX Runtime
        got = got.reshape(want.shape)
    assert got.shape == want.shape, f"output {name!r}: shape {got.shape}, not {want.shape}"
    want = want.astype(np.float64)
    if not np.isfinite(want).all() or np.abs(want).max(initial=0) > 1e30:
        return  # of values that overflow nothing is promised
    largest = np.abs(want).max(initial=1e-6)
    error = np.abs(got - want).max(initial=0) / largest
    assert error <= _TOLERANCE, f"output {name!r}: relative error {error:g}"

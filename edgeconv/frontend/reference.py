"""The original model run by another engine: what compiled networks are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from edgeconv.errors import EdgeconvError
from edgeconv.frontend import cut, model_file, structured
from edgeconv.frontend.cut import WHOLE, Cut
from edgeconv.frontend.defined import define, show_reals
from edgeconv.frontend.maps import as_tensors
from edgeconv.frontend.names import COPY
from edgeconv.frontend.own_bytes import SELF
from edgeconv.frontend.running import has_runtime
from edgeconv.frontend.schedule import subgraphs
from edgeconv.frontend.separate import OWN, shift_rounding, take_apart
from edgeconv.frontend.weights import Weights

Values = npt.NDArray[Any]
Rewrite = Callable[[onnx.GraphProto], None]

_BETTER_ENGINE = "ONNX Runtime knows more operators: pip install 'edgeconv[verify]'"


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """Values by ONNX name, and the engine (with its version) that computed them."""

    values: Mapping[str, Values]
    engine: str


Run = Callable[[Mapping[str, Values]], ReferenceRun]
Engine = Callable[[model_file.ModelFile, Mapping[str, Values], Sequence[str], Cut, Rewrite], Run]


def reference_outputs(
    path: str | Path,
    inputs: Mapping[str, Values],
    wanted: Sequence[str] | None = None,
    *,
    cut_at: Cut = WHOLE,
) -> ReferenceRun:
    """Run the model in ``path``, or a part of it, on ``inputs``: one array per graph input, of
    its static shape.

    ``wanted`` names graph outputs or intermediate values; all graph outputs when it is None.
    Names that the model's own nodes do not write are left out, since the values that the frontend
    or a pass made up exist in the compiled network only; but for COPY of an output.  Runs ONNX
    Runtime when it is installed, else the reference evaluator of the onnx package.

    Raises EdgeconvError when the model cannot be read or the engine refuses it.
    """
    path = Path(path)
    file = model_file.read(path)
    cut.apply(file.model, cut_at)
    show_reals(file.model.graph, Weights(file))
    known = {name for node in file.model.graph.node for name in node.output}
    known |= {value.name for value in file.model.graph.output}
    outputs = [value.name for value in file.model.graph.output]
    names = outputs if wanted is None else structured.asked(file.model.graph, wanted)
    copies = {
        name: name.removesuffix(COPY)
        for name in names
        if name not in known and name.removesuffix(COPY) in outputs
    }
    names = [copies.get(name, name) for name in names]
    names = list(dict.fromkeys(name for name in names if name in known))
    found = _run(file, inputs, names, cut_at)
    copied = {name: found.values[source] for name, source in copies.items()}
    return replace(found, values={**found.values, **copied}) if copied else found


def reference_beside(
    path: str | Path,
    inputs: Mapping[str, Values],
    results: Mapping[str, Values],
    *,
    cut_at: Cut = WHOLE,
    shift: float = 0.0,
) -> dict[str, Values]:
    """What the model in ``path`` makes of each tensor of ``results``, were all others what they are
    there: every piece of it reads the numbers that a compiled layer has read.

    ``results``: by ONNX name, of the shape and type that `reference_outputs` gives.  ``shift``:
    so much of its largest magnitude is added to whatever a QuantizeLinear rounds (see
    `shift_rounding`).  An operator on integers is then its definition, and else the engine's own.
    Raises EdgeconvError as `reference_outputs`.
    """

    return prepared_beside(path, inputs, results, cut_at=cut_at, shift=shift)(inputs, results)


def prepared_beside(
    path: str | Path,
    inputs: Mapping[str, Values],
    results: Mapping[str, Values],
    *,
    cut_at: Cut = WHOLE,
    shift: float = 0.0,
) -> Callable[[Mapping[str, Values], Mapping[str, Values]], dict[str, Values]]:
    """The same for any inputs and results of the names, shapes and types of these, to be called
    with them: the engine reads the model once."""

    def rewrite(graph: onnx.GraphProto) -> None:
        take_apart(graph, results)
        if shift:
            shift_rounding(graph, shift, {*inputs, *results})

    file = model_file.read(Path(path))
    cut.apply(file.model, cut_at)
    (define if shift else show_reals)(file.model.graph, Weights(file))
    names = [name + OWN for name in results]
    with _refusals(file):
        run = _engine()(file, {**inputs, **results}, names, cut_at, rewrite)

    def beside(feeds: Mapping[str, Values], others: Mapping[str, Values]) -> dict[str, Values]:
        with _refusals(file):
            values = run({**feeds, **others}).values
        return {name: values[name + OWN] for name in others}

    return beside


def _run(
    file: model_file.ModelFile,
    inputs: Mapping[str, Values],
    names: Sequence[str],
    cut_at: Cut,
) -> ReferenceRun:
    with _refusals(file):
        return _engine()(file, inputs, names, cut_at, lambda _: None)(inputs)


def _engine() -> Engine:
    return _onnxruntime if has_runtime() else _onnx_reference


@contextmanager
def _refusals(file: model_file.ModelFile) -> Iterator[None]:
    """Whatever an engine raises, as one error."""
    try:
        yield
    except (EdgeconvError, MemoryError):
        raise
    except Exception as error:  # engines raise types of their own, and the user acts on none
        raise EdgeconvError(
            "the reference engine refuses the model",
            where=str(file.path),
            got=" ".join(str(error).split()).rstrip("."),
            hint="" if has_runtime() else _BETTER_ENGINE,
        ) from error


def _onnxruntime(
    file: model_file.ModelFile,
    inputs: Mapping[str, Values],
    names: Sequence[str],
    cut_at: Cut,
    rewrite: Rewrite,
) -> Run:
    """The stripped model with its weights read from the file by ONNX Runtime itself.

    ``rewrite``: changes the graph that is run, a copy."""
    import onnxruntime  # noqa: PLC0415 - optional

    model = onnx.ModelProto()
    model.CopyFrom(file.model)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location" and entry.value == SELF:
                entry.value = file.path.name
    for node in model.graph.node:
        _restore_attributes(node, file)
    _fix_inputs(model.graph, inputs, cut_at)
    rewrite(model.graph)
    listed = {value.name for value in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in listed)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Quantised models as they are written.  Otherwise some become integer operators, of which one
    # takes biases to be of the product of the scales, whatever scale the model states.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    folder = str(file.path.resolve().parent)
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    # Nor may it make one pair of two, which drops what the first one rounds.
    session = onnxruntime.InferenceSession(
        model.SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=["DoubleQDQPairsRemover"],
    )
    engine = f"ONNX Runtime {onnxruntime.__version__}"

    def run(feeds: Mapping[str, Values]) -> ReferenceRun:
        given = structured.fed(model.graph, _as_read(feeds, model.graph))
        values = session.run(list(names), given)
        return ReferenceRun(structured.told(names, values), engine)

    return run


def _onnx_reference(
    file: model_file.ModelFile,
    inputs: Mapping[str, Values],
    names: Sequence[str],
    cut_at: Cut,
    rewrite: Rewrite,
) -> Run:
    model = _with_weights(file) if file.translated else onnx.load(str(file.path))
    as_tensors(model)
    cut.apply(model, cut_at)
    define(model.graph, Weights(file))
    _fix_inputs(model.graph, inputs, cut_at)
    rewrite(model.graph)
    evaluator = ReferenceEvaluator(model)

    def run(feeds: Mapping[str, Values]) -> ReferenceRun:
        given = structured.fed(model.graph, _as_read(feeds, model.graph))
        found: Any = evaluator.run(None, given, intermediate=True)
        made = [v if isinstance(v, list) else np.asarray(v) for v in map(found.get, names)]
        return ReferenceRun(structured.told(names, made), f"onnx.reference {onnx.__version__}")

    return run


def _with_weights(file: model_file.ModelFile) -> onnx.ModelProto:
    """The model with all of its constants in it."""
    model = onnx.ModelProto()
    model.CopyFrom(file.model)
    for tensor in model.graph.initializer:
        _restore(tensor, file)
    return model


def _restore_attributes(node: onnx.NodeProto, file: model_file.ModelFile) -> None:
    """Put the data of constants inside of nodes back: engines look for initializers only."""
    tensors = [attribute.t for attribute in node.attribute if attribute.HasField("t")]
    for graph in subgraphs(node):
        tensors += graph.initializer
        for inner in graph.node:
            _restore_attributes(inner, file)
    for tensor in tensors:
        _restore(tensor, file)


def _restore(tensor: onnx.TensorProto, file: model_file.ModelFile) -> None:
    """Put the data of a constant back that is a part of the model file."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    if entries.get("location") == SELF:
        start = int(entries["offset"])
        tensor.raw_data = file.content[start : start + int(entries["length"])]
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")


def _as_read(inputs: Mapping[str, Values], graph: onnx.GraphProto) -> dict[str, Values]:
    """Integers as they are, and all else of the type that ``graph`` states: float32 if none."""
    types = {value.name: value.type.tensor_type.elem_type for value in graph.input}

    def as_read(name: str, value: Values) -> Values:
        if value.dtype.kind in "iu":
            return np.asarray(value, order="C")
        stated = types.get(name) or TensorProto.FLOAT
        return np.asarray(value, helper.tensor_dtype_to_np_dtype(stated), order="C")

    return {name: as_read(name, value) for name, value in inputs.items()}


def _fix_inputs(graph: onnx.GraphProto, inputs: Mapping[str, Values], cut_at: Cut) -> None:
    """Give the inputs the shapes of the arrays, and drop what the model derived from others."""
    for value in graph.input:
        if value.name in inputs and value.type.HasField("tensor_type"):
            if value.name in cut_at.inputs:  # of which the model may not state the type
                kind = helper.np_dtype_to_tensor_dtype(inputs[value.name].dtype)
                value.type.tensor_type.elem_type = kind
            shape = value.type.tensor_type.shape
            del shape.dim[:]
            shape.dim.extend(
                onnx.TensorShapeProto.Dimension(dim_value=d) for d in inputs[value.name].shape
            )
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")

"""A project's network in float32 on this machine, with the constants that the project ships.

What is left between the two is no rounding of weights: it tells a rounded weight from a defect.
Where the project stores results in fewer bits too, errors would add up in ways of their own, since
values near the middle between two numbers of the format fall to one side here and to the other
there.  Then every layer is compared on its own, from the inputs that the project's layer had.  So
it is where layers round what they read, to compute with numbers of another format than float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.closing import Closing
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.codegen.read_back import ForeignImageError, read_back
from edgeconv.ir.candidate import FLOAT, HALF, OPERANDS
from edgeconv.ir.choice import Choice
from edgeconv.ir.encoding import kind_of
from edgeconv.ir.filters import DECODED, DYNAMIC, Filters, decodes
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import encodings_of
from edgeconv.ir.placement import placement_of
from edgeconv.ir.request import Workspace
from edgeconv.ir.states import with_integer_states, with_kept_states
from edgeconv.kernels.algorithms.packing import rounded_weights
from edgeconv.kernels.ops.attention import ATTENTION
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.run.build.loading import graph_of, simplified
from edgeconv.run.build.project import Project
from edgeconv.run.build.weights_file import image_of
from edgeconv.search import choose
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.choose.attention import as_decided as attention_as_decided
from edgeconv.search.choose.bit_for_bit import with_integer_results
from edgeconv.search.choose.channel_sums import sums_as_decided
from edgeconv.search.choose.dynamic_quantisation import as_decided
from edgeconv.search.choose.product_places import MOVES
from edgeconv.search.choose.storage import INSERTED, NO_RESULT, OUTPUT
from edgeconv.search.choose.winograd import LAYER_ERROR, forms_described, forms_within
from edgeconv.search.loops import with_programs
from edgeconv.search.options import ANY_LAYOUT
from edgeconv.target.targets import Target

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float32]
_SAME = (
    1e-6  # relative: an integer times its unit is rounded, and the integers have 16 bits at most
)


class RoundedReference(Closing):
    """The reference with rounded weights of a project.  ``results_stored``: whether some layer's
    result is in another format than float32, or its input is rounded before it computes.

    Raises EdgeconvError: the model is another one than the project was compiled from, its weights
    cannot be read, or it cannot be built here.
    """

    def __init__(self, project: Project, model: Path, progress: Progress = no_progress) -> None:
        loaded = graph_of(project, model)
        graph = with_kept_states(simplified(project, loaded))
        layers = project.report["layers"]
        computing = {layer["name"]: _computes_in(layer) for layer in layers}
        rounding, self.rounded = _with_rounded_inputs(graph, computing)
        self.results_stored = bool(self.rounded) or any(
            layer["storage"]["output"] in choose.stored_formats() for layer in layers
        )
        found = _constants(project, simplified(project, with_integer_states(loaded)))
        _check_exact(project, graph, found)
        _check_rounding(project, graph, found)
        self.parameters = found
        self.engine = Engine(rounding, progress)

    def close(self) -> None:
        """Remove the program's files."""
        self.engine.close()

    def outputs(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The network's outputs."""
        run = self.engine.run(feeds, parameters=self.parameters, activations=self.rounded)
        return dict(run)

    def beside(self, feeds: Mapping[str, Array], results: Mapping[str, Array]) -> dict[str, Array]:
        """What each tensor of ``results`` would be in float32, were all others what they are
        there.  Tensors that only the project has are left out."""
        found = self.engine.run_beside(
            feeds, results, parameters=self.parameters, activations=self.rounded
        )
        return dict(found)


def stores(project: Project) -> bool:
    """Whether a project has numbers in formats that round."""
    return any(
        layer["storage"]["output"] in choose.stored_formats()
        or _computes_in(layer) != FLOAT32
        or (
            layer["storage"]["weights"] in choose.stored_formats()
            and not layer["storage"].get("exact")
        )
        for layer in project.report["layers"]
    )


def require_weights(project: Project, model: Path) -> None:
    """Hold the image that the project ships to the model, where nothing is rounded.

    One integer of many may make less difference than a sum's rounding, so that no run would tell.
    Raises EdgeconvError: another model, or filters or biases that are not its own.
    """
    loaded = graph_of(project, model)
    loaded = with_integer_states(replace(loaded, requantise=project.requantise))
    graph = with_integer_results(simplified(project, loaded))
    _check_exact(project, graph, _constants(project, graph))


def _computes_in(layer: Mapping[str, Any]) -> str:
    """The format that a layer of a report rounds its input to."""
    return str(OPERANDS.get(layer.get("compute", FLOAT), OPERANDS[FLOAT]))


def _with_rounded_inputs(
    graph: Graph, computing: Mapping[str, str]
) -> tuple[Graph, dict[str, str]]:
    """The graph with a copy of what each layer reads that ``computing`` says to compute in another
    format than float32, and the formats of these copies."""
    nodes: list[Node] = []
    rounded: dict[str, str] = {}
    tensors = dict(graph.tensors)
    for node in graph.nodes:
        form = computing.get(node.name, FLOAT32)
        if form != FLOAT32:
            copies: dict[str, str] = {}
            for source in dict.fromkeys(node.inputs):
                if not source or graph[source].is_constant or graph[source].dtype != FLOAT32:
                    continue
                copy = copies[source] = f"{node.name} reads\0{source}"
                rounded[copy] = form
                tensors[copy] = replace(graph[source], name=copy)
                nodes.append(Node(copy, "Unary", (source,), (copy,)))
            node = replace(node, inputs=tuple(copies.get(name, name) for name in node.inputs))
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes), tensors=tensors), rounded


def _constants(project: Project, graph: Graph) -> dict[str, Filters]:
    image = image_of(project.directory, project.report["program"])
    initial = {each.given.name: each.initial for each in project.states}
    states = (  # those of integers have their own
        state if state.real else replace(state, initial=initial[state.input])
        for state in graph.states
    )
    graph = replace(graph, states=tuple(states))
    # Layouts may depend on what results were free to be, and so on where the search began.
    for integers in (NO_RESULT, None):
        with suppress(ForeignImageError, KeyError):
            choice = _choice_of(project, graph, project.board().target, integers)
            return read_back(choice, _order(project, choice), image)
    raise EdgeconvError(
        "the weights are not those of this model and board",
        where=str(project.directory),
        rule="they were packed for other kernels",
        hint="compile the model again",
    )


def _check_exact(project: Project, graph: Graph, found: Mapping[str, Filters]) -> None:
    """Layers that no format rounds have the model's own filters and biases."""
    rounded = {
        layer["name"]
        for layer in project.report["layers"]
        if layer.get("compute") == HALF
        or (
            layer["storage"]["weights"] in choose.stored_formats()
            and not layer["storage"].get("exact")
        )
    }
    for node in graph.nodes:
        if not decodes(node, graph) or node.name in rounded or node.name not in found:
            continue
        own = found[node.name]
        wanted = [(own.weights, node.inputs[1])]
        if own.bias is not None and len(node.inputs) > 2 and node.inputs[2]:
            wanted.append((own.bias, node.inputs[2]))
        for values, name in wanted:
            own_values = graph[name].constant()
            if not np.allclose(values, own_values, rtol=_SAME, atol=0, equal_nan=True):
                raise _other_filters(node.name, f"{name} has other values in the weight image")


def _other_filters(layer: str, rule: str) -> EdgeconvError:
    return EdgeconvError(
        "filters are not those of the model",
        where=layer,
        rule=rule,
        hint="compile the model again; if that does not help, please report it",
    )


def _check_rounding(project: Project, graph: Graph, found: Mapping[str, Filters]) -> None:
    """Where the user has named the formats and nothing was measured, what filters become is known:
    they must be that."""
    report = project.report
    if (report["accuracy"] or {}).get("source") or report["program"].get("rounding") == "truncate":
        return
    wanted = {
        layer["name"]: layer["storage"]["weights"]
        for layer in report["layers"]
        if layer["name"] in found and not layer["storage"].get("exact")
    }
    rounded = rounded_weights(graph, wanted)
    constants = {
        node.name: rounded[node.inputs[1]].constant()
        for node in rounded.nodes
        if node.name in wanted
    }
    for name, values in constants.items():
        if not np.array_equal(values, found[name].weights, equal_nan=True):
            raise _other_filters(name, f"rounded to {wanted[name]} they are others")


def _choice_of(
    project: Project, graph: Graph, target: Target, integers: frozenset[str] | None
) -> Choice:
    """The decisions of the project, made again.  ``integers``: as `search.choose.select` has it;
    None leaves the results free that the report has in float32."""
    layers = project.report["layers"]
    storage: dict[str, str] = {}
    dynamic = {layer["name"] for layer in layers if layer["op"] in DYNAMIC.values()}
    graph = as_decided(graph, target, dynamic)
    graph = attention_as_decided(
        graph, {each["name"] for each in layers if each["op"] == ATTENTION}
    )
    graph = sums_as_decided(graph, {each["name"]: each["algorithm"] for each in layers})
    known = {node.name for node in graph.nodes}
    plain = {node.name for node in graph.nodes if "storage" not in node.attrs}
    half: set[str] = set()
    for layer in layers:
        weights, output = layer["storage"]["weights"], kind_of(layer["storage"]["output"])
        exact = layer["storage"].get("exact") and layer["name"] not in plain
        half |= {layer["name"]} if layer.get("compute") == HALF else set()
        if layer["op"] in DECODED and not exact and layer["name"] not in half:
            storage[layer["name"]] = weights
        if layer["op"] in INSERTED:
            continue
        if output in {*choose.stored_formats(), *choose.ROUNDED.values()}:
            storage[layer["name"] + OUTPUT] = output
        elif integers is not None and layer["name"] in known:
            # Algorithms that compute in integers have all others stored so, too.
            storage[layer["name"] + OUTPUT] = FLOAT32
    reported = {layer["name"] for layer in layers}
    absorbed = (node for node in graph.nodes if node.name not in reported)
    encodings = encodings_of(graph)
    # Copies that products in integers do without: what these read is stored as it was.
    storage |= {
        node.name + OUTPUT: choose.ROUNDED[encodings[node.output].bits]
        for node in absorbed
        if node.op in MOVES and node.output in encodings
    }
    choice = choose.select(
        with_programs(graph, target),
        target,
        io=project.report["program"]["io"],
        algorithms={layer["name"]: layer["algorithm"] for layer in layers if layer["op"] == "Conv"},
        storage=storage,
        integers=integers,
        workspace={layer["name"]: Workspace(layer["workspace_bytes"]) for layer in layers},
        winograd_forms={
            **forms_described(graph, {layer["name"]: layer["plan"] for layer in layers}),
            # Of float16 the plan follows from all forms that it is chosen among.
            **forms_within(graph, dict.fromkeys(half, LAYER_ERROR)),
        },
        any_layout=project.report["program"].get("input_layout") == ANY_LAYOUT,
        # Times that were measured are not known here, and need not be.
        described={
            each["name"]: choose.Described(
                each["algorithm"],
                each["layout_in"],
                each["layout_out"],
                each["plan"].get("packed", ""),
            )
            for each in layers
        },
        float16=half,
    )
    placement = placement_of(project.report.get("placement", {}))
    return _streamed(project, replace(choice, placement=placement), target)


def _streamed(project: Project, choice: Choice, target: Target) -> Choice:
    """With the layers that stream rows in the project; KeyError where they cannot."""
    report = project.report
    for step in report.get("steps", ()):
        wanted = [report["layers"][each["layer"]]["name"] for each in step["layers"]]
        names = [layer.node.name for layer in choice.layers]
        first = {name: number for number, name in enumerate(names)}[wanted[0]]
        if names[first : first + len(wanted)] != wanted:
            raise KeyError(wanted[-1])
        rows, patches = step["stream_rows"], step.get("patches", 1)
        made = choose.stream_rows_of(choice, target, first, len(wanted), rows, patches=patches)
        if made is None:
            raise KeyError(wanted[0])
        choice = made
    return choice


def _order(project: Project, choice: Choice) -> tuple[int, ...]:
    """The layers in execution order; KeyError where the project has others."""
    number = {layer.node.name: index for index, layer in enumerate(choice.layers)}
    return tuple(number[layer["name"]] for layer in project.report["layers"])

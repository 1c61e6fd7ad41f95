"""report.json, schema version 1: the numbers behind one compiled network (see schema.json)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from edgeconv.base.arguments import SPEED
from edgeconv.ir.candidate import FLOAT, HALF, IN_WHOLE_NUMBERS, INTEGERS
from edgeconv.ir.choice import Choice, Layer, Search, tensor_bytes
from edgeconv.ir.filters import DECODED
from edgeconv.ir.graph import Graph, State, Tensor, Texts
from edgeconv.ir.grids import rounds, spacings_of
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.ports import PortFacts, port_facts
from edgeconv.ir.requantisation import EXACT
from edgeconv.ir.states import states_apart
from edgeconv.ir.step import Step
from edgeconv.kernels.algorithms.no_integers import Reason
from edgeconv.kernels.float16 import promised_error
from edgeconv.model.frontend.cut import WHOLE, Cut
from edgeconv.model.recurrences.form import Form
from edgeconv.report.numbers import finite
from edgeconv.report.regions import arena_map, placed, region_rows, sizes_of
from edgeconv.report.row_streaming import streamed_steps
from edgeconv.run.bench import Timing
from edgeconv.run.build.footprint import Footprint
from edgeconv.run.build.report_file import SCHEMA
from edgeconv.run.cycles.bound import CycleBound
from edgeconv.run.verify.verification import Verification
from edgeconv.search.choose.in_float32 import in_integers, is_quantised
from edgeconv.search.memory.sizes import FLASH_PARTS, RAM_PARTS, MemoryUse, Sizes
from edgeconv.search.options import MODEL_LAYOUT
from edgeconv.search.predict import LayerPrediction, Prediction, Roofline
from edgeconv.target.board import Board

Report = dict[str, Any]
NO_REASONS: Mapping[str, Reason] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Facts:
    """What the decisions do not say: how the program is called, and of which file it is.
    ``rounding``: of what it stores in fewer bits.  ``requantise``: of results in integers.
    ``cut``: which part of that file.  ``max_sizes``: of what it finds at run time.  ``renames``: of
    inputs and outputs in C.  ``command``: the one that says the same from any directory.
    ``input_layout``: as it was asked for.  ``code``: what the compiler optimises for.
    ``model_version``: as the user calls it.  ``recurrences``: how those of the model are read."""

    name: str
    model_file: str
    weights_as_c: bool
    rounding: str = "nearest"
    requantise: str = EXACT
    cut: Cut = WHOLE
    max_sizes: Mapping[str, int] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    input_layout: str = MODEL_LAYOUT
    code: str = SPEED
    model_version: str = ""
    recurrences: Form = field(default_factory=Form)


def build_report(
    choice: Choice,
    memory: MemoryMap,
    board: Board,
    sizes: Sizes,
    predicted: Prediction,
    facts: Facts,
    whys: Mapping[str, Reason] = NO_REASONS,
) -> Report:
    """The report of a network that has not been built yet: code sizes and times are null.

    ``whys``: by name the layers that are computed in float32 though the model is quantised.
    """
    graph = choice.graph
    spacings, ports = spacings_of(graph), port_facts(graph)
    shared = {step.layers[0]: step for step in choice.steps if step.shares and not step.stream_rows}
    layers = [
        {
            **_layer(choice.layers[index], graph, memory, expected),
            **_sharing(shared.get(index)),
            **_in_float32(whys.get(choice.layers[index].node.name)),
            "step": spacings.get(choice.layers[index].node.output),
        }
        for index, expected in zip(memory.order, predicted.layers, strict=True)
    ]
    return {
        "schema": SCHEMA,
        "model": {
            "name": graph.name,
            "file": facts.model_file,
            "sha256": graph.sha256,
            "macs": sum(layer["macs"] for layer in layers),
            "quantised": rounds(graph),
            **({"cut": facts.cut.to_json()} if facts.cut else {}),
            **({"max_sizes": dict(facts.max_sizes)} if facts.max_sizes else {}),
        },
        "program": {
            "name": facts.name,
            "weights": "c" if facts.weights_as_c else "image",
            "io": choice.io,
            "firmware": board.bare_metal,
            **(
                {"emulated": bool(board.run.command or board.run.siblings)}
                if board.bare_metal
                else {}
            ),
            "rounding": facts.rounding,
            **({"requantise": facts.requantise} if facts.requantise != EXACT else {}),
            **({"command": facts.command} if facts.command else {}),
            **({"input_layout": facts.input_layout} if facts.input_layout != MODEL_LAYOUT else {}),
            **({"renames": dict(facts.renames)} if facts.renames else {}),
            **({"code": facts.code} if facts.code != SPEED else {}),
            **({"model_version": facts.model_version} if facts.model_version else {}),
            **({"recurrences": noted} if (noted := facts.recurrences.to_json()) else {}),
        },
        "board": board.name,
        "isa": choice.isa,
        "threads": choice.threads,
        **({"search": _searched(choice.search)} if choice.search else {}),
        "inputs": [_port(graph[name], ports[name]) for name in graph.input_ports],
        "outputs": [_port(graph[name], ports[name]) for name in graph.output_ports],
        **(
            {"states": [_state(each, graph, ports) for each in graph.states]}
            if graph.states
            else {}
        ),
        "ram": _ram(memory, sizes.ram, states_apart(graph, memory)),
        "flash": {
            **sizes.flash.parts,
            "code": None,
            "rodata": None,
            "total": sizes.flash.total,
            "regions": region_rows(sizes.flash),
        },
        "arena_map": arena_map(choice, memory, board),
        "budget": {
            "ram": sizes.ram.budget,
            "flash": sizes.flash.budget,
            "fits": not sizes.excess(),
        },
        "accuracy": None,
        "time": {
            "predicted_ms": predicted.ms,
            "measured_ms": None,
            "source": predicted.time_source,
            **({"deviation": asdict(predicted.deviation)} if predicted.deviation else {}),
        },
        "energy": {"predicted_mj": predicted.mj, "source": predicted.energy_source},
        "roofline": _roofline(predicted.roofline),
        "layers": layers,
        **({"integers": _integers(choice)} if is_quantised(graph) else {}),
        **streamed_steps(choice, memory),
    }


def with_footprint(report: Mapping[str, Any], built: Footprint) -> Report:
    """The report with what the compiled program takes beside what was planned.

    Of firmware everything that the linker placed is counted; otherwise the network alone.
    """
    ram, flash = report["ram"], report["flash"]
    weights = flash["weights"]
    ram = {
        **ram,
        "data": built.data,
        "stack_bound": built.stack,
        "stack_source": built.stack_words,
        "regions": placed(ram["regions"], built.regions, RAM_PARTS),
    }
    ram["total"] = (
        sum(region["used"] for region in ram["regions"])  # its model structure is a variable
        or ram["arena"] + ram["io"] + ram["model_struct"] + built.data + (built.stack or 0)
    )
    regions = placed(flash["regions"], built.regions, FLASH_PARTS)
    total = sum(region["used"] for region in regions) or weights + built.code + built.rodata
    flash = {
        "weights": weights,
        "code": built.code,
        "rodata": built.rodata,
        "total": total,
        "regions": regions,
    }
    made = {**report, "ram": ram, "flash": flash}
    return {**made, "budget": {**made["budget"], "fits": not sizes_of(made).excess()}}


def with_accuracy(report: Mapping[str, Any], verification: Verification) -> Report:
    """The report with the error of the verified outputs: the worst of them in each measure.

    Where accuracy was measured on samples already that stays, and what is left beside rounding is
    noted with it.
    """
    outputs = verification.errors
    accuracy: Report = {
        "sqnr_db": finite(min(output.sqnr_db for output in outputs)),
        "max_abs_error": finite(max(output.max_abs for output in outputs)),
        "top1_drop": None,
        "samples": 1,
        "passed": verification.passed,
    }
    if verification.steps > 1:
        accuracy["steps"] = verification.steps
    if report["accuracy"] and "source" in report["accuracy"]:
        worst = max(difference.relative for difference in verification.judged)
        own = {"verified": finite(worst), "passed": verification.passed}
        accuracy = {**report["accuracy"], **own}
    ram = report["ram"]
    if verification.stack_bytes is not None:
        ram = {
            **ram,
            "stack_measured": verification.stack_bytes,
            "stack_measured_bound": verification.stack_bound,
        }
    return {**report, "accuracy": accuracy, "ram": ram}


def with_cycles(report: Mapping[str, Any], bound: CycleBound) -> Report:
    """The report with the most cycles of an inference, and of each layer where the compiler says
    which instruction is whose."""
    layers = [
        {**layer, "cycles_max": bound.layers.get(position)} if bound.layers else layer
        for position, layer in enumerate(report["layers"])
    ]
    time = {**report["time"], "cycles_max": bound.cycles, "cycles_source": bound.source}
    return {**report, "time": time, "layers": layers}


def with_times(report: Mapping[str, Any], timing: Timing) -> Report:
    """The report with measured medians, of the layers too where those were timed."""
    layers = report["layers"]
    if timing.layers:
        pairs = zip(layers, timing.layers, strict=True)
        layers = [{**layer, "measured_ms": time.median_ms} for layer, time in pairs]
    time = {**report["time"], "measured_ms": timing.median_ms}
    return {**report, "time": time, "layers": layers}


def _ram(memory: MemoryMap, use: MemoryUse, apart: int) -> Report:
    """Bytes of RAM that one instance needs, the caller's buffers included."""
    return {
        "arena": use.parts["arena"],
        "arena_lower_bound": memory.lower_bound,
        **({"states_apart": apart} if apart else {}),
        "workspace": max((place.bytes for place in memory.workspaces.values()), default=0),
        "io": use.parts["io"],
        "model_struct": use.parts["model_struct"],
        **({"weights": use.parts["weights"]} if "weights" in use.parts else {}),
        "data": None,
        "stack_bound": None,
        "stack_source": None,
        "stack_measured": None,
        "stack_measured_bound": None,
        "total": use.total,
        "regions": region_rows(use, keeps_free=True),
    }


def _roofline(roofline: Roofline | None) -> Report | None:
    if roofline is None:
        return None
    levels = [{"name": name, "gbytes_per_second": rate} for name, rate in roofline.levels]
    return {"peak_gflops": roofline.peak_gflops, "levels": levels}


def _is_exact(layer: Layer) -> bool:
    """Its constants are filters that the model has in their format, or a table of int8."""
    if layer.node.op in DECODED:
        return layer.node.exact
    return bool(layer.candidate) and bool(layer.blobs)


def _layer(layer: Layer, graph: Graph, memory: MemoryMap, predicted: LayerPrediction) -> Report:
    node = layer.node
    source, output = _first_activation(layer, graph), graph[node.output]
    # Of a convolution the format of its filters: its bias is always float32.
    stored = [str(blob.storage) for blob in layer.blobs if blob.name == "filters"]
    if layer.blobs and layer.candidate and layer.candidate.compute in IN_WHOLE_NUMBERS:
        stored = [INTEGERS]  # maybe among other words
    compute = layer.candidate.compute if layer.candidate else layer.compute
    half = {"error": float(f"{promised_error(layer, graph):.2g}")} if compute == HALF else {}
    storages = stored or sorted({str(blob.storage) for blob in layer.blobs})
    return {
        "name": node.name,
        "op": node.op,
        "macs": layer.macs,
        "algorithm": layer.algorithm,
        "plan": dict(layer.plan),
        "layout_in": str(source.layout),
        "layout_out": str(output.layout),
        "storage": {
            "weights": ",".join(storages) or None,
            "output": str(output.storage),
            **({"exact": True} if _is_exact(layer) else {}),  # no rounding: as the model has
        },
        **({"compute": compute} if compute != FLOAT else {}),
        **half,
        "weight_bytes": sum(blob.bytes for blob in layer.blobs),
        "output_bytes": tensor_bytes(output),  # of one worker's ring
        "workspace_bytes": layer.workspace_bytes,
        "traffic_bytes": dict(predicted.traffic.bytes),
        "traffic_lower_bound_bytes": predicted.traffic.lower_bound,
        "predicted_ms": predicted.ms,
        "measured_ms": None,
        "predicted_mj": predicted.mj,
        "bound_by": predicted.bound_by,
        "inputs": [name for name in node.reads() if not graph[name].is_constant],
        "output": output.name,
        "output_shape": list(output.shape),
        "output_dtype": output.dtype,
    }


def _in_float32(why: Reason | None) -> Report:
    """The reason of a layer that is computed in float32 though the model is quantised."""
    if why is None:
        return {}
    return {"in_float32": {"reason": why.name, "why": why.why, "way_out": why.way_out}}


def _integers(choice: Choice) -> Report:
    """How many multiply-accumulates are those of integers, in how many of the layers with any."""
    layers = [layer for layer in choice.layers if layer.macs]
    whole = [layer for layer in layers if in_integers(layer)]
    return {
        "macs": sum(layer.macs for layer in whole),
        "of_macs": sum(layer.macs for layer in layers),
        "layers": len(whole),
        "of_layers": len(layers),
    }


def _sharing(step: Step | None) -> Report:
    """The sharing of a layer that workers share: how many they are, and what each computes."""
    if step is None:
        return {}
    shares = [{"rows": list(each[:2]), "items": list(each[2:])} for each in step.shares]
    return {"workers": step.workers, "shares": shares}


def _first_activation(layer: Layer, graph: Graph) -> Tensor:
    """The first input that is no constant; the output for a layer that has none."""
    names = [*layer.node.reads(), layer.node.output]
    return next(graph[name] for name in names if not graph[name].is_constant)


def _port(tensor: Tensor, facts: PortFacts) -> Report:
    scaling, data_dependent = facts.scaling, facts.data_dependent
    return {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        **({"axes": facts.axes} if facts.axes else {}),
        **({"layout": str(tensor.layout)} if tensor.layout != ROW_MAJOR else {}),
        **({"step": facts.spacing} if facts.spacing else {}),
        **({"scale": list(scaling.scale), "zero_point": list(scaling.zero)} if scaling else {}),
        **({"scale_axis": scaling.axis} if scaling and not scaling.is_per_tensor else {}),
        **(
            {"data_dependent": {"axis": data_dependent.axis, "count": data_dependent.count}}
            if data_dependent
            else {}
        ),
        **({"text": _text(facts.text)} if facts.text else {}),
    }


def _text(text: Texts) -> Report:
    """What strings are in the program."""
    if text.table:
        return {"table": list(text.table)}
    return {"examples": list(text.examples)} if text.examples else {}


def _state(state: State, graph: Graph, ports: Mapping[str, PortFacts]) -> Report:
    """The state as the input that it is; ``initial`` where that is not zero."""
    tensor = graph[state.input]
    name, output = state.names
    own = {"name": name, "output": output, "bytes": tensor_bytes(tensor)}
    own |= {"real": True, "tensor": state.input} if state.real else {}
    values = np.zeros(tensor.shape) if state.initial is None else state.initial
    initial = {"initial": values.reshape(-1).tolist()} if np.any(values) else {}
    return {**_port(tensor, ports[tensor.name]), **own, **initial}


def _searched(search: Search) -> Report:
    """Without what no unit is stated of."""
    found = asdict(search)
    del found["cost"]
    return found

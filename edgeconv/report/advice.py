"""What to change to save most: suggestions computed from the numbers of a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from edgeconv.base.names import told_apart
from edgeconv.report import stored_advice
from edgeconv.report.missing import compile_command, explain_command
from edgeconv.report.network import Layer, Network, Report
from edgeconv.report.numbers import exact, share, significant
from edgeconv.report.occupancy import Occupancy, covered, is_workspace
from edgeconv.report.suggestion import Certainty, Resource, Suggestion

__all__ = ["Certainty", "Resource", "Suggestion", "suggestions"]

MOST_LAYERS = 3  # that one suggestion is about
MOST_TENSORS = 4  # that one suggestion names
NAME_WIDTH = 48  # of what it names
WORTH = 0.02  # of the whole: what saves less is not worth reading
ABOVE_BOUND = 1.5  # traffic over its lower bound from which a layer is "far above"
SLOWER = 1.25  # measured over predicted time, likewise


def suggestions(network: Network) -> tuple[Suggestion, ...]:
    """All that is worth it: what an exceeded budget needs first, then the surest, then the most."""
    report = network.report
    needed = {unit for unit, kind in _BUDGETS if _exceeds(report, kind)}
    found = [
        one
        for source in _SOURCES
        for one in source(network)
        if one.amount > 0 and (one.fraction >= WORTH or one.resource in needed)
    ]
    surest = list(Certainty)
    found.sort(
        key=lambda one: (one.resource not in needed, surest.index(one.certainty), -one.fraction)
    )
    return tuple(found)


def _exceeds(report: Report, kind: str) -> bool:
    budget = report["budget"][kind]
    return budget is not None and report[kind]["total"] > budget


def _io_in_arena(network: Network) -> Iterator[Suggestion]:
    """Inputs and outputs in the arena: their bytes serve others while they are not live."""
    report, ram = network.report, network.report["ram"]
    if report["program"]["io"] != "caller" or not ram["io"]:
        return
    saved, why = (
        ram["io"],
        "How much of that the arena then takes more is not known from this report.",
    )
    alone = len(network.used) == 1  # in several banks, who moves where is the planner's choice
    if alone:
        (used,) = network.used.values()
        saved -= max(0, _peak_with_io(network, used) - ram["arena"])
        why = (
            "Assumes that only the first layer reads the input, which a run then overwrites, and "
            "that the arena still meets its lower bound."
        )
    yield Suggestion(
        "Let the arena hold inputs and outputs",
        f"The caller's buffers take {exact(ram['io'])} for as long as the network lives; in the "
        f"arena other tensors use the same bytes. {why}",
        saved,
        Resource.RAM,
        Certainty.ESTIMATE if alone else Certainty.AT_MOST,
        saved / ram["total"],
        command=compile_command(report, "--io", "arena"),
    )


def _peak_with_io(network: Network, used: Occupancy) -> int:
    """Most bytes live at once when inputs and outputs lie in the arena as well: inputs until the
    first layer has run, every output from the layer that writes it to the end.  A tensor that the
    map does not have lies in the buffer of the next output, which it is then to lie in still."""
    report, layers = network.report, network.layers
    live = [used.bytes_at.get(step, 0) for step in range(len(layers))]
    if live:
        live[0] += sum(map(_port_bytes, report["inputs"]))
    writers = {layer["output"]: step for step, layer in enumerate(layers)}
    written = {
        port["name"]: writers.get(port["name"], len(layers) - 1) for port in report["outputs"]
    }
    for port in report["outputs"]:
        for step in range(written[port["name"]], len(layers)):
            live[step] += _port_bytes(port)
    mapped = {entry["name"] for entry in report["arena_map"]} | set(written)
    for step, layer in enumerate(layers):
        if layer["output"] not in mapped:
            until = min((at for at in written.values() if at > step), default=step)
            for during in range(step, until):
                live[during] += layer["output_bytes"]
    return max(live, default=0)


def _peak(network: Network) -> Iterator[Suggestion]:
    """The largest tensor of the memory peak: while it is not live, less is."""
    if network.fullest is None:
        return
    bank, used = network.fullest
    tensors = [one for one in used.at_peak if not is_workspace(one)]
    if not tensors:
        return
    largest = tensors[0]
    elsewhere = max(
        (
            count
            for step, count in used.bytes_at.items()
            if not largest["first"] <= step <= largest["last"]
        ),
        default=0,
    )
    saved = min(largest["bytes"], used.peak_bytes - elsewhere)
    brief = told_apart((one["name"] for one in tensors[:MOST_TENSORS]), NAME_WIDTH)
    named = [f"{brief[one['name']]} ({exact(one['bytes'])})" for one in tensors[:MOST_TENSORS]]
    more = len(used.at_peak) - len(named)
    inside = f" in {bank}" if len(network.used) > 1 else ""
    live = f"{', '.join(named)}{f' and {more} more' if more else ''}"
    yield Suggestion(
        "Make the tensors of the memory peak smaller",
        f"At step {used.peak_step} most is live{inside}, {exact(used.peak_bytes)}: {live}. While "
        f"the first of them is not live, it is at most {exact(elsewhere)}: smaller tensors here "
        "save no more than the difference.",
        saved,
        Resource.RAM,
        Certainty.AT_MOST,
        saved / network.report["ram"]["total"],
        _steps(network, used.peak_step),
    )


def _workspace(network: Network) -> Iterator[Suggestion]:
    """Scratch memory that is live at the peak: another algorithm may do without."""
    if network.fullest is None:
        return
    _, used = network.fullest
    spaces = [one for one in used.at_peak if is_workspace(one)]
    if not spaces:
        return
    saved = used.peak_bytes - _peak_without_workspaces(used)
    yield Suggestion(
        "Compute the layer of the memory peak without a workspace",
        f"It takes {exact(spaces[0]['bytes'])} of workspace when most is live. An algorithm "
        "that packs nothing does without, and may be slower.",
        saved,
        Resource.RAM,
        Certainty.AT_MOST,
        saved / network.report["ram"]["total"],
        _steps(network, used.peak_step),
        explain_command(network.report, str(spaces[0]["layer"])),
    )


def _peak_without_workspaces(used: Occupancy) -> int:
    return max(
        covered([one for one in live if not is_workspace(one)]) for live in used.live_at.values()
    )


def _above_lower_bound(network: Network) -> Iterator[Suggestion]:
    """What the planner leaves between tensors."""
    ram = network.report["ram"]
    saved = ram["arena"] - ram["arena_lower_bound"]
    yield Suggestion(
        "Close the gap between the arena and its lower bound",
        f"The arena takes {exact(ram['arena'])}; {exact(ram['arena_lower_bound'])} are live at "
        "once in this order of the layers. The rest is lost between tensors.",
        saved,
        Resource.RAM,
        Certainty.AT_MOST,
        saved / ram["total"],
    )


def _weights(network: Network) -> Iterator[Suggestion]:
    """The layers that hold most weights: what is to shrink flash has to shrink them."""
    flash = network.report["flash"]
    steps = network.largest(lambda layer: layer["weight_bytes"], MOST_LAYERS)
    held = sum(network.layers[step]["weight_bytes"] for step in steps)
    held = min(held, flash["weights"])  # less where layers have constants in common
    if not held:
        return
    yield Suggestion(
        "Prune or factorise the layers that hold most weights",
        f"{_count(steps)} of {len(network.layers)} hold{'s' * (len(steps) == 1)} {exact(held)}, "
        f"{share(held, flash['weights'])} of all weights. Every filter that goes saves its bytes.",
        held,
        Resource.FLASH,
        Certainty.AT_MOST,
        held / flash["total"],
        steps,
    )


def _traffic(network: Network) -> Iterator[Suggestion]:
    """Layers that move far more than any order has to."""

    def excess(layer: Layer) -> int:
        moved, bound = network.moved(layer), layer["traffic_lower_bound_bytes"]
        return moved - bound if moved and bound and moved > ABOVE_BOUND * bound else 0

    steps = network.largest(excess, MOST_LAYERS)
    if not steps:
        return
    some = [network.layers[step] for step in steps]
    saved = sum(map(excess, some))
    worst = max(layer["traffic_bytes"][network.level] / _bound(layer) for layer in some)
    why = (
        f"{_count(steps)} exchange{'s' * (len(steps) == 1)} with {network.level_name} up to "
        f"{significant(worst)} times what any order of the multiply-adds has to."
    )
    if network.roof:
        milliseconds = saved / network.roof.bandwidth / 1e6
        why += (
            f" At {significant(network.roof.bandwidth)} GB/s the excess takes "
            f"{significant(milliseconds)} ms, of which arithmetic may hide a part."
        )
    yield Suggestion(
        "Try other algorithms where traffic is far above its lower bound",
        why,
        saved,
        Resource.TRAFFIC,
        Certainty.AT_MOST,
        saved / sum(network.moved(layer) or 0 for layer in network.layers),
        steps,
        explain_command(network.report, some[0]["name"]),
    )


def _bound(layer: Layer) -> int:
    return int(layer["traffic_lower_bound_bytes"])


def _conversions(network: Network) -> Iterator[Suggestion]:
    """Layout conversions compute nothing."""
    steps = tuple(step for step, one in enumerate(network.layers) if one["op"] == "Convert")
    saved = sum(filter(None, (network.time_ms(network.layers[step]) for step in steps)))
    if saved:
        yield Suggestion(
            f"Avoid {len(steps)} layout conversion{'s' * (len(steps) > 1)}",
            "They only change the order of elements, between layers that want different layouts. "
            f"Another algorithm on one side may agree. Times are {network.times}.",
            saved,
            Resource.TIME,
            Certainty.AT_MOST,
            saved / network.total_ms,
            steps,
        )


def _inefficient(network: Network) -> Iterator[Suggestion]:
    """Layers that lose most time against the roofline."""

    def lost(layer: Layer) -> float:
        time, attainable = network.time_ms(layer), network.attainable_ms(layer)
        return max(0.0, time - attainable) if time and attainable else 0.0

    steps = network.largest(lost, MOST_LAYERS)
    if not steps:
        return
    some = [network.layers[step] for step in steps]
    saved = sum(map(lost, some))
    reached = (
        share(network.attainable_ms(one) or 0, network.time_ms(one) or math.inf) for one in some
    )
    yield Suggestion(
        "Raise the efficiency of the layers that lose most against the roofline",
        f"{_count(steps)} run{'s' * (len(steps) == 1)} at {', '.join(reached)} of what arithmetic "
        f"and {network.level_name} allow when the caches are empty. Times are {network.times}.",
        saved,
        Resource.TIME,
        Certainty.AT_MOST,
        saved / network.total_ms,
        steps,
        explain_command(network.report, some[0]["name"]),
    )


def _slower_than_predicted(network: Network) -> Iterator[Suggestion]:
    """Layers whose measured time the prediction does not explain."""

    def late(layer: Layer) -> float:
        measured, predicted = layer["measured_ms"], layer["predicted_ms"]
        if measured is None or predicted is None or measured <= SLOWER * predicted:
            return 0.0
        return float(measured - predicted)

    steps = network.largest(late, MOST_LAYERS)
    saved = sum(late(network.layers[step]) for step in steps)
    if saved:
        yield Suggestion(
            "Look at the layers that are slower than predicted",
            f"{_count(steps)} took longer than the board's rates explain. This is what it saves "
            "if they run as predicted.",
            saved,
            Resource.TIME,
            Certainty.AT_MOST,
            saved / network.total_ms,
            steps,
        )


_BUDGETS = ((Resource.RAM, "ram"), (Resource.FLASH, "flash"))
_SOURCES: tuple[Callable[[Network], Iterator[Suggestion]], ...] = (
    _io_in_arena,
    _peak,
    _workspace,
    _above_lower_bound,
    stored_advice.filters_in_fewer_bits,
    stored_advice.results_in_fewer_bits,
    _weights,
    _traffic,
    _conversions,
    _inefficient,
    _slower_than_predicted,
    lambda network: stored_advice.faster_suggestions(network.report),
)


def _count(steps: tuple[int, ...]) -> str:
    return f"{len(steps)} layer{'s' * (len(steps) > 1)}"


def _steps(network: Network, step: int) -> tuple[int, ...]:
    return (step,) if 0 <= step < len(network.layers) else ()


def _port_bytes(port: Layer) -> int:
    """Bytes of an input or output."""
    return math.prod(port["shape"]) * int(np.dtype(port["dtype"]).itemsize)

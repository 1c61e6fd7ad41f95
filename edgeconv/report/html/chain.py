"""The network as a list of its layers, each with the layers that it reads from."""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.report.network import Layer, Network


@dataclass(frozen=True, slots=True)
class Link:
    """A layer.  ``reads``: the steps that write what it reads, -1 for an input of the network;
    empty where it reads what the step before it writes and nothing else.  ``share`` of the time,
    and of the largest share: None where no time is known.
    """

    step: int
    layer: Layer
    shape: str
    reads: tuple[int, ...]
    share: float | None
    bar: float | None


def chain(network: Network) -> list[Link]:
    """In execution order; nothing for a report of a version that does not say what layers read."""
    layers = network.layers
    if not all("inputs" in layer for layer in layers):
        return []
    writer = {layer["output"]: step for step, layer in enumerate(layers)}
    shares = [network.time_share(layer) for layer in layers]
    largest = max(filter(None, shares), default=0.0)
    found = []
    for step, (layer, share) in enumerate(zip(layers, shares, strict=True)):
        reads = tuple(dict.fromkeys(writer.get(name, -1) for name in layer["inputs"]))
        shape = "x".join(map(str, layer["output_shape"])) or "scalar"
        bar = None if share is None or not largest else share / largest
        found.append(Link(step, layer, shape, () if reads == (step - 1,) else reads, share, bar))
    return found

"""Convolutions between tensors that were rounded to another scale in every channel.

The result of such a rounding is kept in steps: what the integers are, less the zero point, which is
a grid of spacing 1 whatever the channel.  What makes it divides by the scales, and what reads it
multiplies by them: both are part of a layer's filters, one float32 number per output channel, which
rounds.  The numbers of the model are kept beside them, since a layer in integers is what these say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.ir.graph import Graph, Node

Reals = npt.NDArray[np.float64]
CHANNEL_SCALES = "channel_scales"  # attribute of a Conv or Dense that has a `ChannelScales`


@dataclass(frozen=True, slots=True)
class ChannelScales:
    """One number for each output channel, all of float32.

    ``filters``: what its filters are multiples of in the model.  ``bias``: the model's.
    ``input``: the scale of the channels that it reads, () where the input is in no steps.
    ``output``: that of its result, likewise.
    """

    filters: tuple[float, ...]
    bias: tuple[float, ...]
    input: tuple[float, ...] = ()
    output: tuple[float, ...] = ()

    def permuted(self, order: Iterable[int]) -> ChannelScales:
        """The scales of the layer whose output channel ``i`` is what ``order[i]`` was."""
        places = [int(i) for i in order]
        every = (self.filters, self.bias, self.input, self.output)
        return ChannelScales(*(tuple(each[i] for i in places if each) for each in every))

    @property
    def of_sums(self) -> Reals:
        """What a product of stored integers counts, but for the input's own scale: `filters` times
        `input`, exact in float64."""
        filters = np.asarray(self.filters, np.float64)
        return filters * np.asarray(self.input, np.float64) if self.input else filters

    @property
    def of_results(self) -> Reals:
        """What a number of the result counts: 1 where it is in no steps."""
        return np.asarray(self.output or (1.0,) * len(self.filters), np.float64)


def scales_of(node: Node, graph: Graph) -> ChannelScales:
    """The scales of a Conv or Dense node whose filters have units; where it has none of its
    channels' own, what its constants are."""
    found: ChannelScales | None = node.attrs.get(CHANNEL_SCALES)
    if found is not None:
        return found
    count = graph[node.inputs[1]].shape[0]
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    bias = graph[name].constant().reshape(-1) if name else np.zeros(1)
    both = (np.asarray(node.storage.scale), bias)
    filters, biases = (tuple(map(float, np.broadcast_to(each, (count,)))) for each in both)
    return ChannelScales(filters, biases)

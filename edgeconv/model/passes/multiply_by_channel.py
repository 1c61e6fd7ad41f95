"""Multiply by the scales of a DequantizeLinear that no layer behind it takes over.

Its integers are whole numbers of a layer in front (``round_channels``), which memory keeps as such;
an Affine makes the real ones of them, in any layout, and may be part of filters in float32.
"""

from __future__ import annotations

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node
from edgeconv.ir.quantisation import DEQUANTISES, integers_of
from edgeconv.model.passes.base import Pass, Stage
from edgeconv.model.passes.channel_grids import at_several_scales, in_whole_numbers

_CHANNELS = 1  # the axis of an Affine
_FEWEST = 3  # dimensions of its operand


@at_several_scales("Dequantise")
def run(position: int, editor: Editor) -> None:
    """The Dequantise at ``position`` may read what a Quantise of whole numbers writes."""
    node = editor.node(position)
    encoding, quantise = integers_of(node), editor.producer(node.inputs[0])
    whole, shape = in_whole_numbers(encoding), editor.shape(node.output)
    if whole is None or quantise is None or quantise.op != "Quantise":
        return
    if integers_of(quantise) != whole or encoding.axis != _CHANNELS or len(shape) < _FEWEST:
        return
    target = editor.add_tensor(f"{node.inputs[0]}.whole", shape, editor.tensors[node.output])
    attrs = {"encoding": whole}
    name = editor.fresh_node(f"{node.name}.whole")
    step = Node(name, "Dequantise", node.inputs, (target,), attrs, origin=node.origin)
    editor.insert(position, step)
    scales = np.array(encoding.scale, np.float32)
    names = (
        editor.add_constant(f"{node.output}.scale", scales),
        editor.add_constant(f"{node.output}.shift", np.zeros_like(scales)),
    )
    inputs = (target, *names)
    editor.update(position, op="Affine", inputs=inputs, attrs={DEQUANTISES: encoding.scale})


PASS = Pass(
    run=run,
    requires="a Dequantise of several scales of channels, and one zero point, that reads what a "
    "Quantise of whole numbers writes",
    ensures="it is one of whole numbers, and an Affine multiplies by the scales",
    stage=Stage.FUSE,
)

"""Divide by the scales of a QuantizeLinear where no layer in front of it does so in its filters.

Its readers take whole numbers (``read_channels``): the quotients are rounded to a grid that is the
same of all channels, in any layout, and kept in memory as integers from there on.
"""

from __future__ import annotations

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, origins
from edgeconv.ir.quantisation import integers_of, rounding_to
from edgeconv.model.passes.base import Pass, Stage
from edgeconv.model.passes.binary_to_affine import AS_WRITTEN
from edgeconv.model.passes.channel_grids import at_several_scales, in_whole_numbers


@at_several_scales("Quantise")
def run(position: int, editor: Editor) -> None:
    """The Quantise at ``position`` may be read as whole numbers alone."""
    node = editor.node(position)
    encoding = integers_of(node)
    whole, readers = in_whole_numbers(encoding), editor.readers(node.output)
    if whole is None or node.output in editor.outputs or not readers:
        return
    reading = [editor.node(each) for each in readers]
    if any(each.op != "Dequantise" or integers_of(each) != whole for each in reading):
        return
    if any(each.output in editor.outputs for each in reading):
        return
    name, rank = node.inputs[0], len(editor.shape(node.inputs[0]))
    scales = np.array(encoding.scale, np.float32)
    shape = [-1 if i == encoding.axis else 1 for i in range(rank)]
    by = editor.add_constant(f"{name}.scales", scales.reshape(shape))
    first, *others = reading
    for each in readers:
        editor.replace(each, None)
    for other in others:
        editor.rename_uses(other.output, first.output)
    editor.update(
        position,
        op="Binary",
        inputs=(name, by),
        outputs=first.outputs,
        attrs={"kind": "div", AS_WRITTEN: True},
        epilogue=Epilogue(before=rounding_to(whole)),
        origin=origins(node, *reading),
    )


PASS = Pass(
    run=run,
    requires="a Quantise of several scales and one zero point that only Dequantise of whole "
    "numbers read",
    ensures="a Binary divides by the scales, as they are, and rounds to that grid instead of them",
    stage=Stage.FUSE,
)

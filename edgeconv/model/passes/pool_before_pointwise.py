"""An average over pixels before a pointwise convolution instead of behind it.

Both are linear, one over pixels and the other over channels, so their order is free; in front, the
convolution computes pooled pixels only.  DenseNet's transitions (Huang et al. 2017, section 3) do a
quarter of their multiply-adds then.
"""

from __future__ import annotations

import math

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, origins
from edgeconv.model.passes.base import Pass, at_each


def _is_pointwise(conv: Node) -> bool:
    """Every pixel by itself, and nothing that is not linear behind it."""
    window = {*conv.attrs["kernel"], *conv.attrs["strides"]}
    return window == {1} and not any(conv.attrs["pads"]) and conv.epilogue.is_empty


def _keeps_constants(pool: Node) -> bool:
    """Whether each average divides by as many pixels as it adds, and so leaves a bias as it is."""
    return not pool.attrs["count_include_pad"] or not any(pool.attrs["pads"])


def _gains(pool: Node, conv: Node, editor: Editor) -> bool:
    """Whether products and the additions of the windows are fewer with the average in front."""
    whole, pooled = editor.shape(conv.output), editor.shape(pool.output)
    in_c, out_c = editor.shape(conv.inputs[0])[1], whole[1]
    products = math.prod(editor.shape(conv.inputs[1]))
    window: int = math.prod(pool.attrs["kernel"])
    behind = math.prod(whole[2:]) * products + math.prod(pooled[2:]) * window * out_c
    return math.prod(pooled[2:]) * (products + window * in_c) < behind


@at_each("Pool")
def run(position: int, editor: Editor) -> None:
    """Rewrite Pool(Conv(x)) as Conv(Pool(x))."""
    pool = editor.node(position)
    writer = editor.private_writer(pool.inputs[0], position)
    if writer is None or pool.attrs["mode"] != "average" or editor.node(writer).op != "Conv":
        return
    conv = editor.node(writer)
    has_bias = len(conv.inputs) > 2 and conv.inputs[2] != ""
    if not _is_pointwise(conv) or (has_bias and not _keeps_constants(pool)):
        return
    source = editor.tensors[conv.inputs[0]]
    if not _gains(pool, conv, editor):
        return
    shape = (*source.shape[:2], *editor.shape(pool.output)[2:])
    pooled = editor.add_tensor(f"{source.name}.pooled", shape, source)
    editor.update(position, inputs=(source.name,), outputs=(pooled,), epilogue=conv.epilogue)
    editor.update(
        writer,
        inputs=(pooled, *conv.inputs[1:]),
        outputs=pool.outputs,
        epilogue=pool.epilogue,
        origin=origins(conv, pool),
    )


PASS = Pass(
    run=run,
    requires="an average Pool of what a Conv of kernel and strides 1 without epilogue writes for "
    "it alone, where the Conv has no bias or the Pool counts no padding",
    ensures="the Pool reads what the Conv read, where that takes fewer operations",
    after=("fold_batch_norm", "reduce_to_pool"),
)

"""A mean or maximum over all spatial dimensions is a global pool, which has the faster kernel."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node
from edgeconv.model.passes.base import Pass, at_each

_MODES = {"mean": "average", "max": "max"}


@at_each("Reduce")
def run(position: int, editor: Editor) -> None:
    """Rewrite Reduce mean and max of (N, C, H, W) over H and W."""
    node = editor.node(position)
    source = editor.tensors[node.inputs[0]]
    kernel = source.shape[2:]
    spatial = len(kernel) == 2 and tuple(node.attrs["axes"]) == (2, 3)
    if node.attrs["kind"] not in _MODES or not node.epilogue.is_empty or not spatial:
        return
    attrs = {
        "mode": _MODES[node.attrs["kind"]],
        "kernel": kernel,
        "strides": (1,) * len(kernel),
        "dilations": (1,) * len(kernel),
        "pads": (0,) * (2 * len(kernel)),
        "count_include_pad": False,
        "mean": node.attrs["kind"] == "mean",
    }
    if node.attrs["keepdims"]:
        editor.update(position, op="Pool", attrs=attrs)
        return
    output = editor.add_tensor(f"{node.output}.pooled", (*source.shape[:2], 1, 1), like=source)
    pool = Node(
        editor.fresh_node(f"{node.name}.pool"),
        "Pool",
        node.inputs,
        (output,),
        attrs,
        origin=node.origin,
    )
    editor.insert(position, pool)
    editor.update(position, op="Reshape", inputs=(output,), attrs={})


PASS = Pass(
    run=run,
    requires="Reduce mean or max of a rank-4 tensor over axes 2 and 3",
    ensures="it is a Pool whose window is the whole input, and a Reshape unless keepdims",
    after=("compose_views",),
)

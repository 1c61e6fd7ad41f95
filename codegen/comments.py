"""What is written above each call: for the engineer on the board."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.codegen.addresses import Addresses
from edgeconv.codegen.c_names import c_comment
from edgeconv.encoding import FLOAT32
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Node
from edgeconv.ir.step import Share
from edgeconv.names import shortened


def comment(layer: Layer, shares: Sequence[Share], at: Addresses) -> tuple[str, ...]:
    """Lines above a call of ``layer``, which ``shares`` are parts of: the node it comes from, what
    it reads and writes and where, and how it computes.
    """
    node, graph = layer.node, at.choice.graph
    origin = ", ".join(shortened(name) for name in dict.fromkeys(node.origin)) or shortened(
        node.name
    )
    reads = [at.described(graph[name]) for name in node.reads() if name in at.memory.places]
    head = f'{node.op} "{origin}"{_epilogue_words(node)}'
    flow = f"{', '.join(reads)} -> {at.described(graph[node.output])}"
    plan = ", ".join(f"{k} {v}" for k, v in layer.plan.items() if k != "predicted_slots")
    work = f"{layer.macs} MACs; " if layer.macs else ""
    weights = sum(blob.bytes for blob in layer.blobs)
    formats = sorted(str(form) for form in {blob.storage for blob in layer.blobs} - {FLOAT32})
    tail = f"; {weights} bytes of weights" if weights else ""
    tail += f", filters in {', '.join(formats)}" if formats else ""
    tail += f"; {len(shares)} workers" if shares else ""
    lines = (head, flow, f"{work}{layer.algorithm}{f' ({plan})' if plan else ''}{tail}")
    return tuple(c_comment(line) for line in lines)


def _epilogue_words(node: Node) -> str:
    epilogue = node.epilogue
    words = [str(epilogue.before)] if epilogue.before.kind != "none" else []
    words += ["residual"] if epilogue.residual else []
    words += [str(epilogue.after)] if epilogue.after.kind != "none" else []
    return f" + {' + '.join(words)}" if words else ""

"""Make one table of element-wise nodes that together are a function of one tensor of eight bits.

Quantised SiLU is x * Q(sigmoid(x)), with Q between the two and behind: each of 256 numbers becomes
one of 256.  So do hard swish as exporters spell it, and activations one behind the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import INT8, Encoding
from edgeconv.ir.graph import Epilogue, Graph, Node, origins
from edgeconv.ir.grids import integers_for, last_activation, rounded_to
from edgeconv.ir.pointwise import Applied, Combined, Pointwise
from edgeconv.ir.requantisation import TFLITE
from edgeconv.kernels.lowering.tables import COMBINED, rounded, table_of
from edgeconv.model.passes.base import Pass, Stage

_MOST = 8  # nodes of a table: what models spell out takes four


@dataclass(slots=True)
class _Cluster:
    """Nodes whose last one is ``root``: all that read what the others write are among them."""

    editor: Editor
    root: int
    members: set[int] = field(default_factory=set)

    def reads(self) -> list[str]:
        """Run-time tensors from outside, each once."""
        names = (
            name
            for position in sorted(self.members)
            for name in self.editor.node(position).reads()
            if self.editor.constant(name) is None
        )
        inside = {self.editor.node(position).output for position in self.members}
        return [name for name in dict.fromkeys(names) if name not in inside]

    def grow(self) -> bool:
        """Take in a node that only members read; whether there is one."""
        for name in self.reads():
            writer = self.editor.writer(name)
            if (
                writer is not None
                and name not in self.editor.outputs
                and set(self.editor.readers(name)) <= self.members
                and is_pointwise(self.editor.node(writer), self.editor)
            ):
                self.members.add(writer)
                return True
        return False


def is_pointwise(node: Node, editor: Editor) -> bool:
    """Element i of its result is a function of elements i of tensors of its shape, and of
    constants of one element."""
    if node.op == "Binary" and node.attrs["kind"] not in COMBINED:
        return False
    if node.op not in ("Binary", "Unary"):
        return False
    shape = editor.shape(node.output)
    return all(
        editor.shape(name) == shape if editor.constant(name) is None else _is_single(editor, name)
        for name in node.reads()
    )


def _is_single(editor: Editor, name: str) -> bool:
    return editor.scalar(name) is not None


def _function(cluster: _Cluster, source: str) -> Pointwise:
    """What the members make of ``source``, less the last rounding."""
    editor, steps = cluster.editor, list[Applied | Combined]()
    value: dict[str, int] = {source: 0}

    def append(made: Applied | Combined) -> int:
        steps.append(made)
        return len(steps)

    def applied(function: Activation, of: int) -> int:
        return of if function == NONE else append(Applied(function, of))

    def operand(name: str) -> int | float:
        if name in value or (writer := editor.writer(name)) is None:
            return value[name] if name in value else _scalar(editor, name)
        value[name] = evaluated(editor.node(writer))
        return value[name]

    def evaluated(node: Node) -> int:
        operands = [operand(name) for name in node.inputs]
        if node.op == "Binary":
            made = append(Combined(node.attrs["kind"], *operands))
        else:
            (of,) = operands
            assert isinstance(of, int)
            made = of
        made = applied(node.epilogue.before, made)
        if node.epilogue.residual:
            made = append(Combined("add", made, operand(node.epilogue.residual)))
        return applied(node.epilogue.after, made)

    evaluated(editor.node(cluster.root))
    steps.pop()  # the last rounding, which is the epilogue's
    return Pointwise(tuple(steps))


def _scalar(editor: Editor, name: str) -> float:
    found = editor.scalar(name)
    assert found is not None
    return found


def _found(root: int, editor: Editor, grids: dict[str, Activation]) -> tuple[_Cluster, str] | None:
    """The largest cluster that is a function of one tensor of eight bits, and that tensor."""
    cluster, best = _Cluster(editor, root, {root}), None
    for _ in range(_MOST):
        reads = cluster.reads()
        several = len(cluster.members) > 1 or editor.node(root).op == "Binary"
        if len(reads) == 1 and several and _eight_bits(reads[0], editor, grids):
            best = _Cluster(editor, root, set(cluster.members)), reads[0]
        if not cluster.grow():
            break
    return best


def _eight_bits(name: str, editor: Editor, grids: dict[str, Activation]) -> bool:
    known = grids.get(name)
    real = editor.tensors[name].dtype == "float32"
    return real and known is not None and _of_eight(known) is not None


def _of_eight(known: Activation) -> Encoding | None:
    """The integers that stand for it, where they are of eight bits."""
    found = integers_for(known)
    return found if found and found.element == INT8 else None


def _tabulate(root: int, editor: Editor, grids: dict[str, Activation]) -> None:
    node = editor.node(root)
    last = last_activation(node)
    y = _of_eight(last)
    if y is None or not is_pointwise(node, editor):
        return
    found = _found(root, editor, grids)
    if found is None:
        return
    cluster, source = found
    function, x = _function(cluster, source), _of_eight(grids[source])
    if x is None or table_of(rounded(function, last), x, y) is None:
        return
    members = [editor.node(position) for position in sorted(cluster.members)]
    table = Node(
        node.name,
        "Table",
        (source,),
        node.outputs,
        {"function": function, "of": x, "to": y},
        Epilogue(before=last),
        origins(*members),
    )
    for position in cluster.members - {root}:
        editor.replace(position, None)
    editor.replace(root, table)


def run(graph: Graph) -> Graph:
    """The last nodes first, so that each table takes in all that it can.  Where results are to be
    TensorFlow Lite's each operator is a table of its own."""
    if graph.requantise == TFLITE:
        return graph
    editor, grids = Editor(graph), rounded_to(graph)
    for position in reversed(list(editor)):
        if editor.nodes[position] is not None:
            _tabulate(position, editor, grids)
    return editor.finish()


PASS = Pass(
    run=run,
    requires="a Unary or Binary that ends in a grid of eight bits and, with Unary and Binary nodes "
    "that nobody else reads, is a function of one tensor on such a grid and of single constants; "
    "more than one node, or a Binary",
    ensures="they are one Table of that tensor",
    stage=Stage.FUSE,
    after=("fuse_activation", "fuse_residual"),
)

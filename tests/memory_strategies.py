"""Random programs for the memory planner's property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from edgeconv.ir.choice import Alias, Choice
from tests.memory_choices import Net

DTYPES = {"int8": 1, "float32": 4}


@st.composite
def choices(draw: st.DrawFn, max_layers: int = 12, aliases: bool = True) -> Choice:
    """Random networks: branches, unread tensors, two types, every kind of alias if ``aliases``."""
    net = Net(align=draw(st.sampled_from([4, 16])), io=draw(st.sampled_from(["caller", "arena"])))
    dtypes, items = st.sampled_from(sorted(DTYPES)), st.integers(1, 12)

    def fresh() -> tuple[int, str]:
        dtype = draw(dtypes)
        return draw(items) * DTYPES[dtype], dtype

    names = [net.input(f"x{i}", *fresh()) for i in range(draw(st.integers(1, 2)))]
    plain = ["plain", "workspace"]
    sharing = ["concat", "view", "unary", "binary", "convert"]
    for i in range(draw(st.integers(1, max_layers))):
        recent, output = names[-6:], f"t{i}"
        a = draw(st.sampled_from(recent))
        alike = st.sampled_from([n for n in recent if net.item(n) == net.item(a)])
        match draw(st.sampled_from(plain + sharing if aliases else plain)):
            case "concat":
                net.concat(output, *draw(st.lists(alike, min_size=1, max_size=3)))
            case "view":
                item, count = net.item(a), net.bytes(a) // net.item(a)
                start = draw(st.integers(0, count - 1))
                size = draw(st.integers(1, count - start))
                net.view(output, a, start * item, size * item)
            case "unary":
                net.in_place(output, a)
            case "binary":
                b = draw(alike)
                offers = tuple(Alias(name, output, name) for name in dict.fromkeys((a, b)))
                net.layer(output, net.bytes(a), a, b, aliases=offers, dtype=net.dtype(a))
            case "convert":
                size, dtype = fresh()
                net.layer(output, size, a, aliases=(Alias(a, output, a),), dtype=dtype)
            case kind:
                reads = draw(st.lists(st.sampled_from(recent), min_size=1, max_size=3, unique=True))
                size, dtype = fresh()
                workspace = draw(items) if kind == "workspace" else 0
                net.layer(output, size, *reads, workspace=workspace, dtype=dtype)
        names.append(output)
    made = [layer.node.output for layer in net.layers]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    return net.choice(*outputs)

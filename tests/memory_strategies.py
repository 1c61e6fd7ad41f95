"""Random programs for the memory planner's property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from edgeconv.ir.choice import Alias, Choice
from tests.memory_choices import Net


@st.composite
def choices(draw: st.DrawFn, max_layers: int = 12, aliases: bool = True) -> Choice:
    """Random networks: branches, unread tensors, and every kind of alias if ``aliases``."""
    net = Net(align=draw(st.sampled_from([1, 4])), io=draw(st.sampled_from(["caller", "arena"])))
    sizes = st.integers(1, 12)
    names = [net.input(f"x{i}", draw(sizes)) for i in range(draw(st.integers(1, 2)))]
    kinds = ["plain", "workspace", "concat", "view", "unary", "binary"] if aliases else ["plain"]
    for i in range(draw(st.integers(1, max_layers))):
        earlier = st.sampled_from(names[-6:])
        output = f"t{i}"
        match draw(st.sampled_from(kinds)):
            case "concat":
                net.concat(output, *draw(st.lists(earlier, min_size=1, max_size=3)))
            case "view":
                of = draw(earlier)
                start = draw(st.integers(0, net.bytes(of) - 1))
                net.view(output, of, start, draw(st.integers(1, net.bytes(of) - start)))
            case "unary":
                net.in_place(output, draw(earlier))
            case "binary":
                a, b = draw(earlier), draw(earlier)
                offers = tuple(Alias(name, output, name) for name in dict.fromkeys((a, b)))
                net.layer(output, net.bytes(a), a, b, aliases=offers)
            case kind:
                reads = draw(st.lists(earlier, min_size=1, max_size=3, unique=True))
                workspace = draw(sizes) if kind == "workspace" else 0
                net.layer(output, draw(sizes), *reads, workspace=workspace)
        names.append(output)
    made = [layer.node.output for layer in net.layers]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    return net.choice(*outputs)

"""Random programs for the memory planner's property tests."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from edgeconv.ir.choice import Alias, Choice
from edgeconv.ir.step import Divides
from tests.memory_choices import Link, Net

DTYPES = {"int8": 1, "float32": 4}


@st.composite
def choices(
    draw: st.DrawFn,
    max_layers: int = 12,
    aliases: bool = True,
    streaming: bool = False,
    over: bool = False,
    states: bool = False,
) -> Choice:
    """Random networks: branches, unread tensors, two types, every kind of alias if ``aliases``,
    with ``streaming`` steps of several layers, and with ``over`` results that lie over inputs they
    do not fit in, with ``states`` inputs that are made anew: as large as any tensor or a part of
    one."""
    net = Net(align=draw(st.sampled_from([4, 16])), io=draw(st.sampled_from(["caller", "arena"])))
    dtypes, items = st.sampled_from(sorted(DTYPES)), st.integers(1, 12)

    def fresh() -> tuple[int, str]:
        dtype = draw(dtypes)
        return draw(items) * DTYPES[dtype], dtype

    names = [net.input(f"x{i}", *fresh()) for i in range(draw(st.integers(1, 2)))]
    kept = [net.input(f"s{i}", *fresh()) for i in range(draw(st.integers(1, 2)) if states else 0)]
    names += kept
    plain = ["plain", "workspace"]
    plain += ["turns", "turns"] if streaming else []
    sharing = ["concat", "view", "unary", "binary", "convert"]
    sharing += ["over", "over"] if over else []
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
            case "over":
                size = draw(items) * net.item(a)
                net.over(output, size, a, draw(st.integers(0, 12)) * net.item(a))
            case "turns":
                found = draw(st.lists(links(), min_size=2, max_size=4))
                alike_last = found[-1].divides.rows * found[-1].width
                net.chain(
                    output,
                    a,
                    found,
                    draw(st.integers(1, 5)),
                    slack=draw(st.integers(0, 2)),
                    workers=draw(st.sampled_from([1, 1, 3])),
                    residual=draw(st.sampled_from(["", *_residuals(net, recent, a, alike_last)])),
                )
            case kind:
                reads = draw(st.lists(st.sampled_from(recent), min_size=1, max_size=3, unique=True))
                size, dtype = fresh()
                workspace = draw(items) if kind == "workspace" else 0
                net.layer(output, size, *reads, workspace=workspace, dtype=dtype)
        names.append(output)
    made = [layer.node.output for layer in net.layers]
    made = [name for name in made if not net.tensors[name].ring]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    for state in kept:
        size, dtype = net.bytes(state), net.dtype(state)
        large = [name for name in made if net.dtype(name) == dtype and net.bytes(name) >= size]
        source = draw(st.sampled_from(["", *large]))
        if source:
            apart = draw(st.integers(0, (net.bytes(source) - size) // net.item(state)))
            net.view(f"{state}/new", source, apart * net.item(state), size)
        else:
            net.layer(f"{state}/new", size, draw(st.sampled_from(made)), dtype=dtype)
    for state in kept:
        net.keep(state, f"{state}/new", window=draw(st.booleans()))
    return replace(net.choice(*outputs), states_apart=states and draw(st.booleans()))


@st.composite
def links(draw: st.DrawFn) -> Link:
    """A layer that streams rows: a kernel of some rows, a stride, rows of padding."""
    rows = draw(st.integers(1, 12))
    reach, stride = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    divides = Divides(rows, reach, stride, draw(st.integers(0, reach)))
    return Link(divides, draw(st.integers(1, 6)), draw(st.sampled_from([0, 0, 5, 17])))


def _residuals(net: Net, recent: list[str], source: str, size: int) -> list[str]:
    """What the last layer of a chain from ``source`` may add to its result."""
    return [name for name in recent if name != source and net.bytes(name) == size]

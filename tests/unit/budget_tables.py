"""Small tables of storage options, random and by hand, and the best choice by trying all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st

from edgeconv.search.budget.cuts import EXACT
from edgeconv.search.budget.tables import (
    ACTIVATION,
    WEIGHTS,
    Item,
    Limits,
    Objective,
    Option,
    Saving,
    Step,
    Tables,
)

FORMATS = ("float32", "flyte24", "flyte16", "flyte8")
NOISES = st.sampled_from([0.0, 1e-12, 3e-9, 2e-6, 5e-4, 1e-2, 0.3])


@st.composite
def random_tables(draw: st.DrawFn) -> Tables:
    """Up to two weight tensors and three activations, up to three formats, a few steps."""
    sizes, costs = st.integers(0, 400), st.integers(0, 50)
    items = []
    for i in range(draw(st.integers(1, 5))):
        kind = WEIGHTS if i < 2 else ACTIVATION
        options = [
            Option(
                form,
                flash=draw(sizes) if kind == WEIGHTS else 0,
                noise=draw(NOISES) * draw(st.integers(1, 9)),
                seconds=1e-6 * draw(costs),
                joules=1e-3 * draw(costs),
            )
            for form in FORMATS[: draw(st.integers(1, 3))]
        ]
        items.append(Item(f"item{i}", kind, tuple(options)))
    activations = [i for i, item in enumerate(items) if item.kind == ACTIVATION]
    steps = []
    for s in range(draw(st.integers(1, 4))):
        some = draw(st.lists(st.sampled_from(activations), unique=True)) if activations else []
        live = {i: tuple(16 * draw(sizes) for _ in items[i].options) for i in some}
        savings = []
        if len(some) > 1 and draw(st.booleans()):
            a, b = some[:2]
            both = range(min(len(items[a].options), len(items[b].options)))
            pairs = tuple((k, k, min(live[a][k], live[b][k])) for k in both)
            savings.append(Saving(a, b, pairs))
        steps.append(Step(f"step{s}", {"fixed": draw(sizes)}, live, tuple(savings)))
    return Tables(tuple(items), tuple(steps), ram=draw(sizes), flash=draw(sizes))


@st.composite
def random_limits(draw: st.DrawFn, tables: Tables) -> Limits:
    """Limits between the least and the most, and sometimes exactly what a choice takes."""
    picked = tuple(draw(st.integers(0, len(item.options) - 1)) for item in tables.items)
    off = st.sampled_from([-1, 0, 0, 1, 300])

    return Limits(
        draw(st.none() | st.just(tables.ram_bytes(picked) + draw(off))),
        draw(st.none() | st.just(tables.flash_bytes(picked) + draw(off))),
        draw(st.none() | st.just(tables.noise(picked) * draw(st.sampled_from([0.5, 1.0, 2.0])))),
    )


def assignments(tables: Tables) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(len(item.options)) for item in tables.items))


def allowed(tables: Tables, limits: Limits, picked: tuple[int, ...], slack: float = EXACT) -> bool:
    """Whether ``picked`` is within the limits; of noise to the rounding of its sum (``slack``)."""
    return (
        (limits.ram is None or tables.ram_bytes(picked) <= limits.ram)
        and (limits.flash is None or tables.flash_bytes(picked) <= limits.flash)
        and (limits.noise is None or tables.noise(picked) <= limits.noise * (1 + slack))
    )


def best(
    tables: Tables, limits: Limits, objective: Objective, slack: float = EXACT
) -> float | None:
    """The least value of ``objective`` within the limits."""
    within = (p for p in assignments(tables) if allowed(tables, limits, p, slack))
    return min((tables.cost(objective, p) for p in within), default=None)


def two_layers() -> Tables:
    """Weights ``big`` and ``small``, activations ``wide`` and ``narrow`` live together once."""
    by_format = list(zip(FORMATS, (4, 3, 2, 1), (0.0, 1e-9, 1e-4, 1e-2), strict=True))

    def weights(name: str, size: int) -> Item:
        options = [Option(f, flash=b * size, noise=n, seconds=5e-6 / b) for f, b, n in by_format]
        return Item(name, WEIGHTS, tuple(options))

    def activation(name: str) -> Item:
        options = tuple(Option(f, noise=n, seconds=-1e-6 * (4 - b)) for f, b, n in by_format)
        return Item(name, ACTIVATION, options, (f"make_{name}:output",), frozenset([name]))

    def live(size: int) -> tuple[int, ...]:
        return tuple(b * size for _, b, _ in by_format)

    items = (weights("big", 1000), weights("small", 10), activation("wide"), activation("narrow"))
    steps = (
        Step("first", {"x": 400}, {2: live(640)}),
        Step("second", {"workspace of second": 64}, {2: live(640), 3: live(64)}),
        Step("third", {"y": 40}, {3: live(64)}),
    )
    return Tables(items, steps, ram=100, flash=64, seconds=1e-5, joules=None)

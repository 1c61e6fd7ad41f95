"""A line for each tool and option, a column for each board, over all networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from quantising.outcomes import NOT_WRITTEN, Outcome

Key = tuple[str, str, str]  # tool, option, network


def summary(
    found: Mapping[str, Mapping[Key, Outcome]], real: Mapping[str, Mapping[str, Outcome]]
) -> Iterator[str]:
    """Markdown of outcomes by board.  A cell has layers in integers, of all with
    multiply-accumulates, of all networks together; then predicted time and RAM as shares of what
    the networks themselves take in float32 (``real``, by board and network), the smallest and the
    largest of them; and how many programs verify found unequal, or what is refused."""
    yield f"| tool, option | {' | '.join(f'`{board}`' for board in found)} |"
    yield f"|{'---|' * (len(found) + 1)}"
    keys = dict.fromkeys(key[:2] for outcomes in found.values() for key in outcomes)
    for tool, option in keys:
        cells = [
            _cell({n: o for (t, w, n), o in outcomes.items() if (t, w) == (tool, option)}, real[b])
            for b, outcomes in found.items()
        ]
        yield f"| {tool}, `{option}` | {' | '.join(cells)} |"


def _cell(outcomes: Mapping[str, Outcome], real: Mapping[str, Outcome]) -> str:
    made = {name: each for name, each in outcomes.items() if not each.refused}
    both = [(each, real[name]) for name, each in made.items() if not real[name].refused]
    done, of = (sum(each.layers[i] for each in made.values()) for i in (0, 1))
    parts = [f"{done} of {of}"] if made else []
    times = [
        each.milliseconds / base.milliseconds
        for each, base in both
        if each.milliseconds is not None and base.milliseconds
    ]
    parts += [f"ms {_span(times)}"] if times else []
    parts += [f"RAM {_span([each.ram / base.ram for each, base in both])}"] if both else []
    verified = [each.verified for each in made.values() if each.verified]
    parts += [f"{verified.count('equal')} of {len(verified)} equal"] if verified else []
    refused = [name for name, each in outcomes.items() if each.refused not in ("", NOT_WRITTEN)]
    parts += [f"no {', '.join(refused)}"] if refused else []
    return "; ".join(parts) or NOT_WRITTEN


def _span(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.2f}", f"{max(shares):.2f}"
    return low if low == high else f"{low} to {high}"

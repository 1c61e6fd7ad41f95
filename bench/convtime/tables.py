"""What is printed: one table per question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from convtime.measure import Measured

NO_ALGORITHMS = ("openblas", "packing", "unpacked")
TIE = 0.02  # times that differ by less are equal
Counted = Sequence[tuple[Measured, int]]  # with how often each occurs in the model


def names_of(counted: Counted) -> list[str]:
    """The candidates that compute whole convolutions as edgeconv does."""
    found = dict.fromkeys(name for entry, _ in counted for name in entry.seconds)
    return [name for name in found if name not in NO_ALGORITHMS and " " not in name]


def best(entry: Measured, names: Iterable[str]) -> str:
    """The fastest of ``names`` that apply."""
    return min((n for n in names if n in entry.seconds), key=lambda name: entry.seconds[name])


def _shown(counted: Counted) -> list[str]:
    baseline = any("openblas" in entry.seconds for entry, _ in counted)
    return [*names_of(counted), *(["openblas"] if baseline else [])]


def convolutions(counted: Counted) -> list[str]:
    """Microseconds, GFLOP/s and share of the peak per convolution and algorithm."""
    names, shown = names_of(counted), _shown(counted)
    head = f"{'convolution':40}{'times':>6} {'MMAC':>7}"
    head += "".join(f" | {name:>9} us  GF/s    %" for name in shown)
    lines = [f"{head} | best       chosen"]
    for entry, count in counted:
        line = f"{entry.convolution.label:40}{count:6} {entry.flops / 2e6:7.1f}"
        for name in shown:
            if name in entry.seconds:
                rate = entry.gflops(name)
                share = 100 * rate / entry.peak
                line += f" | {1e6 * entry.seconds[name]:12.1f} {rate:5.0f} {share:4.0f}"
            else:
                line += f" | {'-':>12} {'-':>5} {'-':>4}"
        lines.append(f"{line} | {best(entry, names):10} {entry.chosen}")
    return lines


def _total(counted: Counted, pick: Callable[[Measured], str]) -> tuple[float, float, int]:
    """Seconds, share of the peak and number of the convolutions where the pick applies."""
    able = [(entry, count) for entry, count in counted if pick(entry) in entry.seconds]
    seconds = sum(count * entry.seconds[pick(entry)] for entry, count in able)
    least = sum(1e-9 * count * entry.flops / entry.peak for entry, count in able)
    return seconds, least / seconds if able else 0.0, sum(count for _, count in able)


def totals(counted: Counted) -> dict[str, dict[str, float]]:
    """By algorithm, for what the lowest cost chooses and for the best of each: milliseconds, share
    of the peak, convolutions, each convolution as often as it occurs."""
    names = names_of(counted)
    picks: dict[str, Callable[[Measured], str]] = {
        name: lambda _, name=name: name  # type: ignore[misc]
        for name in _shown(counted)
    }
    picks["chosen"] = lambda entry: entry.chosen
    picks["best"] = lambda entry: best(entry, names)
    found = {}
    for name, pick in picks.items():
        seconds, share, number = _total(counted, pick)
        found[name] = {"ms": 1e3 * seconds, "of_peak": share, "convolutions": number}
    return found


def is_usual_3x3(entry: Measured) -> bool:
    """A 3x3 convolution of 64 input channels or more, not grouped."""
    p = entry.convolution.problem
    return p.kernel == (1, 3, 3) and p.groups == 1 and p.in_c >= 64


def total_lines(title: str, counted: Counted) -> list[str]:
    """``totals`` as text."""
    if not counted:
        return []
    everything = sum(count for _, count in counted)
    lines = [f"{title} ({everything} convolutions)"]
    for name, row in totals(counted).items():
        part = "" if row["convolutions"] == everything else f"  {row['convolutions']} of them"
        lines.append(f"  {name:10} {row['ms']:10.3f} ms {100 * row['of_peak']:6.1f} %{part}")
    return lines


def speedups(models: Mapping[str, Counted]) -> dict[str, dict[str, float]]:
    """Per model: time of OpenBLAS over that of SConv, and over that of what edgeconv chooses."""
    return {
        model: {
            name: rows["openblas"]["ms"] / rows[name]["ms"] for name in ("sconv", "chosen", "best")
        }
        for model, rows in ((model, totals(counted)) for model, counted in models.items())
    }


def speedup_lines(models: Mapping[str, Counted], published: Mapping[str, float]) -> list[str]:
    """``speedups``, their geometric mean, and what was published beside them."""
    ratios = speedups(models)
    lines = ["im2col + OpenBLAS over:     sconv   chosen     best  published"]
    for model, row in ratios.items():
        text = "".join(f"{ratio:9.2f}" for ratio in row.values())
        lines.append(f"  {model:20} {text}  {published.get(model, math.nan):9.2f}")
    means = [math.prod(column) ** (1 / len(ratios)) for column in _columns(ratios)]
    lines.append(f"  {'geometric mean':20} {''.join(f'{mean:9.2f}' for mean in means)}")
    return [line.replace("      nan", "        -") for line in lines]


def _columns(ratios: Mapping[str, Mapping[str, float]]) -> Iterable[tuple[float, ...]]:
    return zip(*(row.values() for row in ratios.values()), strict=True)


def both_schedules(entry: Measured) -> dict[str, float]:
    """Seconds of SConv by schedule."""
    other = next(name for name in entry.seconds if name.startswith("sconv "))
    return {
        entry.schedule: entry.seconds["sconv"],
        other.removeprefix("sconv "): entry.seconds[other],
    }


def verdict(entry: Measured) -> str:
    """How the chosen schedule does: "faster", "tie" or "slower"."""
    times = dict(both_schedules(entry))
    own = times.pop(entry.schedule)
    (other,) = times.values()
    if abs(own - other) < TIE * min(own, other):
        return "tie"
    return "faster" if own < other else "slower"


def schedule_lines(entries: Iterable[Measured]) -> list[str]:
    """Both schedules per distinct convolution, and how often the analysis chose the faster."""
    entries = list(entries)
    lines = [f"{'convolution':40} {'IS us':>10} {'WS us':>10}  chosen  it is"]
    for entry in entries:
        times = both_schedules(entry)
        lines.append(
            f"{entry.convolution.label:40} {1e6 * times['IS']:10.1f} {1e6 * times['WS']:10.1f}"
            f"  {entry.schedule:6}  {verdict(entry)}"
        )
    found = schedule_summary(entries)
    counts = ", ".join(f"{found[name]} {name}" for name in ("faster", "tie", "slower"))
    lines.append(
        f"{len(entries)} distinct convolutions: the chosen schedule is {counts}; with it they take "
        f"{100 * (found['loss'] - 1):.2f} % longer than with the better of both"
    )
    return lines


def schedule_summary(entries: Sequence[Measured]) -> dict[str, float]:
    """Counts by verdict, and the time under the chosen schedules over that under the better."""
    verdicts = [verdict(entry) for entry in entries]
    own = sum(entry.seconds["sconv"] for entry in entries)
    least = sum(min(both_schedules(entry).values()) for entry in entries)
    counts = {name: float(verdicts.count(name)) for name in ("faster", "tie", "slower")}
    return {**{name: int(n) for name, n in counts.items()}, "loss": own / least}


def packing_seconds(entry: Measured) -> dict[str, float]:
    """``alone``: the loops of SConv without the micro-kernel; nothing evicts what they read.
    ``in_place``: what SConv takes more than without packing."""
    in_place = entry.seconds["sconv"] - entry.seconds["unpacked"]
    return {"alone": entry.seconds["packing"], "in_place": max(in_place, 0.0)}


def packing_summary(counted: Counted) -> dict[str, float]:
    """Shares of packing: the mean over convolutions, and of the time of all of them; the largest
    workspace over the largest im2col matrix (0 without one)."""
    matrix = max(entry.convolution.im2col_bytes for entry, _ in counted)
    workspace = max(entry.workspace_bytes for entry, _ in counted)
    found = {
        "peak_workspace_bytes": workspace,
        "peak_im2col_bytes": matrix,
        "workspace_of_im2col": workspace / matrix if matrix else 0.0,
    }
    number = sum(count for _, count in counted)
    whole = sum(count * entry.seconds["sconv"] for entry, count in counted)
    for way in ("alone", "in_place"):
        times = [(packing_seconds(entry)[way], entry, count) for entry, count in counted]
        shares = (count * seconds / entry.seconds["sconv"] for seconds, entry, count in times)
        found[f"mean_share_{way}"] = sum(shares) / number
        found[f"share_of_time_{way}"] = sum(n * seconds for seconds, _, n in times) / whole
    return found


def packing_lines(counted: Counted) -> list[str]:
    """Share of packing and of the workspace per convolution."""
    head = f"{'convolution':40} {'packing alone us, of sconv':>27} {'in place us, of sconv':>23}"
    lines = [f"{head} {'workspace':>10} {'of im2col':>9}"]
    for entry, _ in counted:
        matrix = entry.convolution.im2col_bytes
        share = f"{100 * entry.workspace_bytes / matrix:7.2f} %" if matrix else "-"
        line = f"{entry.convolution.label:40}"
        for seconds, width in zip(packing_seconds(entry).values(), (18, 14), strict=True):
            of_sconv = 100 * seconds / entry.seconds["sconv"]
            line += f" {1e6 * seconds:{width}.1f} {of_sconv:6.1f} %"
        lines.append(f"{line} {entry.workspace_bytes:10} {share:>9}")
    found = packing_summary(counted)
    for way, text in (("alone", "alone"), ("in_place", "in place")):
        lines.append(
            f"packing {text}: {100 * found[f'mean_share_{way}']:.1f} % of sconv's time, the mean "
            f"over convolutions; {100 * found[f'share_of_time_{way}']:.1f} % of their time in all"
        )
    lines.append(
        f"largest workspace {found['peak_workspace_bytes']} bytes: "
        f"{100 * found['workspace_of_im2col']:.2f} % of the largest im2col matrix, "
        f"{found['peak_im2col_bytes']} bytes"
    )
    return lines

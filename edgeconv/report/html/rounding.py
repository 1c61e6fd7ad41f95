"""What storing numbers in fewer bits costs, on which samples, and how formats were chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgeconv.report.missing import Missing, unlabelled, unsampled, unverified
from edgeconv.report.network import Network
from edgeconv.report.numbers import significant
from edgeconv.report.stored import Share, shares

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the table: ``value`` "" where ``missing`` says how to find out."""

    title: str
    value: str
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class Rounding:
    """What rounding costs, for the page.  ``promise``: what the figures are worth, "" where there
    are none.  ``formats``: in use."""

    accuracy: tuple[Fact, ...]
    choice: tuple[Fact, ...]
    promise: str
    formats: tuple[Share, ...]


def rounding(network: Network) -> Rounding | None:
    """None where everything is float32 and nobody measured what else would cost."""
    report = network.report
    measured = _on_samples(report)
    if not (network.rounds or measured or report.get("choice")):
        return None
    return Rounding(
        tuple(_accuracy(report)),
        tuple(_choice(report)),
        _promise(report) if measured else "",
        shares(network.layers),
    )


def outputs(report: Report) -> tuple[str, Missing | None]:
    """One sentence about the outputs: how accurate they are and what they were compared with; and
    what has not been compared yet."""
    accuracy = report["accuracy"]
    if accuracy is None:
        return "", unverified(report)
    error, sqnr = accuracy["max_abs_error"], accuracy["sqnr_db"]
    words = "not finite" if error is None else f"largest error {error:.3g}"
    words += "" if sqnr is None else f", SQNR {sqnr:.1f} dB"
    if not _on_samples(report):
        count = accuracy["samples"]
        ending = "" if count == 1 else "s"
        differs = "" if accuracy.get("passed", True) else " The program differs from the model."
        compared = f"Outputs compared with the model on {count} input{ending}"
        return f"{compared}: {words}.{differs}", None
    if accuracy.get("top1") is not None:
        words += f", top-1 {_percent(accuracy['top1'])}"
    words = f"Outputs expected of this rounding, measured on {accuracy['source']}: {words}."
    verified = accuracy.get("verified")
    if verified is None:
        return words, unverified(report)
    compared = "The program compared with the same numbers in float32 on 1 input"
    differs = "" if accuracy.get("passed", True) else " It differs."
    return f"{words} {compared}: relative error {verified:.3g}.{differs}", None


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _on_samples(report: Report) -> bool:
    """Whether accuracy is that of a choice of formats rather than of a verification."""
    return bool(report["accuracy"]) and "source" in report["accuracy"]


def _promise(report: Report) -> str:
    found = report["accuracy"]
    if found.get("confidence") and found.get("at_least_db") is not None:
        return (
            f"Measured on samples of yours: other inputs like them have at least "
            f"{found['at_least_db']:.1f} dB, with {found['confidence']:.0%} confidence."
        )
    if found["promised"]:
        return "Measured on samples of yours: as good as they stand for what the network will see."
    return "Nothing is promised of other inputs: these are random, and real ones may fare worse."


def _accuracy(report: Report) -> Iterator[Fact]:
    if not _on_samples(report):
        yield Fact("SQNR, per layer and at the output", "", unsampled(report))
        return
    found = report["accuracy"]
    sqnr, error = found["sqnr_db"], found["max_abs_error"]
    yield Fact("SQNR at the output", f"{sqnr:.1f} dB" if sqnr is not None else "no noise at all")
    yield Fact("largest error of an output", f"{error:.3g}" if error is not None else "not finite")
    if found.get("top1") is not None:
        yield Fact("top-1", _percent(found["top1"]))
    if found.get("top1_drop") is not None:
        yield Fact("top-1 lost against float32", f"{_percent(found['top1_drop'])} of the samples")
    elif found.get("agreement") is not None:
        yield Fact("top-1", "", unlabelled(report))
    for key, title in (
        ("agreement", "same top class as float32"),
        ("at_risk", "expected with another top class"),
    ):
        if found.get(key) is not None:
            yield Fact(title, f"{_percent(found[key])} of the samples")
    yield Fact("samples", str(found["source"]))
    worst = found.get("verified")
    if worst is None:
        yield Fact("beside rounding", "", unverified(report))
    else:
        yield Fact("beside rounding", f"relative error {worst:.3g}, verified on 1 input")


def _choice(report: Report) -> Iterator[Fact]:
    choice, budget = report.get("choice"), report["budget"]
    if not choice:
        return
    if report["program"].get("rounding") == "truncate":
        yield Fact("rounding", "toward zero")
    smallest = _OBJECTIVES[choice["objective"]]
    if choice["min_sqnr"] is None and choice["max_drop"] is None:
        smallest = f"error at the outputs, of equal ones {smallest}"
    yield Fact("made smallest", smallest)
    limits = (
        ("RAM", budget["ram"], "{:,} bytes"),
        ("flash", budget["flash"], "{:,} bytes"),
        ("SQNR at the output, at least", choice["min_sqnr"], "{:g} dB"),
        ("top-1 lost, at most", choice["max_drop"], "{:.4g} of the samples"),
    )
    for title, limit, form in limits:
        yield Fact(f"limit: {title}", "none" if limit is None else form.format(limit))
    gap = choice["gap"]
    if gap is None:
        words = "nothing is known about how much better another choice could be"
    elif gap <= _PROVEN:
        words = f"by at most 0.1 %{_ESTIMATES}"
    else:
        words = f"by at most {significant(100 * gap)} %{_ESTIMATES}"
    yield Fact("another choice is better", words)
    if not choice["finished"]:
        yield Fact("search", "cut short after its time: the best that was found")


_OBJECTIVES = {"latency": "time", "memory": "memory", "energy": "energy"}
_PROVEN = 1e-3  # a gap that is none, with room for what the solver stops at
_ESTIMATES = ", by the additive estimates of the integer program"

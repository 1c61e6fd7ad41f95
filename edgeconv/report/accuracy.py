"""What storage formats cost, in report.json and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.markup import escape

from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.report.document import Report
from edgeconv.report.measured_accuracy import document, measured_notes, words
from edgeconv.report.narrow_tables import plain_table
from edgeconv.report.numbers import finite
from edgeconv.search.calibration.confidence import CONFIDENCE
from edgeconv.search.calibration.sqnr import Accuracy
from edgeconv.search.choose.storage import OUTPUT
from edgeconv.search.fitting import FormatChoice
from edgeconv.search.options import CompileOptions


def with_found(
    report: Mapping[str, Any], found: FormatChoice, options: CompileOptions, source: str
) -> Report:
    """The report with what the formats cost, at the outputs and at every layer, and how they were
    chosen.  ``source``: words for the samples."""
    fitted = found.fitted
    return with_measured(
        report, found.accuracy, options, source, gap=fitted.gap, finished=fitted.finished
    )


def with_measured(
    report: Mapping[str, Any],
    measured: Accuracy,
    options: CompileOptions,
    source: str,
    *,
    gap: float = 0.0,
    finished: bool = True,
) -> Report:
    """The report, with the accuracy of what was ``measured`` in any way; ``gap``: by how much
    another choice may be better, ``finished``: whether the search for it was."""
    layers = [
        {**layer, "sqnr_db": finite(measured.per_layer.get(layer["output"]))}
        for layer in report["layers"]
    ]
    accuracy = {
        "sqnr_db": finite(measured.sqnr_db),
        **document(measured),
        "source": source,
        "promised": measured.promised,
        "at_least_db": finite(measured.at_least_db),
        "confidence": None if measured.at_least_db is None else CONFIDENCE,
    }
    choice = {
        "objective": options.objective,
        "min_sqnr": options.min_sqnr,
        "max_drop": options.max_drop,
        "gap": finite(gap),
        "finished": finished,
    }
    return {**report, "layers": layers, "accuracy": accuracy, "choice": choice}


def misses(found: Accuracy, choice: Mapping[str, Any]) -> tuple[str, ...]:
    """The limits that formats were chosen for and that ``found`` does not keep, in words."""
    least, most = choice.get("min_sqnr"), choice.get("max_drop")
    lines = []
    if least is not None and found.sqnr_db < least:
        lines.append(f"got {found.sqnr_db:.1f} dB, compiled for --min-sqnr {least:g}")
    if most is not None and found.top1_drop is not None and found.top1_drop > most:
        lines.append(f"{found.top1_drop:.1%} of the labels lost, compiled for --max-drop {most:g}")
    return tuple(lines)


def unchecked(found: Accuracy, choice: Mapping[str, Any]) -> tuple[str, ...]:
    """What these samples cannot tell."""
    if choice.get("max_drop") is None or found.top1_drop is not None:
        return ()
    return ("--max-drop was not checked: the samples have no `label`",)


def tried(found: Accuracy, ran: str) -> Group:
    """What `verify --samples` prints."""
    table = plain_table("output", ">SQNR")
    for name, sqnr in found.outputs.items():
        table.add_row(escape(name), f"{sqnr:.1f} dB")
    return Group(table, f"{words(found)}, on {found.samples} samples; the program ran {ran}")


def accuracy_json(found: Accuracy, ran: str, *, passed: bool) -> dict[str, Any]:
    """What `verify --samples` prints as one JSON document."""
    sqnr = {name: finite(sqnr) for name, sqnr in found.outputs.items()}
    return {"passed": passed, "ran": ran, "sqnr_db": sqnr, **document(found)}


def notes(found: FormatChoice, source: str, *, alike: bool = False) -> tuple[str, ...]:
    """What the user has to know of a choice of formats.  ``alike``: all samples are the same."""
    storage = found.fitted.formats
    filters = [form for key, form in storage.items() if not key.endswith(OUTPUT)]
    results = [form for key, form in storage.items() if key.endswith(OUTPUT)]
    lines = [
        f"stored in fewer bits: {_counted(filters, 'filters')}; {_counted(results, 'results')}",
        *measured_notes(found.accuracy, source, alike=alike),
    ]
    if not found.fitted.finished:
        lines.append(
            "the search for formats ended after its time: no choice is better by more than "
            f"{found.fitted.gap:.1%}"
        )
    return tuple(lines)


def _counted(forms: list[str], what: str) -> str:
    coarse = Counter(form for form in forms if form != FLOAT32)
    if not coarse:
        return f"no {what}"
    kinds = ", ".join(f"{count} {form}" for form, count in sorted(coarse.items()))
    return f"{sum(coarse.values())} of {len(forms)} {what} ({kinds})"

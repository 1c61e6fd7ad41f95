"""What storage formats could save where a budget is exceeded or nearly full.

Only of networks that are float32 throughout: where formats are in use, whoever chose them knew.
And what keeping the numbers of a quantised model in float32 is predicted to save of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgeconv.kernels.storage import formats
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.report import stored
from edgeconv.report.missing import calibration, compile_command
from edgeconv.report.network import Network, Report
from edgeconv.report.occupancy import covered
from edgeconv.report.suggestion import Certainty, Resource, Suggestion

MOST_LAYERS = 3  # that a suggestion is about
NEAR = 0.9  # of a budget in use from which it counts as nearly full
FILTER_FORMATS = ("flyte16", "int8", "int4")  # most bits first
RESULT_FORMATS = ("flyte16", "flyte8")
_PICKED = (
    "With `--min-sqnr DB` or `--max-drop FRACTION` in place of `--storage` every tensor gets a "
    "format of its own."
)


def filters_in_fewer_bits(network: Network) -> Iterator[Suggestion]:
    """The format of most bits with which flash is within its budget, or of all the fewest."""
    flash, missing = network.report["flash"], missing_bytes(network.report, "flash")
    if missing is None or any(map(_has_stored_filters, network.layers)):
        return
    saved = {form: stored.saved_by_filters(network.layers, form) for form in FILTER_FORMATS}
    form = _first_enough(saved, missing)
    yield Suggestion(
        f"Store filters as {form}",
        f"{_size(form)} for each weight instead of 4 bytes; a unit per output channel of int8 and "
        "int4 is counted. int4 saves less where a register tile has one filter. "
        f"{_others(saved, form)}{_enough(saved[form], missing)} {_PICKED}",
        saved[form],
        Resource.FLASH,
        Certainty.ESTIMATE,
        saved[form] / flash["total"],
        network.largest(lambda one: stored.saved_by_filters([one], form), MOST_LAYERS),
        _command(network.report, f"*={form}"),
    )


def results_in_fewer_bits(network: Network) -> Iterator[Suggestion]:
    """What formats would save of what is live at once between layers.  An estimate: some kernels
    only know float32, and those that know more may take other workspaces."""
    report, missing = network.report, missing_bytes(network.report, "ram")
    outer = {port["name"] for side in ("inputs", "outputs") for port in report[side]}
    inner = {one["output"] for one in network.layers} - outer
    coarse = any(stored.of_result(one) != FLOAT32 for one in network.layers)
    if missing is None or coarse or network.fullest is None:
        return
    _, used = network.fullest
    # What is left of every step's bytes, were the results among them smaller by `part`.
    tensors = {
        step: covered([one for one in live if one["name"] in inner])
        for step, live in used.live_at.items()
    }
    saved = {}
    for form in RESULT_FORMATS:
        part = 1 - formats()[form].bits / 32
        left = max(count - int(part * tensors[step]) for step, count in used.bytes_at.items())
        saved[form] = used.peak_bytes - left
    form = _first_enough(saved, missing)
    yield Suggestion(
        f"Store results of layers as {form}",
        f"{_size(form)} for each element between layers instead of 4 bytes, where the kernels on "
        "both sides can; their workspaces may change too. "
        f"{_others(saved, form)}{_enough(saved[form], missing)} {_PICKED}",
        saved[form],
        Resource.RAM,
        Certainty.ESTIMATE,
        saved[form] / report["ram"]["total"],
        (used.peak_step,) if 0 <= used.peak_step < len(network.layers) else (),
        _command(report, f"*:output={form}"),
    )


def faster_ways(report: Mapping[str, Any]) -> Iterator[str]:
    """One line for each of ``report["time"]["faster"]``: what it saves and what it costs."""
    time = report.get("time", {})
    for other in time.get("faster", ()):
        options = " ".join(f"--storage '{words}'" for words in other["storage"])
        fits = "" if other["fits"] else "; that exceeds a budget"
        yield (
            f"faster: integers are decoded as they are read, {time['predicted_ms']:.3g} ms "
            f"predicted; {options} {other['predicted_ms']:.3g} ms, for {other['more_ram']:,} bytes "
            f"more of RAM and {other['more_flash']:,} of flash{fits}"
        )


def faster_suggestions(report: Mapping[str, Any]) -> Iterator[Suggestion]:
    """Faster formats as advice: only what fits."""
    time = report.get("time", {})
    now = time.get("predicted_ms")
    for other, words in zip(time.get("faster", ()), faster_ways(report), strict=True):
        if other["fits"]:
            saved = now - other["predicted_ms"]
            options = [word for each in other["storage"] for word in ("--storage", each)]
            yield Suggestion(
                "Keep numbers in float32",
                f"{words.removeprefix('faster: ').capitalize()}.",
                saved,
                Resource.TIME,
                Certainty.ESTIMATE,
                saved / now,
                (),
                compile_command(report, *options),
            )


def missing_bytes(report: Report, kind: str) -> int | None:
    """Bytes by which a budget is exceeded, 0 where it is nearly full; None where there is room."""
    budget, total = report["budget"][kind], report[kind]["total"]
    if budget is None or total < NEAR * budget:
        return None
    return int(max(0, total - budget))


def _has_stored_filters(layer: stored.Layer) -> bool:
    return stored.of_filters(layer) not in ("", FLOAT32)


def _first_enough(saved: Mapping[str, int], missing: int) -> str:
    return next((form for form, size in saved.items() if size >= missing), list(saved)[-1])


def _size(form: str) -> str:
    bits = formats()[form].bits
    return f"{bits // 8} byte{'s' * (bits > 8)}" if bits >= 8 else f"{bits} bits"


def _others(saved: Mapping[str, int], form: str) -> str:
    rest = " and ".join(f"{size:,} as {one}" for one, size in saved.items() if one != form)
    return f"It would be {rest}."


def _enough(saved: int, missing: int) -> str:
    if not missing:
        return ""
    return f" The budget is exceeded by {missing:,}" + (
        "." if saved >= missing else ": more than that saves."
    )


def _command(report: Report, storage: str) -> str:
    """With samples: rounding learns from them, and what it costs is measured on them."""
    return compile_command(report, "--calibration", calibration(report), "--storage", storage)

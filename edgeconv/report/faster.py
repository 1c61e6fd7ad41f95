"""Ways to store a quantised model's numbers that are predicted to be faster, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgeconv.report.missing import compile_command
from edgeconv.report.suggestion import Certainty, Suggestion, Unit


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
    """The same as advice: only what fits."""
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
                Unit.TIME,
                Certainty.ESTIMATE,
                saved / now,
                (),
                compile_command(report, *options),
            )

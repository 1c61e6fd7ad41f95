"""``edgeconv quantise``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Group
from rich.markup import escape

from edgeconv.app.quantise import quantise_model
from edgeconv.app.terminal import ProgressDisplay, say, show
from edgeconv.base.errors import Exit
from edgeconv.codegen.c_names import prefix
from edgeconv.report.measured_accuracy import measured_notes
from edgeconv.report.quantised_layers import quantised_layers
from edgeconv.search.quantising.effort import EFFORTS


def run(
    *,
    model: Path,
    samples: Path,
    output: Path | None,
    effort: str,
    as_json: bool,
    **limits: Any,
) -> Exit:
    """Write the int8 model, and show what every layer lost and gained."""
    output = output or Path(f"{prefix(model.stem)}_int8.onnx")
    with ProgressDisplay() as progress:
        made = quantise_model(model, samples, output, effort=effort, progress=progress, **limits)
    held_back = EFFORTS[effort].held_back
    for note in (
        *made.notes,
        *measured_notes(made.accuracy, made.source, option="--samples", held_back=held_back),
    ):
        say(f"note: {note}")
    shown = Group(*quantised_layers(made.to_json()["layers"]), escape(str(made.path)))
    show(shown, made.to_json(), as_json=as_json)
    return Exit.OK

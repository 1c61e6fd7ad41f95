"""``edgeconv quantise``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Group
from rich.markup import escape

from edgeconv.app.quantise import ANY_BOARD, QuantisedModel, quantise_model
from edgeconv.app.terminal import ProgressDisplay, say, show
from edgeconv.base.errors import Exit
from edgeconv.codegen.c_names import prefix
from edgeconv.report.measured_accuracy import measured_notes
from edgeconv.report.narrow_tables import plain_table


def run(
    *,
    model: Path,
    samples: Path,
    output: Path | None,
    board: str | None,
    as_json: bool,
    **limits: Any,
) -> Exit:
    """Write the int8 model, and show what every layer lost and gained."""
    output = output or Path(f"{prefix(model.stem)}_int8.onnx")
    with ProgressDisplay() as progress:
        made = quantise_model(
            model, samples, output, board=board or ANY_BOARD, progress=progress, **limits
        )
    for note in (
        *made.notes,
        *measured_notes(made.accuracy, made.source, option="--samples"),
    ):
        say(f"note: {note}")
    show(_shown(made), made.to_json(), as_json=as_json)
    return Exit.OK


def _shown(made: QuantisedModel) -> Group:
    table = plain_table("layer", "", ">MACs", ">bytes", ">of", ">SQNR dB")
    for each in made.layers:
        table.add_row(
            escape(each.name),
            "int8" if each.int8 else "float32",
            f"{each.macs_share:.1%}",
            f"{each.bytes:,}",
            f"{each.bytes_before:,}",
            "-" if each.sqnr_db is None else f"{each.sqnr_db:.1f}",
        )
    now, before = sum(e.bytes for e in made.layers), sum(e.bytes_before for e in made.layers)
    whole = f"{sum(e.int8 for e in made.layers)} of {len(made.layers)} layers in int8"
    return Group(
        table,
        f"{whole}; {now:,} bytes of weights for {before:,}; {escape(str(made.path))}",
    )

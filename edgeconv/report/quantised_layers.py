"""What each layer of a network that was quantised to int8 lost and gained, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from edgeconv.report.narrow_tables import plain_table


def quantised_layers(layers: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """``layers``: as ``model.int8`` of a report has them; nothing where there are none."""
    if not layers:
        return []
    table = plain_table("layer", "", ">MACs", ">bytes", ">of", ">SQNR dB")
    for each in layers:
        table.add_row(
            escape(each["name"]),
            "int8" if each["int8"] else "float32",
            f"{each['macs_share']:.1%}",
            f"{each['bytes']:,}",
            f"{each['bytes_before']:,}",
            "-" if each["sqnr_db"] is None else f"{each['sqnr_db']:.1f}",
        )
    now, before = (sum(each[key] for each in layers) for key in ("bytes", "bytes_before"))
    whole = f"{sum(each['int8'] for each in layers)} of {len(layers)} layers in int8"
    return [table, f"{whole}; {now:,} bytes of weights for {before:,}"]

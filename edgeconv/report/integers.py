"""What of a quantised model is computed in integers, what is not, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape

from edgeconv.base.errors import EdgeconvError, UsageError


def integers_lines(report: Mapping[str, Any]) -> list[str]:
    """For a quantised model, how much of it is computed in integers."""
    found = report.get("integers")
    if not found or not found["of_macs"]:
        return []
    share = 100 * found["macs"] // found["of_macs"]
    macs = f"{found['macs']:,} of {found['of_macs']:,} multiply-accumulates ({share} %)"
    return [f"compute: {macs} in integers, {found['layers']} of {found['of_layers']} layers"]


def float32_lines(layers: Sequence[Mapping[str, Any]]) -> list[str]:
    """The layers of a quantised model that are computed in float32, each with its reason."""
    return [f"in float32: {escape(_line(layer))}" for layer in layers if "in_float32" in layer]


def require_int8(report: Mapping[str, Any]) -> None:
    """Raises EdgeconvError where a layer of a quantised model is computed in float32; UsageError
    where the model is not quantised."""
    name = report["model"]["file"]
    if "integers" not in report:
        raise UsageError(
            "--require-int8",
            where=name,
            rule="the model is not quantised",
            hint="--calibration X.npz with --storage '*:output=int8' quantises it to int8",
        )
    left = [layer for layer in report["layers"] if "in_float32" in layer]
    if not left:
        return
    found = report["integers"]
    raise EdgeconvError(
        "--require-int8",
        where=f"{name} on board {report['board']}",
        got=f"{len(left)} of {found['of_layers']} layers in float32",
        rule=_line(left[0]),
        hint="leave --require-int8 out",
        details=tuple(map(_line, left[1:])),
    )


def _line(layer: Mapping[str, Any]) -> str:
    found = layer["in_float32"]
    why = "; ".join(filter(None, (found["why"], found["way_out"])))
    return f"{layer['op']} {layer['name']!r}: {why}"

"""What verify found, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from edgeconv.report.numbers import finite
from edgeconv.run.verify import Difference, Verification
from edgeconv.run.verify.per_layer import PerLayer
from edgeconv.run.verify.second_opinion import Opinion


def verification_json(result: Verification) -> dict[str, Any]:
    """What `verify` prints as one JSON document; a difference that is not finite is null."""
    first = result.first_difference
    return {
        "passed": result.passed,
        "tolerance": result.tolerance,
        "promised": result.promised,
        "reference": result.runtime,
        "ran": result.ran,
        "outputs": [_difference_json(output) for output in result.outputs],
        "rounded": [_difference_json(output) for output in result.rounded],
        "per_layer": _per_layer_json(result.per_layer),
        "decided": [_difference_json(each) for each in result.read],
        "runs": result.runs,
        "unwritten": [asdict(each) for each in result.unwritten],
        "larger": [_difference_json(each) for each in result.larger],
        "windows": [_difference_json(each) for each in result.windows],
        "frames": [_difference_json(each) for each in result.frames],
        "layers": [
            {
                "name": layer.name,
                "op": layer.op,
                "skipped": layer.skipped or None,
                "difference": _difference_json(layer.difference) if layer.difference else None,
            }
            for layer in result.layers
        ],
        "first_difference": first.name if first else result.first_defect or None,
        "reordered": list(result.reordered),
        "refused": result.refused or None,
        "opinion": _opinion_json(result.opinion),
    }


def _opinion_json(opinion: Opinion | None) -> dict[str, Any] | None:
    if opinion is None:
        return None
    return {
        "engine": opinion.engine or None,
        "absent": opinion.absent or None,
        "program": [_difference_json(each) for each in opinion.program.values()],
        "reference": [_difference_json(each) for each in opinion.reference.values()],
    }


def _difference_json(difference: Difference) -> dict[str, Any]:
    measures = ("relative", "max_abs", "max_ulp", "sqnr_db")
    return {
        "name": difference.name,
        **{measure: finite(getattr(difference, measure)) for measure in measures},
        "step": difference.spacing or None,
        "worst": list(difference.worst),
        **({"shapes": [list(each) for each in difference.shapes]} if difference.shapes else {}),
    }


def _per_layer_json(per_layer: PerLayer | None) -> dict[str, Any] | None:
    if per_layer is None:
        return None
    return {
        "differences": {
            name: _difference_json(found) for name, found in per_layer.differences.items()
        },
        "ties": per_layer.ties,
        "numbers": per_layer.numbers,
        "in_float64": list(per_layer.in_float64),
        "unknown": per_layer.unknown,
        "exact": {name: asdict(found) for name, found in per_layer.exact.items()},
        "summed": {name: asdict(found) for name, found in per_layer.summed.items()},
    }

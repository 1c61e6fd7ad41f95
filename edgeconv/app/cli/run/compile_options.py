"""What the options of ``compile`` and ``explain`` ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeconv.base.errors import UsageError
from edgeconv.model.frontend.cut import Cut
from edgeconv.search.options import ALL_INT8, CompileOptions


def compile_options(
    *,
    input: tuple[str, ...],  # noqa: A002 - as the option is called
    output: tuple[str, ...],
    input_values: Mapping[str, str],
    weights: str,
    objective: str | None,
    io: str | None,
    code: str | None,
    calibration: Path | None,
    int8: Path | None,
    storage: Mapping[str, str],
    metric: str | None,
    **others: Any,
) -> CompileOptions:
    """What `model_options` were given.  ``others`` are fields of `CompileOptions` as they are.

    Raises EdgeconvError (exit status 2): samples both to quantise by and to choose formats by,
    a metric of no network that is quantised.
    """
    if int8 and calibration:
        raise UsageError(
            "--int8 together with --calibration",
            rule="one file of samples is what the network is quantised and measured by",
            hint="leave --calibration out",
        )
    if metric and not int8:
        raise UsageError(
            "--metric without --int8",
            rule="it is the accuracy of a network that is quantised to int8",
            hint="give the samples with --int8 X.npz",
        )
    return CompileOptions(
        cut=Cut(tuple(input), tuple(output), tuple(sorted(input_values.items()))),
        weights_as_c=weights == "c",
        objective=objective or "",
        io=io or "",
        code=code or "",
        calibration=int8 or calibration,
        int8=int8 is not None,
        metric=metric or "",
        storage={**ALL_INT8, **storage} if int8 else storage,
        **others,
    )

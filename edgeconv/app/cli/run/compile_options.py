"""What the options of ``compile`` and ``explain`` ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeconv.model.frontend.cut import Cut
from edgeconv.search.options import CompileOptions


def compile_options(
    *,
    input: tuple[str, ...],  # noqa: A002 - as the option is called
    output: tuple[str, ...],
    input_values: Mapping[str, str],
    weights: str,
    objective: str | None,
    io: str | None,
    code: str | None,
    **others: Any,
) -> CompileOptions:
    """What `model_options` were given.  ``others`` are fields of `CompileOptions` as they are."""
    return CompileOptions(
        cut=Cut(tuple(input), tuple(output), tuple(sorted(input_values.items()))),
        weights_as_c=weights == "c",
        objective=objective or "",
        io=io or "",
        code=code or "",
        **others,
    )

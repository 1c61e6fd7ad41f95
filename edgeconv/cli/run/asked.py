"""What the options of ``compile`` and ``explain`` ask for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from edgeconv.arguments import named
from edgeconv.frontend.cut import Cut
from edgeconv.ir.layout import Shape
from edgeconv.options import CompileOptions


def wanted(
    *,
    model: Path,
    board: str,
    name: str,
    input: Iterable[str],  # noqa: A002 - as the option is called
    output: Iterable[str],
    rename: Iterable[tuple[str, str]],
    input_shape: Iterable[tuple[str, Shape]],
    algorithm: Iterable[tuple[str, str]],
    storage: Iterable[tuple[str, str]],
    weights: str,
    objective: str | None,
    **others: Any,
) -> CompileOptions:
    """What `model_options.parameters` were given.  ``others`` are fields of `CompileOptions` as
    they are."""
    return CompileOptions(
        model=model,
        board=board,
        name=name,
        cut=Cut(tuple(input), tuple(output)),
        renames=named("--rename", rename),
        input_shapes=named("--input-shape", input_shape),
        algorithms=named("--algorithm", algorithm),
        storage=named("--storage", storage),
        weights_as_c=weights == "c",
        objective=objective or "",
        **others,
    )

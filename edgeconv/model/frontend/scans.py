"""What a Scan says of the sequences that it is given: held to what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgeconv.ir.layout import Shape
from edgeconv.model.frontend.visit import Visit


def each(visit: Visit, attrs: Mapping[str, Any], name: str, count: int) -> list[int]:
    """An attribute of ``count`` numbers, of which the default is 0."""
    given = list(attrs.get(name) or [0] * count)
    if len(given) != count:
        raise visit.invalid(f"{len(given)} {name} of {count}", "there is one for each")
    return given


def batch_of(visit: Visit, shapes: Sequence[Shape], count: int) -> tuple[int, int]:
    """The batch of a Scan before opset 9: the first dimension of all that it is given, and the
    second of the last ``count``, which it scans."""
    scanned = shapes[-count:]
    batches = {shape[:1] for shape in shapes}
    lengths = {shape[1:2] for shape in scanned}
    if len(batches) > 1 or len(lengths) > 1 or not all(shapes) or () in lengths:
        got = f"inputs of {', '.join(str(list(shape)) for shape in shapes)}"
        raise visit.invalid(got, "all have one batch, what is scanned one length behind it")
    return scanned[0][0], scanned[0][1]

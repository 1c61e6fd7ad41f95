"""Outputs of which a dimension is data-dependent, as the program has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.run.build.project import Port
from edgeconv.run.verify.texts import as_stored

Values = npt.NDArray[Any]


def filled(values: Mapping[str, Values], outputs: Iterable[Port]) -> dict[str, Values]:
    """``values`` of the model, which are as large as what it finds, with zeros up to the size that
    a program has room for, and the counts.  What there is no room for is left out, as the program
    does with it; and strings are as the program has them."""
    ports = list(outputs)
    found = as_stored(values, ports)
    for port in ports:
        if port.data_dependent is None or port.name not in found:
            continue
        axis, count = port.data_dependent
        value, room = found[port.name], port.shape[axis]
        there = min(value.shape[axis], room)
        pads = [(0, 0)] * value.ndim
        pads[axis] = (0, room - there)
        found[port.name] = np.pad(np.take(value, range(there), axis), pads)
        found[count] = np.array([there], np.int64)
    return found


def of_fixed_shape(values: Mapping[str, Values], outputs: Iterable[Port]) -> dict[str, Values]:
    """``values`` of the model without those of which no tensor of a program has the shape."""
    data_dependent = {port.name for port in outputs if port.data_dependent}
    return {name: value for name, value in values.items() if name not in data_dependent}


def as_found(values: Mapping[str, Values], outputs: Iterable[Port]) -> dict[str, Values]:
    """Outputs of a program as the model has them: as large as what was found, without counts."""
    counts = {port.data_dependent[1] for port in outputs if port.data_dependent}
    found = {name: value for name, value in values.items() if name not in counts}
    for port in outputs:
        if port.data_dependent and port.name in found:
            axis, count = port.data_dependent
            found[port.name] = np.take(found[port.name], range(int(values[count][0])), axis)
    return found


def alike(value: Values, other: Values) -> Values:
    """``value``, or, where it is not as large as ``other``, what differs from all of that."""
    if value.shape == other.shape:
        return value
    if value.dtype.kind == "f":
        return np.full(other.shape, np.nan, value.dtype)
    return ~other if other.dtype.kind in "iub" else other + 1

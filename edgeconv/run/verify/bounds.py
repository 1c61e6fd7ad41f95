"""Larger inputs, for the bounds of a network that ordinary ones do not reach.

The upper bound of a Clip may be beyond all sums of seeded inputs: then a program with another one,
or with none, computes the same.  Larger numbers reach it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.model.frontend import reference_outputs
from edgeconv.run.build.loading import graph_of
from edgeconv.run.build.project import Project
from edgeconv.run.verify.compare import Difference, compare
from edgeconv.run.verify.second_opinion import second_opinion

# What larger numbers make of rounding, as exponentials and powers do, is no defect; a bound that is
# not the model's is off by more.
TOLERANCE = 0.01
LARGER = 16.0  # times a number of a float input
_BOUNDED = frozenset({"clip", "hard_sigmoid", "hard_swish"})
Arrays = Mapping[str, npt.NDArray[Any]]


def larger(feeds: Arrays) -> dict[str, npt.NDArray[Any]]:
    """The numbers of ``feeds`` in reverse order, and floats `LARGER` times as large."""
    found = {}
    for name, value in feeds.items():
        other = value.reshape(-1)[::-1].reshape(value.shape)
        integer = value.dtype.kind in "iub"
        found[name] = other if integer else np.multiply(other, LARGER).astype(value.dtype)
    return found


def has_bounds(project: Project, model: Path) -> bool:
    """Whether the network of floats has bounds, and outputs of which sizes are known."""
    if any(port.data_dependent for port in project.outputs):
        return False
    return any(node.epilogue.before.kind in _BOUNDED for node in graph_of(project, model).nodes)


def compare_larger(
    project: Project, model: Path, feeds: Arrays, got: Arrays
) -> tuple[Difference, ...]:
    """What the program makes of larger inputs, ``got`` of ``feeds``, against the model.

    Left out are outputs that overflow, and those that float64 finds as near as float32 comes, since
    larger numbers enlarge rounding, too.  Raises as `reference_outputs`.
    """
    wanted = tuple(port.name for port in project.outputs)
    ask = partial(reference_outputs, model, dict(feeds), wanted, cut_at=project.cut)
    reference = ask().values
    judged = [
        compare(name, got[name], reference[name])
        for name in wanted
        if reference[name].shape == got[name].shape and np.isfinite(reference[name]).all()
    ]
    if all(each.within(TOLERANCE) for each in judged):
        return tuple(judged)
    opinion, _ = second_opinion(
        lambda engine: ask(engine=engine), feeds, got, reference, project.outputs, TOLERANCE
    )
    return tuple(
        each
        for each in judged
        if each.within(TOLERANCE)
        or not (opinion.agrees(each.name, TOLERANCE) or opinion.same_order(each.name))
    )

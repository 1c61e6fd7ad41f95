"""Outputs that depend on decisions: where they differ, what is to be shown of them instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.decisions import Decisions, decisions
from edgeconv.model.frontend import AS_WRITTEN, IN_FLOAT64, ReferenceRun
from edgeconv.run.build.loading import graph_of
from edgeconv.run.build.project import Project
from edgeconv.run.verify.compare import Difference, compare
from edgeconv.run.verify.layers import Steps, compare_layers, original_name
from edgeconv.run.verify.second_opinion import is_rounding, largest_of


def decisions_of(project: Project, model: Path) -> Decisions:
    """The decisions of the network that ``project`` was compiled from.  Raises EdgeconvError as
    `load`."""
    return decisions(graph_of(project, model))


def explains(found: Decisions, outputs: Sequence[Difference], tolerance: float) -> bool:
    """Whether every output that is beyond ``tolerance`` depends on a decision."""
    return all(each.within(tolerance) or each.name in found.decided for each in outputs)


def in_front_of(
    found: Decisions,
    layers: Sequence[Mapping[str, Any]],
    trace: Path,
    reference: Mapping[str, npt.NDArray[np.generic]],
    steps: Steps = (),
) -> tuple[Difference, ...]:
    """What decisions read, as far as the program and the model have it, against the model."""
    names = frozenset(found.read)
    compared = (each.difference for each in compare_layers(layers, trace, reference, steps=steps))
    return tuple(each for each in compared if each and each.name in names)


def held_to_float64(
    read: Sequence[Difference],
    found: Decisions,
    layers: Sequence[Mapping[str, Any]],
    trace: Path,
    feeds: Mapping[str, npt.NDArray[Any]],
    reference: Mapping[str, npt.NDArray[Any]],
    ask: Callable[[str], ReferenceRun],
    tolerance: float,
    steps: Steps = (),
) -> tuple[Difference, ...]:
    """``read``, of which what is beyond ``tolerance`` of the ``reference`` is compared with the
    model in float64 instead: where the program is within it there, and the reference is off by
    rounding.

    ``ask``: has an engine of `model.frontend.reference_outputs` run the model on ``feeds``.
    """
    if all(each.within(tolerance) for each in read):
        return tuple(read)
    try:
        wide = ask(IN_FLOAT64).values
    except EdgeconvError:  # which runs fewer models
        return tuple(read)
    written: Mapping[str, npt.NDArray[Any]] = {}
    with suppress(EdgeconvError):
        written = ask(AS_WRITTEN).values
    largest = largest_of((*feeds.values(), *wide.values()))
    own = {str(layer["output"]): original_name(layer) for layer in layers}
    again = {each.name: each for each in in_front_of(found, layers, trace, wide, steps)}

    def settled(each: Difference) -> Difference:
        name, near = own[each.name], again.get(each.name)
        if each.within(tolerance) or near is None or not near.within(tolerance):
            return each
        theirs = compare(name, reference[name], wide[name])
        others = [compare(name, written[name], wide[name])] if name in written else []
        return near if is_rounding(theirs, largest, others) else each

    return tuple(map(settled, read))

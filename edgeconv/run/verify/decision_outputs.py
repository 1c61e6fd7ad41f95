"""Outputs that depend on decisions: where they differ, what is to be shown of them instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.decisions import Decisions, decisions
from edgeconv.run.build.loading import graph_of
from edgeconv.run.build.project import Project
from edgeconv.run.verify.compare import Difference
from edgeconv.run.verify.layers import Steps, compare_layers


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

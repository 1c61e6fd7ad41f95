"""Seeded inputs, and what a runtime answers to them, in one file.

Needs numpy alone: it is read where edgeconv is, and written where tools are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

RUNS = 10
Arrays = dict[str, Any]


def real_inputs(shape: Sequence[int], run: int) -> Any:
    """Numbers like those of calibration, N(0, 1), of the run with that number."""
    drawn = np.random.default_rng(1000 + run).standard_normal(tuple(shape))
    return drawn.astype(np.float32)


def save(path: Path, answers: Callable[[int], tuple[Arrays, Arrays]]) -> None:
    """Write inputs and outputs of `RUNS` runs by ``run/in|out/name``."""
    found: Arrays = {}
    for run in range(RUNS):
        given, made = answers(run)
        found |= {f"{run}/in/{name}": value for name, value in given.items()}
        found |= {f"{run}/out/{name}": value for name, value in made.items()}
    np.savez(path, **found)


def load(path: Path) -> list[tuple[Arrays, Arrays]]:
    """Inputs and outputs of each run, by name."""
    found: dict[str, tuple[Arrays, Arrays]] = defaultdict(lambda: ({}, {}))
    with np.load(path) as stored:
        for key in stored:
            run, way, name = key.split("/", 2)
            found[run][way == "out"][name] = stored[key]
    return [found[run] for run in sorted(found, key=int)]


def difference(
    got: Sequence[Mapping[str, Any]], want: Sequence[Arrays], spacing: Mapping[str, float]
) -> tuple[float, float, bool]:
    """How far the outputs of all runs are at most, which share of their numbers differs, and
    whether the former is in steps: of integers, and of outputs whose grids have the ``spacing``
    there; of others it is absolute, and numbers differ that are a 100,000th of the largest apart,
    the rounding of float32."""
    farthest, differ, total, in_steps = 0.0, 0, 0, False
    for mine, theirs in zip(got, want, strict=True):
        for name, values in theirs.items():
            a, b = (np.float64(each).reshape(-1) for each in (mine[name], values))
            whole = np.asarray(values).dtype.kind in "iu"
            step = 1.0 if whole else spacing.get(name, 0.0)
            apart = np.abs(a - b) / (step or 1.0)
            least = 0.5 if step else 1e-5 * float(np.abs(b).max(initial=0.0))
            in_steps |= bool(step)
            farthest = max(farthest, float(apart.max(initial=0.0)))
            differ += int((apart > least).sum())
            total += apart.size
    return farthest, differ / max(1, total), in_steps

"""Runs that start from other bytes in the arena and in the outputs: these must not matter.

A byte that is read and that nobody wrote is 0 in a program's first run, which is what padding and
sums are mostly right with.  So the program runs from garbage: from NaN of every floating-point
type, which are the largest unsigned integers, then from large numbers and the least signed integers
(``fill`` of main.c), and from what a run on other inputs has left.  For the same inputs all must
give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.ir.graph import CHECK
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.project import Project
from edgeconv.run.verify.bounds import larger
from edgeconv.run.verify.inputs import tensor_bytes
from edgeconv.run.verify.program import Outputs, run_sets
from edgeconv.target.board import RunKind

Array = npt.NDArray[np.generic]
_QUICK_MACS = 1e7  # what an emulator runs in a second or few


@dataclass(frozen=True, slots=True)
class Unwritten:
    """An output of which bytes depend on what memory held before the run.

    ``index``: of the first such element, () of a scalar, which is one of ``values`` after one run
    and the other after another.  ``elements`` of ``of`` are so.
    """

    name: str
    index: tuple[int, ...]
    values: tuple[str, str]
    elements: int
    of: int

    def words(self) -> str:
        """What it means."""
        at = f"[{', '.join(map(str, self.index))}]"
        return (
            f"element {at} of output {self.name!r} is {self.values[0]}, or {self.values[1]} where "
            f"arena and outputs held other bytes before the run ({self.elements} of {self.of} "
            "elements): the program reads bytes that nobody wrote, or leaves some of the output out"
        )


@dataclass(frozen=True, slots=True)
class Started:
    """The outputs of the first run and what was printed; ``runs`` of the same inputs, from other
    bytes each, and the outputs that depend on them.  ``between``: other inputs that were run in
    between, and the outputs; None where there were none."""

    outputs: Outputs
    printed: str
    runs: int
    unwritten: tuple[Unwritten, ...]
    between: tuple[Mapping[str, Array], Outputs] | None = None


def run_from_garbage(
    project: Project, binary: Binary, feeds: Mapping[str, Array], *, layers: bool = False
) -> Started:
    """Run the program on ``feeds`` from several kinds of garbage.

    Then also after a run on larger numbers (`bounds`), but for large networks elsewhere than on
    this machine, where each run may take long.  ``layers``: build/layers.bin has those of the first
    run.  Raises as ``run_sets``.
    """
    asked = [True, True]
    # Sizes found in other inputs need not be equal where the model takes them to be.
    checks = any(layer["op"] == CHECK for layer in project.report["layers"])
    if is_quick(project, binary) and not checks:
        asked += [False, True]
    given = tensor_bytes(feeds, project.inputs)
    between = larger(feeds)
    other = tensor_bytes(between, project.inputs)
    path = project.run_file
    path.write_bytes(b"".join(given if same else other for same in asked))
    try:
        found, printed = run_sets(project, binary, len(asked), layers=layers, inputs=path)
    finally:
        if not project.is_firmware:  # whose program reads it again, in a debugger
            path.unlink()
    first, *others = [outputs for outputs, same in zip(found, asked, strict=True) if same]
    ran = next((outputs for outputs, same in zip(found, asked, strict=True) if not same), None)
    return Started(
        first,
        printed,
        1 + len(others),
        unwritten(first, others),
        None if ran is None else (between, ran),
    )


def is_quick(project: Project, binary: Binary) -> bool:
    """Whether a run takes no more than some seconds."""
    native = binary.board.run.kind is RunKind.NATIVE
    return native or float(project.report["model"]["macs"]) <= _QUICK_MACS


def unwritten(
    first: Mapping[str, Array], others: Sequence[Mapping[str, Array]]
) -> tuple[Unwritten, ...]:
    """The outputs of which some bytes are not the same in all runs."""
    found = []
    for name, value in first.items():
        for other in others:
            differ = (_bytes(value) != _bytes(other[name])).any(axis=1)
            if not differ.any():
                continue
            at = int(np.argmax(differ))
            index = tuple(int(i) for i in np.unravel_index(at, value.shape)) if value.ndim else ()
            values = str(value.reshape(-1)[at]), str(other[name].reshape(-1)[at])
            found.append(Unwritten(name, index, values, int(differ.sum()), value.size))
            break
    return tuple(found)


def _bytes(value: Array) -> npt.NDArray[np.uint8]:
    """The bytes of each element."""
    whole = np.ascontiguousarray(value).reshape(-1)
    return whole.view(np.uint8).reshape(value.size, value.itemsize)

"""How a case ended, and what is compared with what it states."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph
from tests.onnx_suite.cases import Array, Case
from tests.onnx_suite.stored import of_model

PASS, WRONG, CRASH, REFUSED = "pass", "wrong", "crash", "refused"
_BFLOAT16_RTOL = 2**-6  # as ONNX's own runner has it: its last place, twice


@dataclass(frozen=True)
class Outcome:
    """``kind``: one of the four above; ``reasons``: why it is no pass, a line for each."""

    name: str
    kind: str
    reasons: tuple[str, ...] = ()


def kind_of(detail: str) -> str:
    """A reason without the names of nodes and numbers of this case."""
    text = re.sub(r": \d+ (?:node|tensor)s? \([^)]*\)", "", detail)
    text = re.sub(r"c\d+\.onnx|/\S+/", "", text)
    return re.sub(r"\[[-\d, ]*\]", "[..]", text)


def not_compiled(case: Case, error: Exception) -> Outcome:
    """Refused, with every reason, or ended by an error that is none of ours."""
    if isinstance(error, EdgeconvError):
        return Outcome(case.name, REFUSED, tuple(map(kind_of, error.details or (str(error),))))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return Outcome(case.name, CRASH, (f"{type(error).__name__} in {where}: {error}"[:200],))


def differences(
    graph: Graph, made: Mapping[str, Array], wanted: Mapping[str, Array], case: Case
) -> str:
    """In words, of the outputs of a program; "" where there are none beyond the tolerances.

    Of what is data-dependent as much is compared as its count says, and nothing else may be
    counted; strings by what they say.
    """
    found = of_model(graph, made)
    if len(found) != len(wanted):
        return f"{len(found)} outputs, not {len(wanted)}"
    for (name, got), want in zip(found.items(), wanted.values(), strict=True):
        if wrong := difference(got, want, case):
            return f"{name}: {wrong}"
    return ""


def difference(got: Array, want: Array | None, case: Case) -> str:
    """In words; "" where there is none beyond the case's tolerances."""
    if want is None:
        return "compared with no tensor"
    if want.dtype.kind == "O" and got.shape == want.shape:
        wrong = int((got != want).sum())
        return f"{wrong} of {want.size} strings differ" if wrong else ""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape}, not {want.dtype} {want.shape}"
    if want.dtype.kind in "biu":
        wrong = int((got != want).sum())
        return f"{wrong} of {want.size} integers differ" if wrong else ""
    rtol = max(case.rtol, _BFLOAT16_RTOL) if want.dtype.name == "bfloat16" else case.rtol
    wide, right = got.astype(np.float64), want.astype(np.float64)
    close = np.isclose(wide, right, rtol, case.atol, equal_nan=True)
    if close.all():
        return ""
    worst = np.abs(wide - right)[~close]
    return f"{int((~close).sum())} of {want.size} numbers differ, by up to {worst.max():g}"

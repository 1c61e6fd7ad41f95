"""Accuracy by a function of the user's: from outputs to a number, the higher the better."""

from __future__ import annotations

import importlib
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError, UsageError

Array = npt.NDArray[Any]
# Of the outputs by name, (S, *shape) of S samples, those of the float32 network, and the arrays of
# the samples' file that are no inputs (`label`, and what begins with `label:`, without that).
MetricFunction = Callable[[Mapping[str, Array], Mapping[str, Array], Mapping[str, Array]], float]
_OPTION = "--metric"
_SHOWN = 60  # characters of what is no number


@dataclass(frozen=True, slots=True)
class Metric:
    """``function`` and what it is called; a share of its value in float32 is what may be lost."""

    name: str
    function: MetricFunction

    def value(
        self, outputs: Mapping[str, Array], real: Mapping[str, Array], labels: Mapping[str, Array]
    ) -> float:
        """The number that the function makes of ``outputs``.  Raises EdgeconvError: it raises, or
        what it returns is no finite number."""
        try:
            found: Any = self.function(*map(_copied, (outputs, real, labels)))
        except (Exception, SystemExit) as error:  # of whatever kind: it is the user's
            raise EdgeconvError(
                f"{_OPTION} failed",
                where=_place(error, self.name),
                got=" ".join(f"{type(error).__name__}: {error}".split()),
                rule="it gets outputs, those of float32 and labels, each a dict of arrays",
            ) from error
        number = _number(found)
        if number is None or not math.isfinite(number):
            raise EdgeconvError(
                f"{_OPTION} returned no number",
                where=self.name,
                got=repr(found)[:_SHOWN],
                rule="accuracy is a finite number, the higher the better",
            )
        return number


def _copied(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays that a function may write to."""
    return {name: array.copy() for name, array in arrays.items()}


def _number(found: Any) -> float | None:
    """A number, or an array of one; None of anything else, text that looks like one included."""
    array = (
        np.asarray(found) if isinstance(found, (bool, int, float, np.generic, np.ndarray)) else None
    )
    if array is None or array.size != 1 or array.dtype.kind not in "biuf":
        return None
    return float(array.reshape(()))


def _place(error: BaseException, name: str) -> str:
    """The function, and the line of it, or of what it called, that failed."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return f"{name}, {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else name


def metric_of(given: str | MetricFunction | None) -> Metric | None:
    """The metric that ``module:function`` names, of the working directory or installed, or that a
    function is.  Raises EdgeconvError (exit status 2): no such module or function."""
    if given is None:
        return None
    if not isinstance(given, str):
        if not callable(given):
            raise UsageError(_OPTION, got=repr(given)[:_SHOWN], rule="it is a function")
        return Metric(getattr(given, "__name__", type(given).__name__), given)
    module, colon, function = given.partition(":")
    if not (module and colon and function):
        raise UsageError(_OPTION, got=repr(given), rule="MODULE:FUNCTION, as in scores:f1")
    with _beside(Path.cwd()):
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise UsageError(
                f"{_OPTION}: no such module",
                got=repr(error.name or module),
                hint="name one of the working directory, or one that is installed",
            ) from error
        except (Exception, SystemExit) as error:  # of whatever kind: it is the user's
            got = " ".join(f"{type(error).__name__}: {error}".split())
            raise UsageError(
                f"{_OPTION} cannot be imported", where=_place(error, module), got=got
            ) from error
    for part in function.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        rule = "it is a function of that module"
        raise UsageError(
            f"{_OPTION}: no such function", where=module, got=repr(function), rule=rule
        )
    return Metric(given, found)


@contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """Modules of ``folder`` can be imported, as by `python -m`."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))

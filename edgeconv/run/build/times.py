"""The times that an emitted program prints: of whole runs, and of layers as they are traced."""

from __future__ import annotations

import re

_RUN = re.compile(r"^run ([0-9]{1,9}\.[0-9]{9})$", re.MULTILINE)
_LAYER = re.compile(r"^layer ([0-9]{1,9}) ([0-9]{1,9}\.[0-9]{9})$", re.MULTILINE)


def of_runs(text: str) -> list[float]:
    """Seconds of every run."""
    return [float(seconds) for seconds in _RUN.findall(text)]


def of_layers(text: str) -> list[list[tuple[int, float]]]:
    """For every run the layers in the order in which they ended, and seconds of each."""
    during = _RUN.split(text)[:-1:2]
    return [[(int(n), float(seconds)) for n, seconds in _LAYER.findall(run)] for run in during]

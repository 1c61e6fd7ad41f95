"""What was measured of the running machine, once: a small file in the user's cache.

It can only be missing: what cannot be read, is damaged or says what no measurement does counts for
nothing, and no command fails by it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from edgeconv import regular_file, whole_file

SCHEMA = 1  # of the file; another one is none
# Vectors and broadcasts that a register tile loads while the core multiplies and adds a vector: to
# a power of two, so that two measurements of one machine agree.
RATES = (0.25, 0.5, 1.0, 2.0, 4.0)
_MOST_BYTES = 1 << 16


def path() -> Path:
    """Of the file; raises RuntimeError where there is neither XDG_CACHE_HOME nor a home."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    folder = cache if cache.is_absolute() else Path.home() / ".cache"
    return folder / "edgeconv" / "host.json"


def processor(cpu: str, isa: str) -> str:
    """What rates are kept by."""
    return f"{cpu}, {isa}"


def read() -> Mapping[str, float | None]:
    """Of each `processor` the loads per vector multiply-add; None where that cannot be measured."""
    with suppress(OSError, RuntimeError, ValueError, RecursionError):
        with regular_file.opened(path()) as file:
            found = json.loads(file.read(_MOST_BYTES))
        if isinstance(found, dict) and found.get("schema") == SCHEMA:
            rates = found.get("loads_per_multiply_add")
            if isinstance(rates, dict):
                return {k: v for k, v in rates.items() if v is None or _is_rate(v)}
    return {}


def keeps() -> bool:
    """Whether anything can be kept."""
    with suppress(OSError, RuntimeError):
        folder = path().parent
        folder.mkdir(parents=True, exist_ok=True)
        return os.access(folder, os.W_OK | os.X_OK)
    return False


def keep(key: str, rate: float | None) -> None:
    """Note ``rate`` of a `processor` beside those of others; nothing where it cannot be kept."""
    rates = {**read(), key: rate}
    text = json.dumps({"schema": SCHEMA, "loads_per_multiply_add": rates}, indent=1) + "\n"
    with suppress(OSError, RuntimeError):
        where = path()
        where.parent.mkdir(parents=True, exist_ok=True)
        whole_file.replace(where, text)


def rounded(rate: float) -> float:
    """The nearest of RATES, by ratio."""
    return min(RATES, key=lambda each: max(each / rate, rate / each))


def _is_rate(value: object) -> bool:
    return type(value) is float and value in RATES

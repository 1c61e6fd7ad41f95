"""What was measured of the running machine, once: a small file in the user's cache.

It can only be missing: what cannot be read, is damaged or says what no measurement does counts for
nothing, and no command fails by it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from edgeconv.base import regular_file, sizes, user_cache, whole_file
from edgeconv.target.cache import Cache

SCHEMA = 4  # of the file; another one is none
# Vectors and broadcasts that a register tile loads while the core multiplies and adds a vector, and
# vectors that it multiplies and adds in a cycle: to a power of two, so that two measurements of one
# machine agree.
RATES = (0.25, 0.5, 1.0, 2.0, 4.0)
# Prefetching pays if it takes so many parts of the time without; what it takes on cores that it
# suits is .71 to .77 (Zen 5), so that two measurements agree.
FETCHING_PAYS = 0.9
# What all else is rounded to, a step at a time.  Caches answer by the core's clock, so that their
# bandwidths come out nearly the same every time.  Of memory, which is shared, and of latencies only
# the order of magnitude does: 3 bytes a cycle, 6, 12; numbers between those that boards state.
CACHE_BYTES, MEMORY_BYTES, CYCLES = (1.0, math.sqrt(2)), (3.0, 2.0), (3.0, 2.0)
_SINGLE, _LISTS = ("loads_per_multiply_add", "multiply_adds_per_cycle"), ("bandwidth", "latency")
_YES_OR_NO = ("halves", "prefetch_far")
_MOST_BYTES = 1 << 16
_LEAST, _MOST = 2.0**-10, 2.0**20  # bytes per cycle, and cycles, of any machine


@dataclass(frozen=True, slots=True)
class OwnRates:
    """The rates of one core, each number rounded.

    ``loads_per_multiply_add``: vectors and broadcasts that register tiles load while it multiplies
    and adds a vector.  ``multiply_adds_per_cycle``: of vectors.  ``bandwidth``: bytes per cycle
    that it reads in a row out of every cache from the second on, and out of memory; ``latency``:
    cycles from load to use, likewise; both empty where the system tells of no caches or they could
    not be measured.  ``halves``: it computes a vector in two halves.  ``prefetch_far``:
    what register tiles read from memory takes less time if it is prefetched, although memory
    brings it more slowly than it is multiplied.
    """

    loads_per_multiply_add: float
    multiply_adds_per_cycle: float
    bandwidth: tuple[float, ...] = ()
    latency: tuple[float, ...] = ()
    halves: bool = False
    prefetch_far: bool = False

    def measured(self, caches: Sequence[Cache]) -> tuple[Cache, ...]:
        """``caches``, whose speeds nobody states, with theirs."""
        if len(self.bandwidth) != len(caches):
            return tuple(caches)
        behind = zip(caches[1:], self.bandwidth[:-1], self.latency[:-1], strict=True)
        return (
            *caches[:1],
            *(replace(each, bandwidth=b, latency=round(cycles)) for each, b, cycles in behind),
        )

    def described(self, caches: Sequence[Cache]) -> str:
        """In words, for one line."""
        halves = " in halves" if self.halves else ""
        far = ", operands from memory prefetched" if self.prefetch_far else ""
        text = (
            f"{self.multiply_adds_per_cycle:g} multiply-adds of vectors a cycle"
            f"{halves}, {self.loads_per_multiply_add:g} loads to each{far}"
        )
        if len(self.bandwidth) != len(caches):
            return text
        names = [*(f"L{cache.level}" for cache in caches[1:]), "memory"]
        read = zip(names, self.bandwidth, strict=True)
        return f"{text}, bytes a cycle {', '.join(f'{value:g} ({name})' for name, value in read)}"

    @property
    def memory_bandwidth(self) -> float | None:
        """Bytes per cycle."""
        return self.bandwidth[-1] if self.bandwidth else None

    @property
    def memory_cycles(self) -> int | None:
        """From a load that no cache answers to its use."""
        return round(self.latency[-1]) if self.latency else None


def path() -> Path:
    """The path of the file; raises RuntimeError where there is neither XDG_CACHE_HOME nor a
    home."""
    return user_cache.folder() / "host.json"


def processor(cpu: str, isa: str, caches: Sequence[Cache]) -> str:
    """What rates are kept by: processors of one name differ in their caches."""
    return ", ".join((cpu, isa, *(sizes.exact(cache.size) for cache in caches)))


def read() -> Mapping[str, OwnRates | None]:
    """The rates of each `processor`; None where they cannot be measured."""
    with suppress(OSError, RuntimeError, ValueError, RecursionError):
        with regular_file.opened(path()) as file:
            found = json.loads(file.read(_MOST_BYTES))
        if isinstance(found, dict) and found.get("schema") == SCHEMA:
            kept = found.get("processors")
            if isinstance(kept, dict):
                return {key: _rates(value) for key, value in kept.items() if _is_one(value)}
    return {}


def of(cpu: str, isa: str, caches: Sequence[Cache]) -> OwnRates | None:
    """What is known of a processor."""
    return read().get(processor(cpu, isa, caches))


def keeps() -> bool:
    """Whether anything can be kept."""
    with suppress(OSError, RuntimeError):
        folder = path().parent
        folder.mkdir(parents=True, exist_ok=True)
        return os.access(folder, os.W_OK | os.X_OK)
    return False


def keep(key: str, rates: OwnRates | None) -> None:
    """Note what was measured of a `processor` beside that of others; nothing where it cannot be
    kept."""
    kept = {**read(), key: rates}
    found = {each: own and asdict(own) for each, own in kept.items()}
    text = json.dumps({"schema": SCHEMA, "processors": found}, indent=1) + "\n"
    with suppress(OSError, RuntimeError):
        where = path()
        where.parent.mkdir(parents=True, exist_ok=True)
        whole_file.replace(where, text)


def rounded(rate: float) -> float:
    """The nearest of RATES, by ratio."""
    return min(RATES, key=lambda each: max(each / rate, rate / each))


def coarse(value: float, powers: tuple[float, float]) -> float:
    """The nearest, by ratio, of a first value times the powers of a second."""
    first, ratio = powers
    return float(f"{first * ratio ** round(math.log(value / first, ratio)):.4g}")


def _rates(value: dict[str, Any] | None) -> OwnRates | None:
    if value is None:
        return None
    return OwnRates(**value | {name: tuple(value[name]) for name in _LISTS})


def _is_one(value: object) -> bool:
    """Whether it is what `keep` writes."""
    if value is None:
        return True
    if not isinstance(value, dict) or value.keys() != {*_SINGLE, *_LISTS, *_YES_OR_NO}:
        return False
    bandwidth, latency = (value[name] for name in _LISTS)
    return (
        all(type(value[name]) is float and value[name] in RATES for name in _SINGLE)
        and all(type(value[name]) is bool for name in _YES_OR_NO)
        and isinstance(bandwidth, list)
        and isinstance(latency, list)
        and len(bandwidth) == len(latency)
        and all(_is_coarse(each, CACHE_BYTES) for each in bandwidth[:-1])
        and all(_is_coarse(each, MEMORY_BYTES) for each in bandwidth[-1:])
        and all(_is_coarse(each, CYCLES) for each in latency)
    )


def _is_coarse(value: object, powers: tuple[float, float]) -> bool:
    if not isinstance(value, float) or not _LEAST <= value <= _MOST:
        return False
    return coarse(value, powers) == value

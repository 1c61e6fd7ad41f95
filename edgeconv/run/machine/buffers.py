"""How large the buffers are that are read to measure a cache level, or memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.sizes import human
from edgeconv.target.cache import Cache

MEMORY = "memory"
_LEAST = 128 << 20  # of memory: more than the last level of most machines
_MOST = 1 << 30
ASSUMED_LINE = 64  # bytes, where the kernel does not tell: so in all Arm cores with VFPv4 but one

# Sizes that a search for caches tries: 4 KiB to 64 MiB.
SIZES = tuple(1 << power for power in range(12, 27))
_TIMES = 8
_RISE = 1.25  # a load takes longer by this factor: the end of a level is near
_LEVEL = 1.8  # a level is slower than the one in front of it by at least this factor


def level_name(level: int) -> str:
    """What a measured level is called: ``L1``, ``L2`` ..."""
    return f"L{level}"


def streamed(caches: Sequence[Cache], available: int | None) -> dict[str, int]:
    """Buffers that stay in one level while they are read from end to end, and one that does not
    stay in any: half of each cache, at most _TIMES the one before, and four times the last.

    Others have a part of a level that is shared, so that no more of it is claimed than it takes for
    all loads to miss the level before.

    Raises EdgeconvError when ``available`` bytes of memory are too few for the last one.
    """
    before, found = 0, {}
    for cache in caches:
        # Half of a level that is hardly larger than the one before would fit into that.
        roomy = cache.size >= 4 * before
        least = cache.size // 2 if roomy else (before + cache.size) // 2
        found[level_name(cache.level)] = min(least, _TIMES * before) if before else least
        before = cache.size
    return found | {MEMORY: _memory(before, available)}


def chased(caches: Sequence[Cache], stream: Mapping[str, int]) -> dict[str, int]:
    """Buffers for loads in random order: as ``stream`` has them, but at most twice the level
    before.  Nearly all loads miss that one then, as each line is read once in a round of the
    buffer, and little is claimed of a level that is shared: others would evict it meanwhile."""
    before = [0, *(cache.size for cache in caches)]
    found = {
        level_name(cache.level): min(stream[level_name(cache.level)], 2 * size or cache.size)
        for cache, size in zip(caches, before, strict=False)
    }
    return found | {MEMORY: stream[MEMORY]}


def _memory(last: int, available: int | None) -> int:
    wanted = min(max(4 * last, _LEAST), max(_MOST, 2 * last))
    if available is None or wanted <= available // 4:
        return wanted
    if 2 * last > available // 2:
        raise EdgeconvError(
            "too little free memory to measure it",
            got=human(available),
            rule=f"a buffer of twice the last cache, {human(2 * last)}, may take half of it",
            hint="end other programs",
        )
    return max(2 * last, available // 4)


def find_caches(seconds: Sequence[float]) -> tuple[Cache, ...]:
    """The caches that the seconds of a load in buffers of ``SIZES`` tell of, to a power of two.

    No buffer is slower than a larger one: where it seems so, something else ran.  Loads take
    equally long while the buffer fits a level and longer beyond; a level ends at the largest size
    whose loads are nearer (in ratio) to its own time than to that of the next.
    """
    seconds = [min(seconds[i:]) for i in range(len(seconds))]
    found: list[Cache] = []
    start = 0
    while start + 1 < len(seconds):
        if seconds[start + 1] < _RISE * seconds[start]:
            start += 1
            continue
        end = start + 1
        while end + 1 < len(seconds) and seconds[end + 1] >= _RISE * seconds[end]:
            end += 1
        low, high = seconds[start], seconds[end]
        if high >= _LEVEL * low:
            fits = [i for i in range(start, end) if seconds[i] ** 2 <= low * high]
            found.append(Cache(len(found) + 1, SIZES[fits[-1]], ASSUMED_LINE))
        start = end
    return tuple(found)

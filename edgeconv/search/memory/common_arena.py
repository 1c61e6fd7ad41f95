"""One arena for several networks: those that never run together may use the same bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from edgeconv.search.memory.blocks import Block, Rect, live_bytes
from edgeconv.search.memory.search import smallest


@dataclass(frozen=True, slots=True)
class Tenant:
    """A network's arena in one memory: its ``bytes``, and the ranges [begin, end) of these that
    keep their contents between its runs."""

    bytes: int
    kept: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class CommonArena:
    """Where each arena begins, in bytes, by name; the ``bytes`` of all, and whether none of fewer
    exists (``optimal``)."""

    offsets: Mapping[str, int]
    bytes: int
    optimal: bool


def common_arena(
    tenants: Mapping[str, Tenant], together: Collection[frozenset[str]], align: int
) -> CommonArena:
    """The smallest arena for ``tenants``, of which the pairs ``together`` may run at the same time.

    While one runs, it needs all its bytes, and all others what they keep.  So there is a step for
    each of them alone and one for each pair, and the arenas are placed as blocks of tensors are.
    """
    names = [name for name, tenant in tenants.items() if tenant.bytes]
    running = [{name} for name in names]
    running += [{*pair} for pair in combinations(names, 2) if frozenset(pair) in together]
    blocks = [_block(tenants[name], [name in each for each in running], align) for name in names]
    if not blocks:
        return CommonArena(dict.fromkeys(tenants, 0), 0, optimal=True)
    packing, optimal = smallest(blocks, max(live_bytes(blocks, len(running))))
    offsets = dict.fromkeys(tenants, 0) | dict(zip(names, packing.bases, strict=True))
    used = max(offsets[name] + tenants[name].bytes for name in names)
    return CommonArena(offsets, used, optimal)


def _block(tenant: Tenant, runs: Sequence[bool], align: int) -> Block:
    """The bytes that are in use by step, outwards to multiples of ``align``; ``runs``: whether the
    network does, by step."""

    def up(size: int) -> int:
        return -(-size // align) * align

    kept = [(begin // align * align, up(end)) for begin, end in tenant.kept]
    cuts = sorted({0, up(tenant.bytes), *(edge for each in kept for edge in each)})
    found = []
    for low, high in pairwise(cuts):
        always = any(begin <= low and high <= end for begin, end in kept)
        used = [step for step, running in enumerate(runs) if running or always]
        begin = used[0]
        for step, after in pairwise([*used, len(runs) + 1]):
            if after != step + 1:
                found.append(Rect(low, high, begin, step))
                begin = after
    return tuple(found)

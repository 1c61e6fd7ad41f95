"""One arena for several networks: those that never run together may use the same bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from edgeconv.search.memory.blocks import Block, Rect, live_bytes
from edgeconv.search.memory.search import smallest


@dataclass(frozen=True, slots=True)
class Tenant:
    """A network's arena in one memory: its ``bytes``, and the ranges [begin, end) of these that
    keep their contents between its runs.  ``apart``: bytes at its beginning, all that is kept among
    them, that may lie elsewhere; 0 for none."""

    bytes: int
    kept: tuple[tuple[int, int], ...] = ()
    apart: int = 0


@dataclass(frozen=True, slots=True)
class CommonArena:
    """Where each arena begins, in bytes, by name; the ``bytes`` of all, and whether none of fewer
    exists (``optimal``).  ``states``: where the bytes of a network begin that lie apart; its arena
    then begins as many bytes below the rest of it, which are not its own."""

    offsets: Mapping[str, int]
    bytes: int
    optimal: bool
    states: Mapping[str, int] = field(default_factory=dict)


def common_arena(
    tenants: Mapping[str, Tenant], together: Collection[frozenset[str]], align: int
) -> CommonArena:
    """The smallest arena for ``tenants``, of which the pairs ``together`` may run at the same time.

    Whole arenas are placed if that takes no more than with what they keep below all of them, where
    it may lie apart.
    """
    whole = _placed(tenants, together, align)
    apart = {name: tenant for name, tenant in tenants.items() if tenant.apart}
    states, below = dict[str, int](), 0
    for name, tenant in apart.items():
        states[name], below = below, below + _up(tenant.apart, align)
    # Rounded down, so that all of an arena is aligned, wherever its states end.
    ends = {name: tenant.apart // align * align for name, tenant in apart.items()}
    left = {name: replace(t, bytes=t.bytes - ends[name], kept=()) for name, t in apart.items()}
    rest = _placed({**tenants, **left}, together, align)
    if below + rest.bytes >= whole.bytes:
        return whole
    offsets = {name: below + at - ends.get(name, 0) for name, at in rest.offsets.items()}
    return CommonArena(offsets, below + rest.bytes, rest.optimal, states)


def _placed(
    tenants: Mapping[str, Tenant], together: Collection[frozenset[str]], align: int
) -> CommonArena:
    """The smallest arena for all bytes of each of ``tenants`` in one place.

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

    kept = [(begin // align * align, _up(end, align)) for begin, end in tenant.kept]
    cuts = sorted({0, _up(tenant.bytes, align), *(edge for each in kept for edge in each)})
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


def _up(size: int, align: int) -> int:
    return -(-size // align) * align

"""How often the bytes of a tensor are touched in a run: what makes it hot or cold."""

from __future__ import annotations

from edgeconv.search.memory.program import Program


def moved(program: Program, granted: frozenset[tuple[int, int]]) -> dict[str, int]:
    """Tensor -> bytes written and read over a run, once per layer and by the caller.

    A part that a granted exact alias covers is neither read nor written by its layer.
    """
    found, sizes = dict.fromkeys(program.sizes, 0), {**program.sizes, **program.passing}
    for name in (*program.inputs, *program.outputs):
        found[name] += sizes[name]
    for i, (reads, writes) in enumerate(zip(program.reads, program.writes, strict=True)):
        shared = [
            alias for k, alias in enumerate(program.aliases[i]) if alias.exact and (i, k) in granted
        ]
        untouched = {alias.input for alias in shared}
        for name in reads:
            if name not in untouched:
                found[name] += sizes[name]
        for name in writes:
            covered = sum(
                sizes[alias.inner] for alias in shared if name in (alias.inner, alias.outer)
            )
            found[name] += max(0, sizes[name] - covered)
    return found

"""Who takes what of each memory region: of an image that was linked, or of one that did not fit.

The linker's own message says by how many bytes a region overflows, and nothing else.  So the image
is linked once more in spite of it, and what it would have taken is read from that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.allocation import Allocated, allocated
from edgeconv.run.build.elf import Symbol, symbols

# GNU ld: region `RAM' overflowed by 8 bytes; LLD: region 'RAM': overflowed by 8 bytes.
_OVERFLOW = re.compile(r"region [`'](?P<region>[^']+)':? overflowed by (?P<bytes>\d+) bytes")
# Linked in spite of errors, even if regions run into each other.
LINK_ANYWAY = ("-Wl,--noinhibit-exec", "-Wl,--no-check-sections")
# A line of MEMORY, and where SECTIONS puts an output section: > RUN AT > LOAD.
_REGION = re.compile(
    r"^\s*(?P<name>\w+)\s*\(\w+\)\s*:\s*ORIGIN\s*=\s*(?P<base>\w+)\s*,\s*LENGTH\s*=\s*(?P<size>\w+)",
    re.MULTILINE,
)
_PLACED = re.compile(
    r"^\s*(?P<section>\.[\w.]+)[^:{}]*:[^{}]*\{[^}]*\}\s*>\s*(?P<run>\w+)(?:\s*AT\s*>\s*(?P<load>\w+))?",
    re.MULTILINE,
)
_LARGE = 1024  # bytes from which a symbol has a line of its own


@dataclass(frozen=True, slots=True)
class Share:
    """``bytes`` that ``what`` takes: a section, or a large symbol of ``section``."""

    section: str
    what: str
    bytes: int


@dataclass(frozen=True, slots=True)
class RegionUse:
    """A region of the linker script; ``shares`` largest first."""

    name: str
    base: int
    size: int
    shares: tuple[Share, ...]

    @property
    def used(self) -> int:
        """Bytes taken, also those that are not there."""
        return sum(share.bytes for share in self.shares)

    @property
    def free(self) -> int:
        """Bytes left; negative: that many too many."""
        return self.size - self.used


def region_usage(image: Path, script: Path) -> tuple[RegionUse, ...]:
    """The regions of the linker ``script`` with what ``image`` puts there, in the script's order.

    Initial values of variables are in two: where they are loaded from and where they are used.
    What alignment leaves empty is a share too.
    """
    text = re.sub(r"/\*.*?\*/", "", script.read_text(encoding="utf-8"), flags=re.DOTALL)
    placed = {m["section"]: (m["run"], m["load"]) for m in _PLACED.finditer(text)}
    sections = allocated(image)
    known = symbols(image)
    found: dict[str, list[Share]] = {m["name"]: [] for m in _REGION.finditer(text)}
    starts: dict[str, list[tuple[int, int]]] = {name: [] for name in found}
    for section in sections:
        run, load = placed.get(section.name, ("", None))
        for region, address in ((run, section.address), (load, section.load)):
            if region in found and address is not None:
                found[region] += _shares(section, known)
                starts[region].append((address, section.size))
    return tuple(
        RegionUse(name, base, size, _sorted([*found[name], *_gap(starts[name])]))
        for name, base, size in (
            (m["name"], int(m["base"], 0), int(m["size"], 0)) for m in _REGION.finditer(text)
        )
    )


def usage_table(regions: Sequence[RegionUse]) -> tuple[str, ...]:
    """The regions as lines of text: a head for each, and below it who takes what."""
    lines = []
    for region in regions:
        left = f"{-region.free:,} too many" if region.free < 0 else f"{region.free:,} free"
        lines.append(f"{region.name}: {region.used:,} of {region.size:,} bytes, {left}")
        lines += [f"  {share.bytes:>12,}  {share.what}" for share in region.shares]
    return tuple(lines)


def overflows(log: str) -> Mapping[str, int]:
    """Bytes too many by region, from what a linker printed; empty: it failed for another reason."""
    return {m["region"]: int(m["bytes"]) for m in _OVERFLOW.finditer(log)}


class FirmwareTooLargeError(EdgeconvError):
    """The linker ran out of a memory region."""


def does_not_fit(
    link: Callable[[Sequence[str]], None], image: Path, script: Path, log: str
) -> EdgeconvError | None:
    """The error that says who takes what, for a link that failed; None when it was not for space.

    ``link`` links ``image`` once more, with further arguments for the compiler driver; what it
    writes is read and deleted.  ``log``: what the failed link printed.
    """
    excess = overflows(log)
    if not excess:
        return None
    image.unlink(missing_ok=True)
    with suppress(EdgeconvError):  # it says again that it does not fit
        link(LINK_ANYWAY)
    details: tuple[str, ...] = ()
    if image.exists():
        details = usage_table(region_usage(image, script))
        image.unlink()
    return FirmwareTooLargeError(
        "the firmware does not fit",
        where=script.name,
        got=", ".join(f"{name} {size:,} bytes too many" for name, size in excess.items()),
        hint="a board with more memory or a smaller network; of RAM, --io arena saves some",
        details=details,
    )


def _shares(section: Allocated, known: Mapping[str, Symbol]) -> Iterator[Share]:
    """The large symbols of a section, and the rest of it."""
    rest = section.size
    spans: set[tuple[int, int]] = set()
    for symbol in known.values():
        span = symbol.address & ~1, symbol.size
        if symbol.section == section.name and symbol.size >= _LARGE and span not in spans:
            spans.add(span)
            rest -= symbol.size
            yield Share(section.name, symbol.name, symbol.size)
    if rest:
        yield Share(section.name, f"{section.name}{', the rest' if spans else ''}", rest)


def _gap(pieces: Sequence[tuple[int, int]]) -> Iterator[Share]:
    """The bytes between the first section of a region and the end of its last one that are none's:
    the linker counts them as taken."""
    if pieces:
        end = max(address + size for address, size in pieces)
        empty = end - min(address for address, _ in pieces) - sum(size for _, size in pieces)
        if empty > 0:
            yield Share("", "alignment", empty)


def _sorted(shares: Sequence[Share]) -> tuple[Share, ...]:
    return tuple(sorted(shares, key=lambda share: (-share.bytes, share.what)))

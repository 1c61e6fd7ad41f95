"""Print the ISA rows of one CPU architecture for CMakeLists.txt, one a line.

    python3 tools/list_isas.py x86_64
    avx512|-mavx512f,-mavx512dq|avx512f,avx512dq|14,2;9,3|14,2;6,4|edgeconv/target/backends/avx512

Fields: name, compiler flags, words of /proc/cpuinfo that a CPU must have, register tiles (mr,nv),
those of the outer product, the folder of its headers.
Needs nothing but Python.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgeconv.target.backends import TARGETS, folders
from edgeconv.target.micro_kernel import Tile
from edgeconv.target.targets import PANELS


def rows(arch: str) -> list[str]:
    """One line per ISA header that a CPU of ``arch`` may have, with the tiles of all its rows.

    Of vectors whose length the core chooses the longest stand for all: QEMU has 512 bits of SVE
    unless it is told otherwise."""
    fits = [row for row in TARGETS.values() if row.arch in (arch, "any")]
    longest = {folders()[row.name]: row for row in fits if row.scalable}
    found = []
    for row in (row for row in fits if not row.runtime):
        if row.scalable and row is not longest[folders()[row.name]]:
            continue
        sharing = [other for other in fits if other.header == row.header]
        tiles = (tile for other in sharing for tile in other.tiles)
        outer = (tile for other in sharing for tile in other.kernel(PANELS).tiles)
        words = (",".join(row.flags), ",".join(row.cpu_flags))
        where = str(folders()[row.name])
        found.append("|".join((row.name, *words, text(tiles), text(outer), where)))
    return found


def text(tiles: Iterable[Tile]) -> str:
    """Each once: ``14,2;9,3``."""
    return ";".join(dict.fromkeys(f"{tile.rows},{tile.vectors}" for tile in tiles))


if __name__ == "__main__":
    sys.stdout.write("\n".join(rows(sys.argv[1])) + "\n")

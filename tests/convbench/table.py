"""The rows of a ConvBench table, and the sample of them that the project keeps."""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

SAMPLE = Path(__file__).parent / "sample.csv"
VARIABLE = "EDGECONV_CONVBENCH"


@dataclass(frozen=True, slots=True)
class Convolution:
    """A 2-D convolution of one image, by the table's columns; ``bias`` is 0 or 1."""

    in_c: int
    in_h: int
    in_w: int
    out_c: int
    out_h: int
    out_w: int
    kernel_h: int
    kernel_w: int
    pad_top: int
    pad_left: int
    pad_bottom: int
    pad_right: int
    stride_h: int
    stride_w: int
    dilation_h: int
    dilation_w: int
    groups: int
    bias: int
    macs: int

    @property
    def depth(self) -> int:
        """K: products summed up in one output element."""
        return self.in_c // self.groups * self.kernel_h * self.kernel_w

    @property
    def pads(self) -> tuple[int, int, int, int]:
        """Top, left, bottom, right."""
        return self.pad_top, self.pad_left, self.pad_bottom, self.pad_right

    @property
    def weight_shape(self) -> tuple[int, int, int, int]:
        """(out_c, in_c / groups, kernel_h, kernel_w)."""
        return self.out_c, self.in_c // self.groups, self.kernel_h, self.kernel_w

    @property
    def kinds(self) -> tuple[str, ...]:
        """The KINDS that it is of."""
        return tuple(kind for kind, is_one in KINDS.items() if is_one(self))

    def __str__(self) -> str:
        parts = [
            f"{self.in_c}x{self.in_h}x{self.in_w} -> {self.out_c}x{self.out_h}x{self.out_w}",
            f"kernel {self.kernel_h}x{self.kernel_w}",
        ]
        if "strided" in self.kinds:
            parts.append(f"stride {self.stride_h}x{self.stride_w}")
        if "dilated" in self.kinds:
            parts.append(f"dilation {self.dilation_h}x{self.dilation_w}")
        if "padded" in self.kinds:
            parts.append(f"pads {list(self.pads)}")
        if self.groups > 1:
            parts.append(f"groups {self.groups}")
        if not self.bias:
            parts.append("no bias")
        return ", ".join(parts)


def _one_to_one(conv: Convolution) -> bool:
    """One filter per channel."""
    return conv.groups > 1 and conv.groups == conv.in_c == conv.out_c


# What sets a convolution apart from a dense one with a square kernel at stride 1.
KINDS: Mapping[str, Callable[[Convolution], bool]] = {
    "pointwise": lambda conv: conv.kernel_h == conv.kernel_w == 1,
    "depthwise": _one_to_one,
    "grouped": lambda conv: conv.groups > 1 and not _one_to_one(conv),
    "filters per channel": lambda conv: 1 < conv.groups == conv.in_c < conv.out_c,
    "rectangular": lambda conv: conv.kernel_h != conv.kernel_w,
    "dilated": lambda conv: max(conv.dilation_h, conv.dilation_w) > 1,
    "strided": lambda conv: max(conv.stride_h, conv.stride_w) > 1,
    "padded": lambda conv: any(conv.pads),
    "asymmetric": lambda conv: conv.pads[:2] != conv.pads[2:],
}

_COLUMNS = [column.name for column in fields(Convolution)]


def read(path: Path) -> list[Convolution]:
    """The rows of a table; lines that begin with # are comments."""
    with path.open(newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [Convolution(**{name: int(row[name]) for name in _COLUMNS}) for row in rows]


def write(path: Path, rows: Iterable[Convolution]) -> None:
    """Write a table that ``read`` reads, with its origin in front."""
    with path.open("w", newline="") as file:
        file.write("# A part of the table of ConvBench (MIT licence).\n")
        out = csv.writer(file, lineterminator="\n")
        out.writerow(_COLUMNS)
        out.writerows(astuple(row) for row in rows)


def whole_table() -> Path | None:
    """The whole table, where the environment names it."""
    path = os.environ.get(VARIABLE)
    return Path(path) if path else None


def committed_sample(table: Sequence[Convolution]) -> list[Convolution]:
    """What SAMPLE holds of the whole table."""
    return sample(table, size=300, each=4, most_macs=2_000_000)


def sample(table: Sequence[Convolution], size: int, each: int, most_macs: int) -> list[Convolution]:
    """``each`` convolutions of every combination of kinds, and more up to ``size``, at random.

    The first of a combination is the one with the fewest multiply-accumulates, all others have at
    most ``most_macs``.  The same table gives the same sample, in the table's order.
    """
    rng = random.Random(1)
    by_kinds: dict[tuple[str, ...], list[Convolution]] = {}
    for row in sorted(table, key=lambda row: row.macs):
        by_kinds.setdefault(row.kinds, []).append(row)
    taken: set[Convolution] = set()
    for first, *others in by_kinds.values():
        small = [row for row in others if row.macs <= most_macs]
        taken.update([first, *rng.sample(small, min(each - 1, len(small)))])
    rest = [row for row in table if row.macs <= most_macs and row not in taken]
    taken.update(rng.sample(rest, min(len(rest), max(0, size - len(taken)))))
    return [row for row in table if row in taken]

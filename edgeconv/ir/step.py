"""Steps: what is scheduled, planned, emitted and timed is one layer, or several that stream
rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Divides:
    """A layer whose function can compute some rows [row0, row1) of its output alone.

    ``rows``: of the output.  Row y of it reads the rows from y * ``stride`` - ``pad`` on, ``reach``
    of them, of the layer's first input, as far as that has them, and row y of a residual.
    ``columns``: how its columns read those of the input, in the same words, where it can compute
    some of these alone too; None where it cannot.  ``accumulates``: ``rows`` are those of the
    input, whose sums a workspace holds from the first call of a step to the last, which makes the
    result: such a layer is the last one of a step.
    """

    rows: int
    reach: int = 1
    stride: int = 1
    pad: int = 0
    columns: Divides | None = None
    accumulates: bool = False

    def first_read(self, row0: int) -> int:
        """The first row of the input that rows from ``row0`` on read."""
        return max(0, row0 * self.stride - self.pad)

    def end_read(self, row1: int) -> int:
        """One behind the last row of the input that the rows before ``row1`` read; it may lie
        behind the input's last one."""
        return (row1 - 1) * self.stride - self.pad + self.reach


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop that workers can share: ``count`` rounds, so many (``multiple``) at a time but for the
    last of them."""

    count: int
    multiple: int = 1

    @property
    def pieces(self) -> int:
        """What can be shared out."""
        return -(-self.count // self.multiple)

    def between(self, first: int, last: int) -> tuple[int, int]:
        """The rounds of the pieces [first, last)."""
        return min(first * self.multiple, self.count), min(last * self.multiple, self.count)


WHOLE = Axis(1)  # nothing to share


@dataclass(frozen=True, slots=True)
class Splits:
    """The loops of a layer that workers can share: ``rows`` of the output, and ``items``: tiles of
    filters, blocks of channels, elements.

    ``reads_all``: whoever computes some items reads the whole input (of the rows that are his), as
    convolutions do whose filters are shared out.
    """

    rows: Axis = WHOLE
    items: Axis = WHOLE
    reads_all: bool = False


class Share(NamedTuple):
    """What one worker computes: rows [row0, row1) and items [item0, item1)."""

    row0: int
    row1: int
    item0: int
    item1: int


@dataclass(frozen=True, slots=True)
class Step:
    """Layers that are computed together: one, or a chain that streams rows.

    ``layers``: numbers in ``Choice.layers``, which follow each other; of several each reads the
    result of the one before as its first input, and nobody else does.  Memory holds a ring of
    rows of these results only (``Tensor.ring``).  ``stream_rows``: output rows of the last layer
    per round, or 1 where every layer computes one row at a time (`calls`); 0 for a single layer,
    which computes all at once.  ``workers``: how many share the
    step, each with rings and workspaces of its own.  ``shares``: what each computes, of several
    layers the rows of the last result, for which he computes all others that these need; none where
    one worker computes all.  ``patches``: ranges of columns of the last result, one after the other
    for each of which the step streams all rows (`patches_of`).
    """

    layers: tuple[int, ...]
    stream_rows: int = 0
    workers: int = 1
    shares: tuple[Share, ...] = ()
    patches: int = 1


def alone(count: int) -> tuple[Step, ...]:
    """So many layers, a step each."""
    return tuple(Step((layer,)) for layer in range(count))


class Columns(NamedTuple):
    """The columns [begin, end) of a layer's result that a patch computes."""

    begin: int
    end: int

    @property
    def width(self) -> int:
        return self.end - self.begin


def patches_of(divides: Sequence[Divides], count: int) -> list[tuple[Columns, ...]]:
    """By patch and by layer the columns that are computed, where the last result is cut into
    ``count`` ranges; none where a layer computes all columns, or would compute none for some patch.

    Of the other results a patch needs a halo as well: columns beside those that it shares with no
    other patch, which each patch computes that reads them (MCUNetV2, arXiv 2110.15352; msf-CNN,
    arXiv 2505.11483).
    """
    columns = [each.columns for each in divides if each.columns]
    if len(columns) < len(divides):
        return []
    found = []
    for begin, end in pairwise(accumulate(_patch_widths(columns, count), initial=0)):
        begins, ends = starts(columns, begin), _ends(columns, end)
        found.append(tuple(map(Columns, begins, ends)))
    return found if all(each.width > 0 for patch in found for each in patch) else []


def _patch_widths(columns: Sequence[Divides], count: int) -> list[int]:
    """Columns of the last result by patch, so that all patches compute about as many of the first
    one: those at the borders, whose halo on one side is padding, have so many more."""
    stride, pad = 1, 0  # of all windows but the first, together
    for each in reversed(columns[1:]):
        stride, pad = stride * each.stride, pad * each.stride + each.pad
    width = columns[-1].rows
    more = pad // stride if count > 2 else 0
    more = more if width - 2 * more >= count else 0
    least, rest = divmod(width - 2 * more, count)
    widths = [
        least + (number < rest - 1) for number in range(count)
    ]  # of the rest the last has one
    widths[0], widths[-1] = widths[0] + more + (rest == 1), widths[-1] + more + (rest > 1)
    return widths


def columns_read(layer: Divides, patch: Columns, width: int) -> Columns:
    """The columns of an input of so many that the columns ``patch`` of the result of ``layer``
    read, as far as there are such."""
    assert layer.columns
    begin, end = layer.columns.first_read(patch.begin), layer.columns.end_read(patch.end)
    return Columns(begin, min(width, end))


ROW_BY_ROW = 1  # rows per round with which every layer computes a row at a time


class Rows(NamedTuple):
    """A call for the rows [row0, row1) of the output of layer ``number`` of a step."""

    number: int
    row0: int
    row1: int


def calls(
    divides: Sequence[Divides], rings: Sequence[int], stream_rows: int, share: Share | None = None
) -> Iterator[Rows]:
    """The calls of a step in order, for all rows of the last result, or a worker's ``share``.

    ``rings``: rows that memory holds of every result but the last.  In a round each layer in its
    turn computes what of its result the next one lacks, in pieces that do not pass the end of the
    ring; then the last one computes ``stream_rows`` rows, in the last round what remains.  With 1
    the layers go row by row: always the last one for which there is what its next row reads, so
    that rings need no more rows than one row of the next result reads.
    """
    if stream_rows == ROW_BY_ROW:
        yield from _row_by_row(divides, share)
        return
    begin, end_of_all = share[:2] if share else (0, divides[-1].rows)
    made = starts(divides, begin)[:-1]
    for row0 in range(begin, end_of_all, stream_rows):
        ends = _ends(divides, min(row0 + stream_rows, end_of_all))
        for number, (end, ring) in enumerate(zip(ends, rings, strict=False)):
            while made[number] < end:
                begin = made[number]
                made[number] = min(end, begin - begin % ring + ring)
                yield Rows(number, begin, made[number])
        yield Rows(len(rings), row0, ends[-1])


def _row_by_row(divides: Sequence[Divides], share: Share | None) -> Iterator[Rows]:
    begin, end = share[:2] if share else (0, divides[-1].rows)
    made = starts(divides, begin)
    while made[-1] < end:
        number = len(divides) - 1
        while number and made[number - 1] < _read_end(divides, number, made[number]):
            number -= 1
        made[number] += 1
        yield Rows(number, made[number] - 1, made[number])


def _read_end(divides: Sequence[Divides], number: int, row: int) -> int:
    """One behind the last row of the layer before that a ``row`` of layer ``number`` reads."""
    return min(divides[number - 1].rows, divides[number].end_read(row + 1))


def starts(divides: Sequence[Divides], row0: int) -> list[int]:
    """By layer: the first row that the rows of the last one from ``row0`` on need."""
    found = [row0]
    for reader in reversed(divides[1:]):
        found.append(reader.first_read(found[-1]))
    return found[::-1]


def least_rings(
    divides: Sequence[Divides], stream_rows: int, share: Share | None = None
) -> tuple[int, ...]:
    """The fewest rows of each result but the last that memory must hold for `calls`."""
    begin, end = share[:2] if share else (0, divides[-1].rows)
    if stream_rows == ROW_BY_ROW:
        computed = zip(starts(divides, begin), _ends(divides, end), strict=True)
        return tuple(
            _rows_read(maker, reader, *rows)
            for (maker, reader), rows in zip(pairwise(divides), [*computed][1:], strict=True)
        )
    found = [1] * (len(divides) - 1)
    made = starts(divides, begin)
    for row0 in range(begin, end, stream_rows):
        ends = _ends(divides, min(row0 + stream_rows, end))
        for number, reader in enumerate(divides[1:]):
            if ends[number + 1] > made[number + 1]:
                kept = ends[number] - reader.first_read(made[number + 1])
                found[number] = max(found[number], kept)
        made = list(map(max, made, ends))
    return tuple(found)


@lru_cache(maxsize=4096)
def _rows_read(maker: Divides, reader: Divides, row0: int, row1: int) -> int:
    """The most rows of what ``maker`` makes that one of the rows [row0, row1) of ``reader`` reads;
    at least one."""
    read = (
        min(maker.rows, reader.end_read(y + 1)) - reader.first_read(y) for y in range(row0, row1)
    )
    return max((1, *read))


def overlap(
    divides: Sequence[Divides], stream_rows: int, in_row: int, out_row: int, *, added: bool
) -> int:
    """How many bytes the input of a step must begin behind its result at least for `calls` to write
    no rows of that over rows of the input that a later call reads.

    ``in_row``, ``out_row``: bytes of a row of either.  ``added``: the input is also what the last
    layer adds to its rows.
    """
    apart = made = 0
    wanted = _ends(divides, divides[-1].rows)[0]  # maybe not all rows of the first layer
    whole, last = [each.rows for each in divides[:-1]], len(divides) - 1
    for number, _, end in calls(divides, whole, stream_rows):
        made = end if number == 0 else made
        if number == last:
            kept = [divides[0].first_read(made)] if made < wanted else []
            kept += [end] if added else []
            apart = max(apart, end * out_row - min(kept) * in_row if kept else 0)
    return apart


def _ends(divides: Sequence[Divides], row1: int) -> list[int]:
    """By layer: the rows that must have been made for the last one to have made ``row1``."""
    ends = [row1]
    for maker, reader in reversed(list(pairwise(divides))):
        ends.append(min(maker.rows, reader.end_read(ends[-1])))
    return ends[::-1]

"""Steps: what is scheduled, planned, emitted and timed is one layer, or several that stream
rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Divides:
    """A layer whose function can compute some rows [row0, row1) of its output alone.

    ``rows``: of the output.  Row y of it reads the rows from y * ``stride`` - ``pad`` on, ``reach``
    of them, of the layer's first input, as far as that has them, and row y of a residual.
    ``columns``: how its columns read those of the input, in the same words, where it can compute
    some of these alone too; None where it cannot.  ``accumulates``: ``rows`` are those of the
    input, whose sums a workspace holds from the first call of a step to the last, which makes the
    result: such a layer is the last one of a step.  ``adds_apart``: a residual may lie in a ring of
    other rows than the result does; else both have as many.

    Of a layer of a step ``source`` and ``added`` say how many layers before it the one is that
    makes its first input, and its residual; 0 where that lies in memory as a whole, or is none.
    """

    rows: int
    reach: int = 1
    stride: int = 1
    pad: int = 0
    columns: Divides | None = None
    accumulates: bool = False
    adds_apart: bool = False
    source: int = 1
    added: int = 0

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


_SAME = Divides(1)  # how a residual is read: row y for row y


class Read(NamedTuple):
    """What a layer reads of the result of layer ``maker`` of its step: the rows that ``window``
    says."""

    maker: int
    window: Divides


def reads(divides: Sequence[Divides], number: int) -> Iterator[Read]:
    """What layer ``number`` of a step reads of the results of others of it: the residual first,
    which is made by fewer layers."""
    own = divides[number]
    if 0 < own.added <= number:
        yield Read(number - own.added, _SAME)
    if 0 < own.source <= number:
        yield Read(number - own.source, own)


def is_path(divides: Sequence[Divides]) -> bool:
    """Whether each layer of a step reads the result of the one before and of no other."""
    return all(
        [read.maker for read in reads(divides, number)] == [number - 1]
        for number in range(1, len(divides))
    )


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
    """Layers that are computed together: one, or several that stream rows.

    ``layers``: numbers in ``Choice.layers``, which follow each other; of several each but the last
    is read by later ones of them, as first input or as residual, and by nobody else.  Memory holds
    a ring of rows of these results only (``Tensor.ring``).  ``stream_rows``: output rows of the
    last layer per round, or 1 where every layer computes one row at a time (`calls`); 0 for a
    single layer, which computes all at once.  ``workers``: how many share the
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


def patches_of(divides: Sequence[Divides], count: int) -> tuple[tuple[Columns, ...], ...]:
    """By patch and by layer the columns that are computed, where the last result is cut into
    ``count`` ranges; none where a layer computes all columns, or would compute none for some patch.

    Of the other results a patch needs a halo as well: columns beside those that it shares with no
    other patch, which each patch computes that reads them (MCUNetV2, arXiv 2110.15352; msf-CNN,
    arXiv 2505.11483).
    """
    return _patches_of(tuple(divides), count)


@lru_cache(maxsize=4096)  # blocks of a network are often alike
def _patches_of(divides: tuple[Divides, ...], count: int) -> tuple[tuple[Columns, ...], ...]:
    columns = tuple(
        placed(each.columns, each.source, each.added) for each in divides if each.columns
    )
    return _patches(columns, count) if len(columns) == len(divides) else ()


@lru_cache(maxsize=4096)
def placed(divides: Divides, source: int, added: int) -> Divides:
    """``divides`` of a layer of a step, with what makes its first input and its residual: the same
    object for equal ones, which are compared by that."""
    return replace(divides, source=source, added=added)


@lru_cache(maxsize=4096)
def _patches(columns: tuple[Divides, ...], count: int) -> tuple[tuple[Columns, ...], ...]:
    """The `_patch_widths` whose widest patch computes the fewest columns of the first layer, then
    those of the fewest of all layers."""
    begins, ends = _borders(columns)
    found = []
    for widths in _patch_widths(columns, count):
        borders = pairwise(accumulate(widths, initial=0))
        patches = [[*zip(begins(begin), ends(end), strict=True)] for begin, end in borders]
        every = [[end - begin for begin, end in layer] for layer in zip(*patches, strict=True)]
        if min(map(min, every)) > 0:
            found.append(((max(every[0]), sum(map(max, every))), patches))
    best = min(found, key=itemgetter(0))[1] if found else []
    return tuple(tuple(Columns(*own) for own in patch) for patch in best)


_Places = Callable[[int], list[int]]  # by layer, of a place of the last result


@lru_cache(maxsize=1024)
def _borders(columns: tuple[Divides, ...]) -> tuple[_Places, _Places]:
    """`starts` and `_ends` of layers, which patches of any number ask for the same places."""
    return lru_cache(partial(starts, columns)), lru_cache(partial(_ends, columns))


def _patch_widths(columns: Sequence[Divides], count: int) -> Iterator[list[int]]:
    """Columns of the last result by patch: those at the borders, whose halo on one side is padding,
    have some more, the one maybe one more than the other; first as many as make all compute about
    as many of the first layer."""
    number, width = len(columns) - 1, columns[-1].rows
    stride, pad = 1, 0  # of all windows but the first, together
    while 0 < (each := columns[number]).source <= number:
        stride, pad = stride * each.stride, pad * each.stride + each.pad
        number -= each.source
    most = pad // stride if count > 2 else 0
    equal = [(more, more) for more in range(most, -1, -1)]
    others = [(more - 1, more) for more in range(most, 0, -1)]
    for left, right in (*equal, *others, *((right, left) for left, right in others)):
        least, rest = divmod(width - left - right, count)  # of the rest the last has one
        if least < 1 or (left != right and rest):
            continue
        widths = [least + (number < rest - 1) for number in range(count)]
        widths[0], widths[-1] = widths[0] + left + (rest == 1), widths[-1] + right + (rest > 1)
        yield widths


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
    the layers go row by row: the last one where there is what its next row reads, else one that
    makes what is lacking, by the same rule.  So rings need no more rows than one row of the next
    result reads, and those that a residual waits in as many as the other branch lags behind.
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
    needed = [list(reads(divides, number)) for number in range(len(divides))]
    while made[-1] < end:
        number = len(divides) - 1
        while True:
            row1 = made[number] + 1
            lacking = (
                maker
                for maker, window in needed[number]
                if made[maker] < min(divides[maker].rows, window.end_read(row1))
            )
            maker = next(lacking, None)
            if maker is None:
                break
            number = maker
        made[number] += 1
        yield Rows(number, made[number] - 1, made[number])


def starts(divides: Sequence[Divides], row0: int) -> list[int]:
    """By layer: the first row that the rows of the last one from ``row0`` on need."""
    found = {len(divides) - 1: row0}
    for number in reversed(range(len(divides))):
        for maker, window in reads(divides, number):
            first = window.first_read(found[number])
            found[maker] = min(first, found.get(maker, first))
    return [found[number] for number in range(len(divides))]


def least_rings(
    divides: Sequence[Divides], stream_rows: int, share: Share | None = None
) -> tuple[int, ...]:
    """The fewest rows of each result but the last that memory must hold for `calls`."""
    begin, end = share[:2] if share else (0, divides[-1].rows)
    if stream_rows == ROW_BY_ROW:
        return _as_added(divides, _rings_row_by_row(divides, begin, end))
    found = [1] * (len(divides) - 1)
    made = starts(divides, begin)
    for row0 in range(begin, end, stream_rows):
        ends = _ends(divides, min(row0 + stream_rows, end))
        for number in range(1, len(divides)):
            if ends[number] > made[number]:
                for maker, window in reads(divides, number):
                    kept = ends[maker] - window.first_read(made[number])
                    found[maker] = max(found[maker], kept)
        made = list(map(max, made, ends))
    return _as_added(divides, found)


def _as_added(divides: Sequence[Divides], rings: Sequence[int]) -> tuple[int, ...]:
    """``rings`` with as many rows for a residual as for the result, where these must be equal."""
    found, together = list(rings), list(range(len(rings)))  # the first of equal ones
    for number in range(len(rings)):
        own = divides[number]
        if 0 < own.added <= number and not own.adds_apart:
            first, own_first = together[number - own.added], together[number]
            together = [first if each == own_first else each for each in together]
    for number, first in enumerate(together):
        found[first] = max(found[first], found[number])
    return tuple(found[first] for first in together)


def _rings_row_by_row(divides: Sequence[Divides], begin: int, end: int) -> tuple[int, ...]:
    readers: list[list[int]] = [[] for _ in divides]
    for number in range(len(divides)):
        for maker, _ in reads(divides, number):
            readers[maker].append(number)
    first, last = starts(divides, begin), _ends(divides, end)
    found = []
    for maker, own in enumerate(readers[:-1]):
        if len(own) == 1:
            (window,) = (read.window for read in reads(divides, own[0]) if read.maker == maker)
            found.append(_rows_read(divides[maker], window, first[own[0]], last[own[0]]))
            continue
        behind = maker  # all that reads it, and what lies between
        for number in range(maker, len(divides)):
            behind = max([behind, *readers[number]]) if number <= behind else behind
        within = tuple(divides[maker : behind + 1])
        found.append(_rows_kept(within, first[behind], last[behind]))
    return tuple(found)


@lru_cache(maxsize=4096)
def _rows_read(maker: Divides, reader: Divides, row0: int, row1: int) -> int:
    """The most rows of what ``maker`` makes that one of the rows [row0, row1) of ``reader`` reads;
    at least one."""
    read = (
        min(maker.rows, reader.end_read(y + 1)) - reader.first_read(y) for y in range(row0, row1)
    )
    return max((1, *read))


@lru_cache(maxsize=4096)
def _rows_kept(divides: tuple[Divides, ...], row0: int, row1: int) -> int:
    """The most rows of the first result that memory must hold where the layers ``divides`` go row
    by row, for the rows [row0, row1) of the last one."""
    windows = [
        (number, window)
        for number in range(len(divides))
        for maker, window in reads(divides, number)
        if maker == 0
    ]
    done, most = starts(divides, row0), 1
    for number, _, end in _row_by_row(divides, Share(row0, row1, 0, 1)):
        if number == 0:
            wanted = min(window.first_read(done[reader]) for reader, window in windows)
            most = max(most, end - wanted)
        done[number] = end
    return most


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
    found = [0] * len(divides)
    found[-1] = row1
    for number in reversed(range(len(divides))):
        for maker, window in reads(divides, number):
            end = min(divides[maker].rows, window.end_read(found[number]))
            found[maker] = max(found[maker], end)
    return found

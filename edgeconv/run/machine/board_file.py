"""The text of a board file for the running machine: every number beside where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import chain
from textwrap import wrap

from edgeconv.base import sizes
from edgeconv.run.machine.measure import Level, Measured
from edgeconv.run.machine.probe import Machine, printable
from edgeconv.target.board.features import detected
from edgeconv.target.board.own_rates import FETCHING_PAYS
from edgeconv.target.cache import Cache
from edgeconv.target.targets import HALVES, Target

NATIVE_CC = ("cc", "gcc", "clang")
INSTALL = "apt-get install gcc"
_CPUS = "/sys/devices/system/cpu"
_SAME = "the same"
_WIDTH = 100
_COLUMN = 40  # comments are aligned up to here

# A line of the file: key, value as TOML, source.
Row = tuple[str, str, str]

_TILES = "measured, of the tile that loads most over packed panels"
_HALVES = "measured: half a vector takes half the time"
_ENERGY = """\
# Energy is not measured: add what a power meter or a publication states.
# [energy]
# mac = "5pJ"     # one float32 multiply-add
# idle = "2W"     # what the board draws meanwhile
# source = "..."
# [energy.byte]   # per byte that crosses between a level and the one in front of it
# L1 = "1pJ"
# memory = "80pJ"
"""


def render(
    name: str, machine: Machine, target: Target, flags: Sequence[str], measured: Measured | None
) -> str:
    """The board ``name`` as TOML.  Without ``measured``, which is enough to build programs for the
    machine, it has no speeds."""
    blocks = [_board(name, machine, target, measured)]
    if measured:
        blocks += [
            ("[[cache]]", _cache(cache, level, measured, machine.cpu))
            for cache, level in zip(measured.caches, measured.levels, strict=True)
        ]
        if machine.host.memory:
            blocks += [("[[memory]]", _memory(machine.host.memory, measured.memory))]
    if measured and measured.fork_join:
        blocks += [("[threads]", _threads(measured.fork_join))]
    toolchain: list[Row] = [("cc", _list(NATIVE_CC), "")]
    toolchain += [("flags", _list(flags), "as these numbers were measured")] if flags else []
    toolchain += [("install", _text(INSTALL), "")]
    run: list[Row] = [("kind", _text("native"), "")]
    features = detected(target, machine.host)
    more = (row.cpu_flags for row in target.kernels if row.feature in features)
    words = tuple(dict.fromkeys((*target.cpu_flags, *chain.from_iterable(more))))
    if words:
        run += [("native_if", _list(words), "needed in /proc/cpuinfo")]
    parts = ["\n".join(_block(title, rows)) for title, rows in blocks]
    parts += [_ENERGY.rstrip()] if measured else []
    parts += ["\n".join(_block("[toolchain]", toolchain)), "\n".join(_block("[run]", run))]
    head = "\n".join(_head(name, measured, machine)) + "\n" if measured else ""
    return head + "\n\n".join(parts) + "\n"


def three_digits(value: float) -> str:
    """``value`` to three digits, without an exponent: ``4.1``, ``0.0123``, ``12300``."""
    return f"{Decimal(f'{value:.2e}').normalize():f}"


def _head(name: str, measured: Measured, machine: Machine) -> Iterator[str]:
    text = (
        f"Written by `edgeconv boards new {name}` on the machine itself.  What is measured is so "
        f"on one core like processor {machine.cpu}, with programs built by {measured.compiler}: "
        f"the best of {measured.rounds} medians of {measured.samples} samples, as what else runs "
        "can only make a machine look slower than it is.  All else names the file it was read from."
    )
    yield from wrap(text, width=_WIDTH, initial_indent="# ", subsequent_indent="# ")
    if machine.others:
        yield f"# Other cores, for boards of their own (taskset -c N): {', '.join(machine.others)}."


def _board(
    name: str, machine: Machine, target: Target, measured: Measured | None
) -> tuple[str, list[Row]]:
    rows: list[Row] = [
        ("schema", "1", ""),
        ("name", _text(name), ""),
        ("description", _text(machine.description), "/proc and /sys"),
        ("arch", _text(machine.host.arch), "uname -m"),
        ("isa", _text(target.name), "the widest that /proc/cpuinfo states"),
        ("cpu", _text(machine.core), "/proc/cpuinfo"),
        ("cores", str(machine.cores), f"of this kind; {_CPUS}/cpu*/topology"),
    ]
    if measured:
        stated = machine.host.clock_hz
        other = f"; the kernel states {_frequency(stated)}" if stated else ""
        form = (
            "on registers alone"
            if measured.form == "vectors"
            else f"tiles of {measured.form} vectors over packed panels"
        )
        rows += [
            ("clock", _text(_frequency(measured.clock)), f"measured, vector code running{other}"),
            ("macs_per_cycle", _number(measured.macs_per_cycle), f"measured, {form}"),
            ("loads_per_cycle", _number(measured.loads_per_cycle), _TILES),
            *_prefetch(measured.fetching),
        ]
    rows += [(HALVES, "true", _HALVES)] if measured and measured.halves else []
    rows += [(name, "true", "/proc/cpuinfo") for name in sorted(detected(target, machine.host))]
    return "", rows


def _prefetch(fetching: float) -> list[Row]:
    source = f"measured, a tile that reads from memory: {three_digits(fetching)} of the time"
    if fetching <= FETCHING_PAYS:
        return [("prefetch", "true", source), ("prefetch_far", "true", _SAME)]
    return [("prefetch", "false", f"{source}; try true with `edgeconv bench`")]


def _cache(cache: Cache, level: Level, measured: Measured, cpu: int) -> list[Row]:
    told = f"{_CPUS}/cpu{cpu}/cache"
    size = "measured: loads take longer beyond" if measured.sizes_measured else told
    line = "assumed: the kernel does not tell" if measured.sizes_measured else _SAME
    rows = [
        ("level", str(cache.level), ""),
        ("size", _text(_size(cache.size)), size),
        ("line", _text(_size(cache.line)), line),
    ]
    # Virtual machines give a part of a cache and the ways of the whole.
    fits = cache.ways and cache.size // cache.line % cache.ways == 0
    rows += [("ways", str(cache.ways), _SAME)] if fits else []
    cycles = three_digits(level.latency * measured.clock)
    at_random = f"measured: {cycles} for random loads in {_size(level.chased)}"
    in_a_row = f"measured: {_size(level.streamed)} read again and again"
    rows += [
        ("latency", _text(f"{cache.latency}cycles"), at_random),
        ("bandwidth", _text(f"{three_digits(cache.bandwidth or 0)}B/cycle"), in_a_row),
    ]
    if cache.others:
        passed = f"measured: half of {_size(level.chased)} is lost in so long without a load"
        rows += [("others", _text(f"{three_digits(cache.others)}B/cycle"), passed)]
    return rows


def _memory(total: int, level: Level) -> list[Row]:
    unit, scale = ("GB/s", 1e9) if level.bandwidth >= 1e9 else ("MB/s", 1e6)
    in_a_row = f"measured: {_size(level.streamed)} read again and again"
    at_random = f"measured: random loads in {_size(level.chased)}"
    return [
        ("name", _text("DRAM"), ""),
        ("kind", _text("dram"), ""),
        ("size", _text(f"{max(1, total >> 20)}MiB"), "/proc/meminfo, MemTotal"),
        ("bandwidth", _text(f"{three_digits(level.bandwidth / scale)}{unit}"), in_a_row),
        ("latency", _text(f"{three_digits(1e9 * level.latency)}ns"), at_random),
    ]


def _threads(fork_join: float) -> list[Row]:
    text = f"{three_digits(1e6 * fork_join)}us"
    return [("fork_join", _text(text), "measured: another core that looks out for it, and back")]


def _block(title: str, rows: Sequence[Row]) -> Iterator[str]:
    """The lines of one table, comments below each other where they do not come to lie far out."""
    if title:
        yield title
    texts = [f"{key} = {value}" for key, value, _ in rows]
    commented = [text for text, row in zip(texts, rows, strict=True) if row[2]]
    column = max((len(text) for text in commented if len(text) <= _COLUMN), default=0)
    for text, (_, _, source) in zip(texts, rows, strict=True):
        yield f"{text:<{column}} # {source}" if source else text


def _frequency(hertz: float) -> str:
    unit, scale = ("GHz", 1e9) if hertz >= 1e9 else ("MHz", 1e6)
    return f"{three_digits(hertz / scale)}{unit}"


def _size(size: int) -> str:
    text = sizes.exact(size)
    return text if text.endswith("iB") else f"{text}B"


def _number(value: float) -> str:
    """A TOML float, which has a decimal point."""
    text = three_digits(value)
    return text if "." in text else f"{text}.0"


def _text(text: str) -> str:
    """A TOML string: JSON's escapes are among TOML's, and nothing else is left to escape."""
    return json.dumps(printable(text), ensure_ascii=False)


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"

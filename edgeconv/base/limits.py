"""How much of anything a file may ask for: one table, held before anything else looks at the file.

A model, an array file, a board file and a report come from anywhere.  Each of them can ask for more
than a machine has in a few bytes: a shape of 2^62, functions that double, brackets in brackets.
What a file states is held to this table before memory or time is spent on it; `given` raises a
limit for a block of code, `--limit NAME=VALUE` for a command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from types import MappingProxyType

from edgeconv.base import sizes
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import did_you_mean

OPTION = "--limit"


@dataclass(frozen=True, slots=True)
class Limit:
    """One row: the largest value of something that is counted in ``counted``.

    ``guards`` says what is held to it.  ``most``: what it can be raised to, where what reads the
    file has a limit of its own (the recursion of a parser, the dimensions of an array).
    """

    name: str
    default: int
    counted: str
    guards: str
    most: int | None = None


_TABLE = (
    Limit("model-bytes", 64 << 30, "bytes", "a model file, and each file of external data"),
    Limit(
        "model-structure-bytes",
        1 << 30,
        "bytes",
        "a model file without its large tensors: what protobuf parses",
        most=(1 << 31) - 1,
    ),
    Limit("model-nodes", 100_000, "nodes", "a model, its functions and branches written out"),
    Limit("loop-trips", 1024, "trips", "a Loop or Scan whose body is written out"),
    Limit("model-depth", 32, "levels", "functions and subgraphs within each other", most=100),
    Limit("model-seconds", 600, "seconds", "reading a model and evaluating its constant part"),
    Limit(
        "search-seconds",
        1800,
        "seconds",
        "searching storage formats for a model, of processor time: other work adds nothing",
    ),
    Limit("name-length", 4096, "characters", "a name in a model or an array file"),
    Limit("tensor-rank", 16, "dimensions", "a tensor", most=32),
    Limit("tensor-elements", 1 << 32, "elements", "a tensor, and each dimension of one"),
    Limit(
        "window-elements",
        1 << 20,
        "elements",
        "a dimension of a convolution, pool or resize: input, output, kernel, stride, padding",
    ),
    Limit("folded-bytes", 4 << 30, "bytes", "all values that are evaluated when compiling"),
    Limit("folded-operations", 1 << 35, "operations", "evaluating one node when compiling"),
    Limit("evaluator-seconds", 600, "seconds", "onnx's evaluator, which runs a model for `verify`"),
    Limit("array-file-bytes", 16 << 30, "bytes", "an .npz file"),
    Limit("array-expanded-bytes", 16 << 30, "bytes", "the arrays of an .npz file, unpacked"),
    Limit("array-members", 4096, "arrays", "an .npz file"),
    Limit("array-header-bytes", 64 << 10, "bytes", "what describes one array of an .npz file"),
    Limit("board-bytes", 1 << 20, "bytes", "a board file"),
    Limit("pack-bytes", 64 << 20, "bytes", "the description of a CMSIS-Pack, unpacked"),
    Limit("board-depth", 16, "levels", "tables and lists within each other in a board file", 200),
    Limit("report-bytes", 256 << 20, "bytes", "a report.json"),
    Limit("state-bytes", 1 << 20, "bytes", "a manifest or a journal of an emitted folder"),
    Limit("tuning-bytes", 1 << 30, "bytes", "a file of measured times"),
    Limit("tuning-rows", 1_000_000, "rows", "a file of measured times"),
    Limit(
        "cycle-steps", 20_000_000, "steps", "the machine code of a firmware, for a bound in time"
    ),
    Limit(
        "report-depth", 32, "levels", "objects and lists within each other in a report.json", 200
    ),
)
TABLE: Mapping[str, Limit] = MappingProxyType({row.name: row for row in _TABLE})

# A context variable rather than a parameter of every reader: limits are the concern of the run, as
# its working directory is, and of none of the stages between the command line and a file.
_raised: ContextVar[Mapping[str, int]] = ContextVar("limits", default=MappingProxyType({}))


def limit(name: str) -> int:
    """The value of a limit that is in force.  Raises KeyError for a name not in the table."""
    row = TABLE[name]
    return _raised.get().get(name, row.default)


def held(name: str, value: int, where: str, what: str = "too large to read") -> int:
    """``value``, which is at most the limit ``name``.

    Raises EdgeconvError: ``what`` happened ``where`` (file, tensor, node), the value, the limit and
    the option that raises it.
    """
    if value > limit(name):
        raise exceeded(name, str(value), where, what)
    return value


def exceeded(name: str, got: str, where: str, what: str = "too large to read") -> EdgeconvError:
    """The error for a value that exceeds the limit ``name``; for callers that do not know by how
    much (``got`` is then "more than N")."""
    row = TABLE[name]
    rule = f"at most {limit(name)} {row.counted} ({name}: {row.guards})"
    hint = f"{OPTION} {name}=N raises it"
    if row.most is not None:
        hint += f" to {row.most} at most" if limit(name) < row.most else ", but no further"
    return EdgeconvError(what, where=where, got=f"{got} {row.counted}", rule=rule, hint=hint)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A limit of seconds by ``clock``, counted from when this is made."""

    name: str
    where: str
    end: float
    clock: Callable[[], float]

    @classmethod
    def of(cls, name: str, where: str, clock: Callable[[], float] | None = None) -> Deadline:
        """The time that the limit ``name`` leaves for what is done about ``where``; of the wall's
        clock unless another is given."""
        clock = clock or monotonic
        return cls(name, where, clock() + limit(name), clock)

    def check(self) -> None:
        """Raise TooLongError when the time is over."""
        if self.clock() > self.end:
            got = f"more than {limit(self.name)}"
            raise TooLongError(exceeded(self.name, got, self.where, "takes too long"))


class TooLongError(EdgeconvError):
    """The time of a `Deadline` is over."""

    def __init__(self, why: EdgeconvError) -> None:
        super().__init__(why.what, where=why.where, got=why.got, rule=why.rule, hint=why.hint)


@contextmanager
def given(values: Mapping[str, int]) -> Iterator[None]:
    """The block runs with other values of some limits.

    Raises EdgeconvError (exit status 2) for a name that is not in the table and a value that is not
    from 1 to what the row allows.
    """
    for name, value in values.items():
        _check(name, value)
    token = _raised.set(MappingProxyType({**_raised.get(), **values}))
    try:
        yield
    finally:
        _raised.reset(token)


def in_force() -> Mapping[str, int]:
    """The limits that differ from their default."""
    return {name: n for name, n in sorted(_raised.get().items()) if n != TABLE[name].default}


def parse(text: str) -> tuple[str, int]:
    """``NAME=VALUE`` of the command line; bytes may read 512M as other sizes do.

    Raises EdgeconvError (exit status 2) as `given`.
    """
    name, found, value = text.partition("=")
    if not found:
        raise _wrong(repr(text), "it reads NAME=VALUE")
    if name not in TABLE:
        raise _unknown(name)
    if TABLE[name].counted == "bytes":
        number = sizes.parse(value, f"{OPTION} {name}")
    elif value.isascii() and value.isdigit() and len(value) < 20:
        number = int(value)
    else:
        raise _wrong(f"{name}={value}", f"it is a number of {TABLE[name].counted}")
    _check(name, number)
    return name, number


def _check(name: str, value: int) -> None:
    if name not in TABLE:
        raise _unknown(name)
    most = TABLE[name].most
    if value < 1 or (most is not None and value > most):
        rule = "it is at least 1" if value < 1 else f"{most} is the most that can be read"
        raise _wrong(f"{name}={value}", rule)


def _unknown(name: str) -> EdgeconvError:
    return _wrong(repr(name), "there is no such limit", did_you_mean(name, list(TABLE)))


def _wrong(got: str, rule: str, hint: str = "see docs/limits.md") -> EdgeconvError:
    return UsageError(OPTION, got=got, rule=rule, hint=hint)

"""What words on the command line stand for; each raises EdgeconvError (exit status 2)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from edgeconv.base import sizes
from edgeconv.base.errors import EdgeconvError, UsageError

Value = TypeVar("Value")
Number = int | float  # a bool is an int

DEFAULT_RUNS = 20  # of `bench`
DEFAULT_TOLERANCE = 1e-4  # of `verify`: largest error over largest output
EFFORTS = ("fast", "thorough")  # of post-training quantisation
STRATEGIES = ("narrowing", "model", "genetic", "random")  # of `tune`
PACKAGES = (  # forms of `package`
    *("arduino", "esp-idf", "platformio", "zephyr", "cmsis-pack"),
    *("cmake", "pico-sdk", "conan", "rust"),
)
_NONE = "none"
_DIGITS = 18  # of a size: 64 bits hold them
_TRUTHS = {"true": True, "false": False}
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_VERSION = re.compile(r"[A-Za-z0-9 .,+\-_:()]{1,64}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,4})?|[+-]?(inf|nan)", re.ASCII)
NOTHING = (-1,)  # the shape that is stated of a sequence or an optional that holds nothing
SPEED, SIZE = CODE = ("speed", "size")  # what the compiler optimises the network for
NEAREST, TRUNCATE = ROUNDINGS = ("nearest", "truncate")  # of stored numbers
# What layers that pad a sliding window read at its ends: their padding, in each window, or the rows
# of the stream that lie there.
OF_WINDOW, OF_STREAM = BORDERS = ("window", "stream")


def _invalid(got: str, rule: str) -> EdgeconvError:
    return UsageError("invalid argument", got=repr(got), rule=rule)


def pair(got: str) -> tuple[str, str]:
    """``NAME=VALUE``; the name may hold ``=`` as ONNX names may."""
    name, found, value = got.rpartition("=")
    if not (name and found and value):
        raise _invalid(got, "it reads NAME=VALUE")
    return name, value


def shape(got: str) -> tuple[str, tuple[int, ...]]:
    """``NAME=1x3x224x224``; ``NAME=none`` of a sequence or an optional that holds nothing."""
    name, dims = pair(got)
    if dims == _NONE:
        return name, NOTHING
    if not all(dim.isascii() and dim.isdigit() for dim in dims.split("x")):
        raise _invalid(got, "a shape reads NAME=1x3x224x224")
    return name, tuple(int(dim) for dim in dims.split("x"))


def most(got: str) -> tuple[str, int]:
    """``NAME=300``: a size from 1 on."""
    name, size = pair(got)
    digits = size.lstrip("0")
    if not (size.isascii() and size.isdigit() and 0 < len(digits) <= _DIGITS):
        raise _invalid(got, f"a size is a whole number from 1 on, of {_DIGITS} digits at most")
    return name, int(digits)


def sliding(got: str) -> tuple[str, tuple[int, int]]:
    """``INPUT:AXIS=k``: the input, the axis and by how many rows its window moves."""
    place, rows = pair(got)
    name, _, axis = place.rpartition(":")
    numbers = (axis.removeprefix("-"), rows)
    if not (name and all(n.isascii() and n.isdigit() and len(n) <= _DIGITS for n in numbers)):
        raise _invalid(got, "it reads INPUT:AXIS=k, as in audio:1=2")
    return name, (int(axis), int(rows))


def value(got: str) -> tuple[str, str]:
    """``NAME=16000``, ``NAME=0,0,1,1``: the name, and its numbers as they stand, for `numbers`."""
    name, text = pair(got)
    numbers(text)
    return name, text


def numbers(got: str) -> tuple[Number, ...]:
    """Whole numbers, real ones, ``true`` and ``false``, separated by commas."""
    found: list[Number] = []
    for word in got.split(","):
        if word in _TRUTHS:
            found.append(_TRUTHS[word])
        elif _WHOLE.fullmatch(word):
            found.append(int(word))
        elif _REAL.fullmatch(word):
            found.append(float(word))
        else:
            rule = "values are numbers, true or false, separated by commas: NAME=16000 or NAME=0,1"
            raise _invalid(got, rule)
    return tuple(found)


def shape_word(shape: Iterable[int]) -> str:
    """What `shape` reads behind the name."""
    return _NONE if tuple(shape) == NOTHING else "x".join(map(str, shape))


def named(option: str, pairs: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """What a repeated ``option`` says, by name.  One name has one value, in whatever order they are
    given; ``*`` is a name like others, which those that are more exact override."""
    found: dict[str, Value] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise UsageError(
                f"{option} twice for one name",
                where=name,
                got=f"{_word(found[name])} and {_word(value)}",
                rule="a name has one value",
                hint="leave one of them out",
            )
    return found


def _word(value: object) -> str:
    """As it reads on the command line."""
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def count(got: str) -> int:
    """A positive integer."""
    if not (got.isascii() and got.isdigit() and int(got) > 0):
        raise _invalid(got, "a positive number is needed")
    return int(got)


def _number(got: str) -> float:
    """A number; NaN, which no comparison is true of, for what is none."""
    try:
        return float(got)
    except ValueError:
        return math.nan


def tolerance(got: str) -> float:
    """A finite number that is not negative."""
    if not 0.0 <= (value := _number(got)) < math.inf:
        raise _invalid(got, "a tolerance is a number of at least 0, relative to the largest output")
    return value


def version(got: str) -> str:
    """What a user calls a version: characters that mean nothing in C, JSON or Markdown."""
    if not _VERSION.fullmatch(got):
        raise _invalid(
            got, "a version is 1 to 64 letters, digits, spaces and any of . , + - _ : ( )"
        )
    return got


def words(got: str) -> tuple[str, ...]:
    """``A,B``: two different words or more, separated by commas."""
    found = tuple(got.split(","))
    if len(set(found)) < 2 or not all(found):
        raise _invalid(got, "at least two different names are needed, separated by commas")
    return found


def minutes(got: str) -> float:
    """A positive finite number."""
    if not 0.0 < (value := _number(got)) < math.inf:
        raise _invalid(got, "a positive number of minutes is needed")
    return value


def decibels(got: str) -> float:
    """A finite number: least ratio of signal to noise, in dB."""
    if not math.isfinite(value := _number(got)):
        raise _invalid(got, "a ratio of signal to noise is a number of dB")
    return value


def fraction(got: str) -> float:
    """A number from 0 to 1."""
    if not 0.0 <= (value := _number(got)) <= 1.0:
        raise _invalid(got, "a fraction of samples is needed, from 0 to 1")
    return value


def size_of(option: str) -> Callable[[str], int]:
    """Reads the bytes that follow ``option``."""
    return lambda got: sizes.parse(got, option)

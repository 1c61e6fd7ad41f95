"""The file of ``--preprocess``: what a camera delivers, and what becomes of it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgeconv.base import regular_file
from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.base.schema import is_whole
from edgeconv.ir.preprocessing import LARGEST
from edgeconv.model.preprocessing.formats import CHANNELS, FORMATS, PixelFormat

OPTION = "--preprocess"
FLIPS, MODES, FITS = (
    ("none", "horizontal", "vertical", "both"),
    ("linear", "nearest"),
    ("stretch", "letterbox"),
)
LAYOUTS = ("nchw", "nhwc")
_MOST_BYTES = 1 << 16  # of the file
_LARGEST_NUMBER = 1e15  # of means and deviations: what they make of a byte is float32
_TABLES: Mapping[str, tuple[str, ...]] = {
    "frame": ("format", "width", "height", "stride", "flip"),
    "resize": ("mode", "fit", "fill"),
    "normalise": ("mean", "std"),
    "network": ("input", "channels", "layout"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a preprocessing file says.  ``stride``: bytes from row to row.  ``fill``: bytes around
    a letterbox, ``mean`` and ``std`` of each channel, one number for all or one each.  ``input``,
    ``layout``: "" where they follow from the network."""

    path: Path
    format: str
    width: int
    height: int
    stride: int
    flip: str
    mode: str
    fit: str
    fill: tuple[float, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    input: str
    channels: str
    layout: str

    @property
    def pixel_format(self) -> PixelFormat:
        return FORMATS[self.format]

    def per_channel(self, key: str) -> tuple[float, ...]:
        """The numbers of ``key``, one for each channel.  Raises UsageError where there are others
        than the channels."""
        found: tuple[float, ...] = getattr(self, key)
        count = max(1, len(CHANNELS[self.channels]))
        if len(found) not in (1, count):
            raise self.error(
                key, f"{len(found)} numbers", f"the network has {count} channels, {self.channels}"
            )
        return found if len(found) == count else found * count

    def as_json(self) -> dict[str, Any]:
        """What report.json keeps of it."""
        return {**asdict(self), "path": self.path.name}

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> Settings:
        """The settings that `as_json` made."""
        found: dict[str, Any] = {
            key: tuple(each) if isinstance(each, list) else each for key, each in given.items()
        }
        return cls(**{**found, "path": Path(given["path"])})

    def error(self, key: str, got: str, rule: str, hint: str = "") -> UsageError:
        return _error(self.path, key, got, rule, hint)


def read(path: Path) -> Settings:
    """The settings in ``path``.  Raises UsageError that names the key, and EdgeconvError where the
    file cannot be read."""
    tables = _parsed(path)
    frame, resize = _Table(path, "frame", tables), _Table(path, "resize", tables)
    normalise, network = _Table(path, "normalise", tables), _Table(path, "network", tables)
    kind = frame.word("format", tuple(FORMATS))
    width, height = frame.pixels("width"), frame.pixels("height")
    row = FORMATS[kind]
    for key, size, even in zip(("height", "width"), (height, width), row.even, strict=True):
        if even and size % 2:
            raise _error(
                path,
                f"frame.{key}",
                str(size),
                f"pixels of {kind} share their colours: {key} is even",
                f"crop the frame to {size - 1}, or take a format with a colour for each",
            )
    least = width * row.pixel_bytes
    channels = network.word("channels", tuple(CHANNELS), "grey" if kind == "grey" else "rgb")
    return Settings(
        path=path,
        format=kind,
        width=width,
        height=height,
        stride=frame.stride(least),
        flip=frame.word("flip", FLIPS, FLIPS[0]),
        mode=resize.word("mode", MODES, MODES[0]),
        fit=resize.word("fit", FITS, FITS[0]),
        fill=resize.numbers("fill", 0.0, low=0.0, high=255.0),
        mean=normalise.numbers("mean", 0.0),
        std=normalise.numbers("std", 1.0, positive=True),
        input=network.text("input"),
        channels=channels,
        layout=network.word("layout", LAYOUTS, ""),
    )


def _parsed(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise UsageError(OPTION, where=str(path), rule="no such file")
    try:
        with regular_file.opened(path) as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(OPTION, where=str(path), rule=f"at most {_MOST_BYTES} bytes")
        tables = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(OPTION, where=str(path), got=f"no TOML: {error}") from None
    for name, keys in tables.items():
        if name not in _TABLES:
            raise _unknown(path, name, _TABLES)
        if not isinstance(keys, dict):
            raise _error(path, name, repr(keys), f"it is a table: [{name}]")
        for key in keys:
            if key not in _TABLES[name]:
                raise _unknown(
                    path, f"{name}.{key}", [f"{name}.{known}" for known in _TABLES[name]]
                )
    return tables


def _unknown(path: Path, key: str, known: Sequence[str] | Mapping[str, Any]) -> UsageError:
    hint = did_you_mean(key, known) or f"there are {', '.join(known)}"
    return _error(path, key, "", "no such key", hint)


def _error(path: Path, key: str, got: str, rule: str, hint: str = "") -> UsageError:
    return UsageError(OPTION, where=f"{key} in {path.name}", got=got, rule=rule, hint=hint)


class _Table:
    """A table of the file, by its keys."""

    def __init__(self, path: Path, name: str, tables: Mapping[str, Any]) -> None:
        self._path, self._name = path, name
        self._given: Mapping[str, Any] = tables.get(name, {})

    def _error(self, key: str, got: object, rule: str, hint: str = "") -> UsageError:
        text = "" if got is None else repr(got)
        return _error(self._path, f"{self._name}.{key}", text, rule, hint)

    def text(self, key: str) -> str:
        found = self._given.get(key, "")
        if not isinstance(found, str):
            raise self._error(key, found, "a word in quotation marks")
        return found

    def word(self, key: str, words: Sequence[str], default: str | None = None) -> str:
        """One of ``words``; without a ``default`` it must be there."""
        found = self._given.get(key, default)
        if found is None:
            raise self._error(key, None, "it is missing", f"one of {', '.join(words)}")
        if found not in words and found != default:
            raise self._error(key, found, f"one of {', '.join(words)}")
        return str(found)

    def pixels(self, key: str) -> int:
        found = self._given.get(key)
        if found is None:
            raise self._error(key, None, "it is missing", "pixels of the camera's frame")
        if not is_whole(found) or not 1 <= found <= LARGEST:
            raise self._error(key, found, f"a whole number of pixels, 1 to {LARGEST}")
        return int(found)

    def stride(self, least: int) -> int:
        found = self._given.get("stride", least)
        if not is_whole(found) or not least <= found <= 8 * LARGEST:
            rule = f"bytes from row to row: a row of pixels has {least}"
            raise self._error("stride", found, rule, "leave it out where rows have no padding")
        return int(found)

    def numbers(
        self,
        key: str,
        default: float,
        *,
        low: float = -_LARGEST_NUMBER,
        high: float = _LARGEST_NUMBER,
        positive: bool = False,
    ) -> tuple[float, ...]:
        """A number, or one per channel."""
        found = self._given.get(key, default)
        each = found if isinstance(found, list) else [found]
        for number in each:
            real = isinstance(number, int | float) and not isinstance(number, bool)
            if not real or not low <= number <= high:  # NaN is not
                bounds = f" from {low:g} to {high:g}"
                raise self._error(key, number, f"a number{bounds}, or one per channel")
            if positive and number * _LARGEST_NUMBER < 1:
                rule = (
                    f"numbers above 0, by which values are divided: {1 / _LARGEST_NUMBER:g} or more"
                )
                raise self._error(key, number, rule)
        if not each:
            raise self._error(key, found, "a number, or one per channel")
        return tuple(map(float, each))

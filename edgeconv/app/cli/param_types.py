"""Parameter types of the command line: how they are read, and completed in a shell; and what
options are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from edgeconv.app.cli.lazy import later
from edgeconv.base import limits
from edgeconv.base.arguments import pair, shape, sliding, value
from edgeconv.base.errors import EdgeconvError
from edgeconv.model.tensor_names import input_names, tensor_names
from edgeconv.target import board_folders

Complete = Callable[[str], Iterable[str]]


def _read(read: Callable[[str], Any], word: str, param: click.Parameter | None) -> Any:
    """What ``read`` makes of a word; its errors name the option."""
    try:
        return read(word)
    except EdgeconvError as error:
        if error.where or not isinstance(param, click.Option):
            raise
        raise error.at(param.opts[0]) from error


class Word(click.ParamType[Any]):
    """A word that ``read`` understands, which raises EdgeconvError; ``complete`` may know some of
    those that begin as a given one."""

    def __init__(self, read: Callable[[str], Any], complete: Complete | None = None) -> None:
        self.name = getattr(read, "__name__", "text")
        self._read, self._complete = read, complete

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _read(self._read, value, param) if isinstance(value, str) else value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        if not self._complete:
            return []
        try:
            found = list(self._complete(incomplete))
        except EdgeconvError:  # the command itself will say it, where there is a line to say it on
            return []
        return [CompletionItem(word) for word in found if word.startswith(incomplete)]


class File(click.ParamType[Any]):
    """A path, which the shell completes."""

    name = "path"

    def __init__(self, kind: str = "file") -> None:
        self._kind = kind  # as CompletionItem has it

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return Path(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=self._kind)]


def _of_pairs(values: Callable[[], Iterable[str]], *names: str) -> Complete:
    """Completes ``NAME=VALUE``: the value, and before that one of ``names``."""

    def complete(word: str) -> Iterable[str]:
        name, found, _ = word.rpartition("=")
        for before in (name,) if found else names:
            for each in values():
                yield f"{before}={each}"

    return complete


def argument(name: str, kind: click.ParamType[Any], metavar: str, **more: Any) -> click.Argument:
    """A word without an option in front."""
    return click.Argument([name], type=kind, metavar=metavar, **more)


def option(
    names: str, kind: click.ParamType[Any], metavar: str | None, about: str, **more: Any
) -> click.Option:
    """An option with a value.  ``names`` are separated by spaces."""
    about += "; may be repeated" if more.get("multiple") else ""
    return click.Option(names.split(), type=kind, metavar=metavar, help=about, **more)


def flag(names: str, about: str, **more: Any) -> click.Option:
    """An option without a value."""
    return click.Option(names.split(), is_flag=True, help=about, **more)


class TensorName(click.ParamType[Any]):
    """A tensor of the model that is named before it; with a ``read``, an input and what it reads
    behind a ``=``."""

    def __init__(self, read: Callable[[str], Any] | None = None) -> None:
        self.name = getattr(read, "__name__", "tensor")
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _read(self._read, value, param) if self._read and isinstance(value, str) else value

    def _known(self, path: Path) -> Iterable[str]:
        """The words that a model has of this kind."""
        return [f"{name}=" for name in input_names(path)] if self._read else tensor_names(path)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names that a shell takes as they are: what is completed may be run as it stands, and a
        name is whatever the author of a file made it."""
        # An option without its value ends the parse, and the model stays among the words.
        model = ctx.params.get("model") or next(iter(ctx.args), None)
        try:
            names = self._known(Path(model)) if model else ()
        except (EdgeconvError, OSError, ValueError):  # as above
            return []
        known = [name for name in names if name.startswith(incomplete)]
        return [CompletionItem(name) for name in known if _HARMLESS.fullmatch(name)]


_HARMLESS = re.compile(r"[A-Za-z0-9_./+@%,][A-Za-z0-9_./+@%,:=-]*")
FILE, FOLDER = File(), File("dir")
TEXT, TENSOR = Word(str), TensorName()
INPUT_SHAPE, INPUT_VALUE = TensorName(shape), TensorName(value)
SLIDING = Word(sliding)
LIMIT = Word(limits.parse, lambda _: (f"{name}=" for name in limits.TABLE))
BOARD = Word(str, lambda _: sorted(board_folders.files()))
ALGORITHM = Word(pair, _of_pairs(later("edgeconv.kernels.algorithms:algorithms"), "*"))
STORAGE = Word(
    pair, _of_pairs(later("edgeconv.search.choose.storage:weight_formats"), "*", "*:output")
)

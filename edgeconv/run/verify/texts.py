"""Inputs and outputs that are strings in the model, bytes or indices of a table in a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.visible import visible
from edgeconv.ir.strings import decoded, encoded
from edgeconv.run.build.project import Port, Text

Values = npt.NDArray[Any]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_UTF8 = "texts are UTF-8"
_LONGEST = 12  # of a text that is made up


def as_stored(values: Mapping[str, Values], ports: Iterable[Port]) -> dict[str, Values]:
    """``values`` of the model, strings as a program has them.

    Raises EdgeconvError for a string that it has no place for.
    """
    found = dict(values)
    for port in ports:
        if port.text is not None and port.name in found and found[port.name].dtype.kind in "OSU":
            found[port.name] = _stored(found[port.name], port, port.text)
    return found


def _stored(values: Values, port: Port, text: Text) -> Values:
    try:
        texts = [each.decode() if isinstance(each, bytes) else str(each) for each in values.flat]
        if not text.table:
            room = port.shape[-1]
            return encoded(texts, room).reshape(*values.shape, room)
        at = {each: i for i, each in enumerate(text.table)}
        return np.array([at[each] for each in texts], np.int64).reshape(values.shape)
    except KeyError as error:
        got, rule = visible(str(error.args[0])), "the table of the program does not have it"
    except UnicodeError as error:
        got, rule = str(error), _UTF8
    except ValueError as error:
        got, rule = str(error), f"there is room for {port.shape[-1]} bytes of UTF-8"
    raise EdgeconvError("a string", where=visible(port.name), got=got, rule=rule)


def given(values: Values, port: Port) -> Values:
    """An input of the user's that is strings, as the program reads it; others as they are.

    Raises EdgeconvError (exit status 2) for a string that there is no room for."""
    if port.text is None or values.dtype.kind not in "OSU":
        return values
    try:
        return _stored(values, port, port.text)
    except EdgeconvError as error:
        raise UsageError(
            error.what,
            where=error.where,
            got=error.got,
            rule=error.rule,
            hint=""
            if error.rule == _UTF8
            else f"compile with --max-size {visible(port.name)}=N for N bytes",
        ) from None


def readable(values: Mapping[str, Values], ports: Iterable[Port]) -> dict[str, Values]:
    """``values`` of a program, strings as such."""
    found = dict(values)
    for port in ports:
        if port.text is not None and port.name in found:
            strings = decoded(found[port.name], port.text.table)
            found[port.name] = strings.astype(np.str_)
    return found


def made_up(port: Port, text: Text, rng: np.random.Generator) -> Values:
    """A seeded input: strings that the model knows of, and now and then one that it does not."""
    room, count = port.shape[-1], port.elements // max(port.shape[-1], 1)
    known = [each for each in text.examples if len(each.encode()) <= room]
    texts = []
    for _ in range(count):
        if known and rng.integers(4):
            texts.append(known[rng.integers(len(known))])
        else:
            letters = rng.integers(len(_LETTERS), size=1 + rng.integers(min(room, _LONGEST)))
            texts.append("".join(_LETTERS[i] for i in letters))
    return encoded(texts, room).reshape(port.shape)

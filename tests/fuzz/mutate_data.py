"""Mutants of data in tables and lists, as JSON and TOML have it, and of the bytes of their text."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any


def damaged(source: random.Random, text: bytes) -> bytes:
    """A few bytes changed, and perhaps the end cut off."""
    data = bytearray(text)
    for _ in range(source.choice((1, 4))):
        data[source.randrange(len(data))] = source.randrange(256)
    return bytes(data[: source.choice((len(data), source.randrange(len(data))))])


def change(source: random.Random, data: Any, values: Sequence[Any]) -> None:
    """Something in tables and lists, somewhere: each depth is as likely as another.

    ``values``: what may take the place of another, or come in.
    """
    holder, key, depth = data, None, source.randrange(1, 6)
    while depth and isinstance(holder, dict | list) and holder:
        key = source.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        inner, depth = holder[key], depth - 1
        if not depth or not isinstance(inner, dict | list) or not inner:
            break
        holder = inner
    if key is None:
        return
    kind = source.random()
    if kind < 0.2:
        del holder[key]
    elif kind < 0.3 and isinstance(holder, list):
        holder += [copy.deepcopy(holder[key])] * source.choice((1, 2, 200))
    elif kind < 0.45 and isinstance(holder[key], int | float):
        holder[key] = holder[key] * source.choice((-1, 0, 2, 10**6, 10**12))
    elif kind < 0.5 and isinstance(holder, dict):
        holder[source.choice(("", "x" * 5000, "\x1b", key))] = source.choice(values)
    else:
        holder[key] = copy.deepcopy(source.choice(values))

"""Functions that are imported when they are called: completion and --help wait for no pipeline."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def later(where: str) -> Callable[..., Any]:
    """The function at ``module:name``."""
    module, _, name = where.partition(":")

    def call(*given: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*given, **named)

    return call

"""The runtime headers a program uses, copied once each between Begin and End banners."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable

_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)
_STANDARD = re.compile(r"^#include <[^>]+>\n", re.MULTILINE)


def runtime() -> Traversable:
    """The folder of the runtime headers inside the package."""
    return resources.files("edgeconv.runtime_c")


def _read(folder: str, name: str) -> str:
    """A header with its own ``#include "..."`` lines replaced by what they name."""
    text = (runtime() / folder / name).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda match: _read(folder, match.group(1)), text)


def _banner(kind: str, name: str) -> str:
    return f"/*{f' {kind} {name} ':*^96}*/\n"


def amalgamate(isa_header: str, kernels: Iterable[str]) -> Iterator[str]:
    """The common header, the ISA header and the kernels in the given order, each once."""
    wanted = [("", "ec_common.h"), ("isa", isa_header)]
    wanted += [("kernels", name) for name in dict.fromkeys(kernels)]
    for folder, name in wanted:
        yield _banner("Begin", name) + _read(folder, name) + _banner("End", name)

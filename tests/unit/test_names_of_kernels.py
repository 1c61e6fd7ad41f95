"""Names of kernel headers: any of them may be in one program with any other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from edgeconv.codegen.amalgamate import SCALINGS
from edgeconv.kernels.headers import runtime

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# Functions, enumerations, structures and types; a macro of another header's name may be meant.
_DEFINED = re.compile(
    r"^(?:EC_\w+ )[^;{}()]*?\b(ec_\w+)\([^;{}]*\)\s*\{|^\} (ec_\w+);|^typedef [^;{}()]*\b(ec_\w+);",
    re.MULTILINE,
)
_INSTEAD = {name for row in SCALINGS.values() for name in row.values()}


def _defined(text: str) -> Iterator[str]:
    for found in _DEFINED.findall(_COMMENT.sub("", text)):
        yield from filter(None, found)


def test_no_two_headers_define_one_name() -> None:
    headers = defaultdict(set)
    for header in (runtime() / "kernels").iterdir():
        if header.name.endswith(".h") and header.name not in _INSTEAD:
            for name in _defined(header.read_text(encoding="utf-8")):
                headers[name].add(header.name)
    assert len(headers) > 500
    assert {name: found for name, found in headers.items() if len(found) > 1} == {}

"""The bound in cycles in the header, which is known when the program has been built."""

from __future__ import annotations

import re

from edgeconv.codegen.c_names import c_comment
from edgeconv.ir.check import InvariantError

_BEFORE = "/* Results. */\n"
_MACRO = re.compile(
    r"/\* No \w+_run takes more cycles of the .*\n.*\n#define \w+_CYCLES_MAX .*\n\n"
)


def with_cycles(header: str, name: str, cycles: int, cpu: str) -> str:
    """The text of NAME.h with the macro NAME_CYCLES_MAX.  ``cpu``: the core that it counts for."""
    if header.count(_BEFORE) != 1:
        raise InvariantError("the header has no place for the bound in cycles")
    suffix = "u" if cycles < 1 << 32 else "ull"
    upper = name.upper()
    macro = (
        f"/* No {name}_run takes more cycles of the {c_comment(cpu)}, interrupts and what else\n"
        f"   uses the bus left out: of this source, as edgeconv builds it for its board. */\n"
        f"#define {upper}_CYCLES_MAX {cycles}{suffix}\n\n"
    )
    return header.replace(_BEFORE, macro + _BEFORE)


def without_cycles(header: str) -> str:
    """The text of NAME.h as it was before `with_cycles`."""
    return _MACRO.sub("", header)

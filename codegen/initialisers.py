"""Constants of kernel calls as C: structs with named members, numbers as literals or parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from edgeconv.codegen.c_names import c_float, c_list
from edgeconv.ir.choice import KernelEpilogue, Number, Param, Whole

Member = int | float | str | tuple[int, ...]
_WIDTH = 92
_ZERO = "0.0f"
# What C makes of a member that is not named; the enumerators stand for zero.
_UNSAID = frozenset({"0", _ZERO, "EC_F32", "EC_ACT_NONE", "NULL"})


def dims(prefix: str, values: Sequence[int], suffixes: Sequence[str] = "dhw") -> dict[str, int]:
    """Members ``<prefix>_d``, ``<prefix>_h`` and ``<prefix>_w``, or with other suffixes."""
    named = zip(suffixes, values, strict=True)
    return {f"{prefix}_{suffix}": value for suffix, value in named}


def inline(names: Sequence[str], values: Sequence[Member]) -> str:
    """The initialiser of a member that is a struct itself, on one line; 0 without values."""
    texts = zip(names, map(_text, values), strict=True) if values else ()
    named = [f".{name} = {text}" for name, text in texts if text not in _UNSAID]
    return f"{{{', '.join(named)}}}" if named else "0"


def nest(sizes: Sequence[int]) -> str:
    """The initialiser of an ec_nest."""
    return f"{{.dims = {len(sizes)}, .size = {c_list(sizes)}}}"


def window(
    in_size: Sequence[int],
    out_size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    in_ring: int = 0,
    out_ring: int = 0,
) -> str:
    """The initialiser of an ec_window; sizes are (depth, height, width), rings rows that memory
    holds at a time, 0 where it holds all."""
    return struct(
        dims("in", in_size),
        dims("out", out_size),
        dims("kernel", kernel),
        {**dims("stride", strides), **dims("dilation", dilations), **dims("pad", pads)},
        {"in_ring": in_ring, "out_ring": out_ring},
    )


def requantisation(values: Sequence[int | float]) -> str:
    """The initialiser of an ec_requantise; 0 without values."""
    alone = ("asked", "offset", "right", "low", "high")
    added = ("by_sum", "by_residual", "sum_offset", "sum_right", "sum_low", "sum_high", "sum_ties")
    return inline((*alone, "has_residual", *added, "as_float", "zero", "scale", "apart"), values)


def strips(flat: Sequence[int]) -> str:
    """The initialiser of an array of ec_strips: column, count, width and edge of each in turn."""
    names = ("column", "count", "width", "edge")
    each = [dict(zip(names, flat[i : i + 4], strict=True)) for i in range(0, len(flat), 4)]
    return f"{{{', '.join(struct(row) for row in each)}}}"


def _text(value: Member) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return c_float(value)
    if isinstance(value, tuple):
        return c_list(value) if any(value) else "0"
    return str(int(value))


def struct(*rows: Mapping[str, Member]) -> str:
    """A braced initialiser that names its members, those of a row side by side; what is zero is
    left out, as C has it.  -0.0 is a number like others."""
    texts = [{name: _text(value) for name, value in row.items()} for row in rows]
    named = [
        [f".{name} = {text}" for name, text in row.items() if text not in _UNSAID] for row in texts
    ]
    lines = [line.replace("\n", "\n    ") for row in named for line in _lines(row)]
    if len(lines) < 2 and "\n" not in "".join(lines):
        return f"{{{lines[0] if lines else 0}}}"
    text = ",\n    ".join(lines)
    return f"{{\n    {text}\n}}"


def _lines(members: Sequence[str]) -> Iterator[str]:
    """As many of ``members`` on each as fit."""
    line = ""
    for member in members:
        joined = f"{line}, {member}" if line else member
        if len(joined) > _WIDTH and line:
            yield line
            joined = member
        line = joined
    if line:
        yield line


@dataclass(frozen=True, slots=True)
class EpilogueInC:
    """The epilogue of a kernel call in C.  ``residual``: there is one.  ``declaration``: that of
    the constant epilogue.  The formats are those of residual and result."""

    residual: bool
    declaration: str
    residual_as: str
    out_as: str

    @property
    def source(self) -> str:
        """The parameter that points to the residual, or NULL."""
        return "residual" if self.residual else "NULL"


@dataclass(slots=True)
class Numbers:
    """The constants of one layer, in its C function.

    ``gathered``: they are parameters; ``passed`` has their names, with the literals that a caller
    passes, ``declared`` what declares them.  0 remains a literal: it stands where nothing is said.
    """

    gathered: bool
    passed: dict[str, str] = field(default_factory=dict)
    declared: list[str] = field(default_factory=list)

    def in_c(self, name: str, value: Param) -> Param | EpilogueInC:
        """A parameter of a template as the template sees it."""
        if isinstance(value, Number):
            return self._number(name, value.value)
        if isinstance(value, Whole) and value and self.gathered:
            return self._parameter("int", name, str(int(value)))
        return self._epilogue(value) if isinstance(value, KernelEpilogue) else value

    def _number(self, name: str, value: float) -> str:
        literal = c_float(value)
        if not self.gathered or literal == _ZERO:
            return literal
        return self._parameter("float", name, literal)

    def _parameter(self, c_type: str, name: str, literal: str) -> str:
        self.passed[name] = literal
        self.declared.append(f"{c_type} {name}")
        return name

    def _epilogue(self, epilogue: KernelEpilogue) -> EpilogueInC:
        members: dict[str, Member] = {}
        before = len(self.passed)
        for side in ("before", "after"):
            activation = epilogue.before if side == "before" else epilogue.after
            members[side] = f"EC_ACT_{activation.kind.upper()}"
            for letter in ("alpha", "beta", "gamma"):
                name = f"{side}_{letter}"
                members[name] = self._number(name, getattr(activation, letter))
            if side == "before":
                members |= {"has_residual": int(epilogue.residual)}
        members |= {"residual_as": epilogue.residual_as, "out_as": epilogue.out_as}
        storage = "const" if len(self.passed) > before else "static const"
        return EpilogueInC(
            epilogue.residual,
            f"{storage} ec_epilogue epilogue = {struct(members)};",
            epilogue.residual_as,
            epilogue.out_as,
        )

"""Straight-line routines of a program as functions of vectors, and the functions that pick one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import jinja2

from edgeconv.codegen.c_names import c_float
from edgeconv.ir.straight_line import Elements, Routine, Terms


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The C names of a type of elements: that of vectors, what picks a routine, and the names of
    sums.

    ``plus``: a sum and a factor's product, added to it.
    """

    name: str
    transform: str
    add: str
    subtract: str
    product: Callable[[Fraction, str], str]
    plus: Callable[[Fraction, str, str], str]


def _literal(factor: Fraction) -> str:
    return f"ec_set1({c_float(float(factor))})"


def _whole(letter: str, transform: str) -> _Vectors:
    """The vectors of integers, whose functions begin with ``ec_`` and a letter."""

    def product(factor: Fraction, name: str) -> str:
        return f"ec_{letter}times({factor}, {name})"

    def plus(factor: Fraction, name: str, text: str) -> str:
        added = "add" if factor > 0 else "sub"
        return f"ec_{letter}{added}({text}, {product(abs(factor), name)})"

    return _Vectors(
        f"ec_{letter}vec", transform, f"ec_{letter}add", f"ec_{letter}sub", product, plus
    )


_VECTORS = {
    Elements.FLOAT32: _Vectors(
        *("ec_vec", "ec_transform", "ec_add", "ec_sub"),
        lambda factor, name: f"ec_mul({_literal(factor)}, {name})",
        lambda factor, name, text: f"ec_fma({_literal(factor)}, {name}, {text})",
    ),
    Elements.INT16: _whole("h", "ec_transform_input"),
    Elements.INT32: _whole("i", "ec_transform_sums"),
}


@dataclass(frozen=True, slots=True)
class _Function:
    """A routine in C."""

    enumerator: str
    function: str
    vector: str
    transform: str
    does: str
    lines: Sequence[str]


def routines_header(
    env: jinja2.Environment, routines: Iterable[Routine], *, integers: bool = False
) -> str:
    """C for those of ``routines`` that are of float32, or of ``integers``, each once; nothing where
    there are none."""
    wanted = (r for r in routines if (r.of is not Elements.FLOAT32) == integers)
    each = [_function(r) for r in dict.fromkeys(wanted)]
    named = {"guard": "EC_INTEGER_ROUTINES", "enum": "ec_integer_routine"}
    if not integers:
        named = {"guard": "EC_ROUTINES", "enum": "ec_routine"}
    return env.get_template("routines.h.j2").render(routines=each, **named) if each else ""


def _function(r: Routine) -> _Function:
    vectors = _VECTORS[r.of]
    lines = tuple(_lines(r, vectors))
    return _Function(r.enumerator, f"ec_{r.name}", vectors.name, vectors.transform, r.does, lines)


def _lines(routine: Routine, vectors: _Vectors) -> list[str]:
    read = [name for each in routine.sums for _, name in each.terms] + list(routine.outputs)
    inputs = [i for i in range(routine.inputs) if f"x{i}" in read]
    lines = [f"const {vectors.name} {', '.join(f'x{i} = v[{i}]' for i in inputs)};"]
    for each in routine.sums:
        lines.append(f"const {vectors.name} {each.name} = {_expression(each.terms, vectors)};")
    return lines + [f"v[{i}] = {name};" for i, name in enumerate(routine.outputs)]


def _expression(terms: Terms, vectors: _Vectors) -> str:
    """The sum as nested calls, the first term innermost."""
    (factor, name), *more = terms
    text = name if factor == 1 else vectors.product(factor, name)
    for factor, name in more:
        if abs(factor) != 1:
            text = vectors.plus(factor, name, text)
        else:
            text = f"{vectors.add if factor > 0 else vectors.subtract}({text}, {name})"
    return text

"""Straight-line routines of a program as functions of vectors, and the function that picks one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import jinja2

from edgeconv.codegen.c_names import c_float
from edgeconv.ir.straight_line import Routine, Terms


@dataclass(frozen=True, slots=True)
class _Function:
    """A routine in C."""

    enumerator: str
    function: str
    does: str
    lines: Sequence[str]


def routines_header(env: jinja2.Environment, routines: Iterable[Routine]) -> str:
    """C for ``routines``, each once; nothing where there are none."""
    each = [
        _Function(r.enumerator, f"ec_{r.name}", r.does, tuple(_lines(r)))
        for r in dict.fromkeys(routines)
    ]
    return env.get_template("routines.h.j2").render(routines=each) if each else ""


def _lines(routine: Routine) -> list[str]:
    read = [name for each in routine.sums for _, name in each.terms] + list(routine.outputs)
    inputs = [i for i in range(routine.inputs) if f"x{i}" in read]
    lines = [f"const ec_vec {', '.join(f'x{i} = v[{i}]' for i in inputs)};"]
    lines += [f"const ec_vec {each.name} = {_expression(each.terms)};" for each in routine.sums]
    return lines + [f"v[{i}] = {name};" for i, name in enumerate(routine.outputs)]


def _expression(terms: Terms) -> str:
    """The sum as nested calls, the first term innermost."""
    (factor, name), *more = terms
    text = name if factor == 1 else f"ec_mul({_literal(factor)}, {name})"
    for factor, name in more:
        if abs(factor) != 1:
            text = f"ec_fma({_literal(factor)}, {name}, {text})"
        else:
            text = f"{'ec_add' if factor > 0 else 'ec_sub'}({text}, {name})"
    return text


def _literal(factor: Fraction) -> str:
    return f"ec_set1({c_float(float(factor))})"

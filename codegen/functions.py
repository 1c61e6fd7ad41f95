"""One C function per distinct layer plan: equal bodies are emitted once and shared."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from textwrap import dedent, indent

import jinja2

from edgeconv.codegen.c_names import c_epilogue, c_float, c_list, identifier
from edgeconv.ir.choice import ArgKind, Layer


@cache  # compiling the templates takes longer than rendering them
def environment() -> jinja2.Environment:
    """The template environment: undefined names are errors, no blank lines around statements."""
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("edgeconv.codegen", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    env.filters.update(c_float=c_float, c_list=c_list, c_epilogue=c_epilogue)
    return env


# Distinct functions from which on compilers take too long over one per set of numbers: GCC inlines
# each into the one that calls them all, and works longer than proportionally on that one.
MANY = 128
# Where the numbers of a layer are that no loop bound or choice of instructions depends on.
_NUMBERS = re.compile(r"^(?P<start> *)(?:static )?const (?P<what>ec_epilogue e|float scale) = ")
_LITERAL = re.compile(r"(?<![\w.])-?\d[\d.]*(?:e[-+]?\d+)?f\b")
_ZERO = "0.0f"


@dataclass(frozen=True, slots=True)
class Function:
    """A C function: ``text`` is complete."""

    name: str
    text: str


@dataclass(slots=True)
class FunctionTable:
    """Renders layers to functions, sharing those whose signature and body are equal.

    ``gathered``: numbers of epilogues and of quantisation are parameters, so that layers which
    differ in nothing else share a function too, and none is inlined where it is called.
    """

    env: jinja2.Environment
    prefix: str
    lanes: int
    gathered: bool = False
    functions: dict[tuple[str, str], Function] = field(default_factory=dict)
    _numbers: Counter[str] = field(default_factory=Counter)

    def call_of(self, layer: Layer, copied: tuple[bool, ...]) -> tuple[Function, tuple[str, ...]]:
        """The function that computes ``layer``, and the literals to pass behind the layer's own
        arguments.

        ``copied[i]`` says that alias i of the layer was not granted, so that its bytes must move.
        """
        parameters = [
            f"{'' if arg.kind in (ArgKind.OUTPUT, ArgKind.WORKSPACE) else 'const '}"
            f"{arg.c_type} *{arg.c_name}"
            for arg in layer.args
        ]
        rendered = self.env.get_template(layer.template).render(
            **layer.params, copied=copied, lanes=self.lanes
        )
        body = indent(dedent(rendered).strip("\n"), "    ")
        numbers: tuple[str, ...] = ()
        if self.gathered:
            body, numbers = _with_parameters(body)
            parameters += [f"float {_parameter(i)}" for i in range(len(numbers))]
        signature = ", ".join(parameters)
        key = signature, body
        if key not in self.functions:
            kind = identifier(layer.algorithm)
            self._numbers[kind] += 1
            name = f"{self.prefix}_{kind}_{self._numbers[kind]}"
            storage = "EC_SHARED" if self.gathered else "static"
            text = f"{storage} void {name}({signature})\n{{\n{body}\n}}\n"
            self.functions[key] = Function(name, text)
        return self.functions[key], numbers


def _parameter(number: int) -> str:
    return f"number_{number}"


def _with_parameters(body: str) -> tuple[str, tuple[str, ...]]:
    """``body`` with parameters in the place of its numbers, and the numbers."""
    found: list[str] = []

    def parameter(literal: re.Match[str]) -> str:
        if literal[0] == _ZERO:
            return _ZERO
        found.append(literal[0])
        return _parameter(len(found) - 1)

    lines = body.split("\n")
    for at, line in enumerate(lines):
        if head := _NUMBERS.match(line):
            rest = _LITERAL.sub(parameter, line[head.end() :])
            lines[at] = f"{head['start']}const {head['what']} = {rest}"
    return "\n".join(lines), tuple(found)

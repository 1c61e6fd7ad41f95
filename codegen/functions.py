"""One C function per distinct layer plan: equal bodies are emitted once and shared."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, partial
from textwrap import dedent, indent

import jinja2

from edgeconv.codegen.c_names import c_float, c_list
from edgeconv.codegen.function_names import described
from edgeconv.codegen.initialisers import (
    Numbers,
    dims,
    inline,
    nest,
    requantisation,
    strips,
    struct,
    window,
)
from edgeconv.codegen.instances import on_float16
from edgeconv.codegen.lines import broken, remarks
from edgeconv.codegen.loops import loop_text
from edgeconv.codegen.shares import ITEMS, ROWS, Items
from edgeconv.codegen.template_cache import TemplateCache
from edgeconv.ir.candidate import HALF
from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import ArgKind, Layer
from edgeconv.kernels.lowering.splits import outermost


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
        bytecode_cache=TemplateCache(),
    )
    env.filters.update(c_float=c_float, c_list=c_list, broken=broken, remarks=remarks)
    env.globals.update(struct=struct, dims=dims, inline=inline, nest=nest)
    env.globals.update(requantisation=requantisation, strips=strips, window=window)
    env.globals.update(count_of=math.prod, outermost=outermost)
    return env


# Distinct functions from which on compilers take too long over one per set of numbers: GCC inlines
# each into the one that calls them all, and works longer than proportionally on that one.
MANY = 128
# From how many on sets of numbers are gathered where that makes less than half as many functions.
ALIKE = 32
NOBODY = Items()  # where no workers share a layer


@dataclass(frozen=True, slots=True)
class Function:
    """A C function: ``text`` is complete."""

    name: str
    text: str


@dataclass(slots=True)
class FunctionTable:
    """Renders layers to functions, sharing those whose signature and body are equal.

    ``lanes``: of vectors of float32; ``half_lanes``: of those of float16, if there are any.
    ``gathered``: numbers of epilogues and of quantisation are parameters, so that layers which
    differ in nothing else share a function too, and none is inlined where it is called.
    """

    env: jinja2.Environment
    prefix: str
    lanes: int
    half_lanes: int = 0
    gathered: bool = False
    functions: dict[tuple[str, str], Function] = field(default_factory=dict)
    _numbers: Counter[str] = field(default_factory=Counter)

    def call_of(
        self,
        layer: Layer,
        copied: tuple[bool, ...],
        *,
        by_rows: bool = False,
        by_columns: bool = False,
        items: Items = NOBODY,
    ) -> tuple[Function, tuple[str, ...]]:
        """The function that computes ``layer``, and the literals to pass behind the layer's own
        arguments.

        ``copied[i]`` says that alias i of the layer was not granted, so that its bytes must move.
        ``by_rows``: behind all others it takes the rows to compute, [row0, row1).  ``by_columns``:
        then the columns.  ``items``: where they are shared, the range of items comes behind
        those.
        """
        parameters = [
            f"{'' if arg.kind in (ArgKind.OUTPUT, ArgKind.WORKSPACE) else 'const '}"
            f"{arg.c_type} *{arg.c_name}"
            for arg in layer.args
        ]
        numbers = Numbers(self.gathered)
        params = {name: numbers.in_c(name, value) for name, value in layer.params.items()}
        called = partial(self._call_in_body, items=Items(items.workers))
        body_lines = loop_text(layer, called) if layer.body else []
        half = layer.compute == HALF
        rendered = self.env.get_template(layer.template).render(
            **params,
            copied=copied,
            lanes=self.half_lanes if half else self.lanes,
            by_rows=by_rows,
            items=items,
            body=body_lines,
        )
        body = _unpacking(layer) + indent(dedent(rendered).strip("\n"), "    ")
        if by_rows and not ("row0" in body and "row1" in body):
            raise InvariantError(f"emit: {layer.template} computes all rows at once")
        if by_columns and "columns" not in body:
            raise InvariantError(f"emit: {layer.template} computes all columns at once")
        if items.shared and not all(re.search(rf"\b{name}\b", body) for name in ITEMS):
            raise InvariantError(f"emit: {layer.template} computes all items at once")
        parameters += numbers.declared
        parameters += [f"int {name}" for name in ROWS] if by_rows else []
        parameters += ["const ec_columns *columns"] if by_columns else []
        parameters += [f"int {name}" for name in ITEMS] if items.shared else []
        signature = ", ".join(parameters)
        if half:
            signature, body = on_float16(signature), on_float16(body)
        key = signature, body
        if key not in self.functions:
            kind = described(layer)
            self._numbers[kind] += 1
            name = f"{self.prefix}_{kind}_{self._numbers[kind]}"
            storage = "EC_SHARED" if self.gathered else "static"
            lines = "\n".join(
                map(broken, (f"{storage} void {name}({signature})", "{", *body.split("\n")))
            )
            text = f"{lines}\n}}\n"
            self.functions[key] = Function(name, text)
        return self.functions[key], tuple(numbers.passed.values())

    def _call_in_body(
        self, layer: Layer, copied: tuple[bool, ...], *, items: Items
    ) -> tuple[str, tuple[str, ...]]:
        """The name of the function of a layer in the body of a loop, and the literals to pass."""
        function, numbers = self.call_of(layer, copied, items=items)
        return function.name, numbers


def _unpacking(layer: Layer) -> str:
    """The first lines of a function whose filters lie packed."""
    made = layer.unpacked
    if made is None:
        return ""
    place = f"((unsigned char *)workspace + {made.at})" if made.at else "workspace"
    return (
        f"    {made.c_type} *const {made.c_name} = "
        f"({made.c_type} *){place};\n"
        f"    ec_unpack_int{made.bits}({made.c_name}, packed_{made.c_name}, {made.bytes}, "
        f"{made.times});\n"
    )

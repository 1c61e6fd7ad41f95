"""One C function per distinct layer plan: equal bodies are emitted once and shared."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Function:
    """A C function: ``text`` is complete."""

    name: str
    text: str


@dataclass(slots=True)
class FunctionTable:
    """Renders layers to functions, sharing those whose signature and body are equal."""

    env: jinja2.Environment
    prefix: str
    lanes: int
    functions: dict[tuple[str, str], Function] = field(default_factory=dict)

    def function_for(self, layer: Layer, copied: tuple[bool, ...]) -> Function:
        """The function that computes ``layer``.

        ``copied[i]`` says that alias i of the layer was not granted, so that its bytes must move.
        """
        signature = ", ".join(
            f"{'' if arg.kind in (ArgKind.OUTPUT, ArgKind.WORKSPACE) else 'const '}"
            f"{arg.c_type} *{arg.c_name}"
            for arg in layer.args
        )
        rendered = self.env.get_template(layer.template).render(
            **layer.params, copied=copied, lanes=self.lanes
        )
        body = indent(dedent(rendered).strip("\n"), "    ")
        key = signature, body
        if key not in self.functions:
            kind = identifier(layer.algorithm)
            number = 1 + sum(
                f.name.startswith(f"{self.prefix}_{kind}_") for f in self.functions.values()
            )
            name = f"{self.prefix}_{kind}_{number}"
            text = f"static void {name}({signature})\n{{\n{body}\n}}\n"
            self.functions[key] = Function(name, text)
        return self.functions[key]

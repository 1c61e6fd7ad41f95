"""What ONNX defines by a formula, written as one: terms append the nodes that compute them.

``x / (1 + abs(x))``, for instance, appends a Unary and two Binary nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from edgeconv.base.names import untaken
from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Array, Epilogue, Node, Tensor
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops.base import ImportContext, Importer, Source
from edgeconv.kernels.ops.importing import broadcast


@dataclass(slots=True)
class Formula:
    """Canonical nodes, in order, that together do what one ONNX node does."""

    source: Source
    ctx: ImportContext
    nodes: list[Node] = field(default_factory=list)

    def inputs(self) -> list[Term]:
        """The inputs of the source that are present."""
        return [Term(self, name) for name in self.source.inputs if name]

    def constant(self, value: float | Array, suffix: str = "") -> Term:
        """A float32 constant, called after its value where there is no better name."""
        hint = f"{self.source.read}/{suffix or format(value, 'g')}"
        return Term(self, self.ctx.add_constant(hint, np.asarray(value, dtype=np.float32)))

    def typed_constant(self, value: Array, suffix: str) -> Term:
        """A constant of the type that ``value`` has."""
        return Term(self, self.ctx.add_constant(f"{self.source.read}/{suffix}", value))

    def add(
        self,
        op: str,
        operands: Sequence[Term | str],
        shape: Shape,
        suffix: str = "",
        epilogue: Epilogue = Epilogue(),
        dtype: str = "",
        /,
        **attrs: Any,
    ) -> Term:
        """Append ``op`` of ``operands`` ("": an absent one), whose result has ``shape`` and is of
        ``dtype`` ("": that of the first operand).

        Node and result are called after the source, with ``suffix`` or else ``op`` behind.
        """
        suffix = suffix or op.lower()
        name = untaken(f"{self.source.name}/{suffix}", {node.name for node in self.nodes})
        reads = tuple(each.name if isinstance(each, Term) else each for each in operands)
        like = Tensor("", shape, dtype or self.ctx.tensor(reads[0]).dtype)
        output = self.ctx.add_tensor(f"{self.source.read}/{suffix}", shape, like)
        self.nodes.append(Node(name, op, reads, (output,), attrs, epilogue))
        return Term(self, output)

    def finish(self, result: Term) -> list[Node]:
        """All nodes; the one that computes ``result`` writes the source's output.

        Raises what `ImportContext.reject` makes where operands that broadcast to more than the
        operator allows have made it another number of elements."""
        output, last = self.source.outputs[0], self.nodes[-1] if self.nodes else None
        have, want = (self.ctx.tensor(name) for name in (result.name, output))
        if have.size != want.size:
            got = f"operands that make a result of {list(have.shape)}"
            raise self.ctx.reject(self.source, got, f"the operator's is {list(want.shape)}")
        if last and last.output == result.name and have.shape == want.shape:
            self.nodes.pop()
        else:
            last = Node("", "Reshape", (result.name,), ())
        self.nodes.append(replace(last, name=self.source.name, outputs=(output,)))
        return self.nodes


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A tensor in a formula.  Operands broadcast as in numpy; numbers become constants."""

    formula: Formula
    name: str

    @property
    def shape(self) -> Shape:
        return self.formula.ctx.tensor(self.name).shape

    def binary(self, kind: str, other: Term | float) -> Term:
        """``kind`` of both, as a Binary node has it."""
        formula = self.formula
        right = other if isinstance(other, Term) else formula.constant(other)
        shape = broadcast(formula.source, formula.ctx, self.shape, right.shape)
        return formula.add("Binary", (self, right), shape, kind, kind=kind)

    def __add__(self, other: Term | float) -> Term:
        return self.binary("add", other)

    def __sub__(self, other: Term | float) -> Term:
        return self.binary("sub", other)

    def __mul__(self, other: Term | float) -> Term:
        return self.binary("mul", other)

    def __truediv__(self, other: Term | float) -> Term:
        return self.binary("div", other)

    def apply(self, kind: str, *parameters: float) -> Term:
        """The function of one variable that `Activation` calls ``kind``."""
        epilogue = Epilogue(Activation(kind, *parameters))
        return self.formula.add("Unary", (self,), self.shape, kind, epilogue)

    def reduce(self, kind: str, axes: Shape, keepdims: bool = True, suffix: str = "") -> Term:
        """``kind`` over ``axes``, as a Reduce node has it."""
        ones = (1,) if keepdims else ()
        sizes = (ones if i in axes else (size,) for i, size in enumerate(self.shape))
        attrs = {"kind": kind, "axes": axes, "keepdims": keepdims}
        shape = tuple(chain.from_iterable(sizes))
        return self.formula.add("Reduce", (self,), shape, suffix or kind, **attrs)

    def reshape(self, *shape: int) -> Term:
        """A term of the same elements in the same order.

        Raises what `ImportContext.reject` makes of an operand with another number of elements."""
        if math.prod(self.shape) != math.prod(shape):
            formula, rule = self.formula, f"it has as many elements as {list(shape)}"
            raise formula.ctx.reject(
                formula.source, f"{self.name!r} of shape {list(self.shape)}", rule
            )
        return self.formula.add("Reshape", (self,), shape)

    def transpose(self, *perm: int) -> Term:
        """Dimension i is what was ``perm[i]``."""
        return self.formula.add("Transpose", (self,), tuple(self.shape[i] for i in perm), perm=perm)


def spelled_out(formula: Callable[..., Term]) -> Importer:
    """The importer of an operator that computes ``formula(source, x, ...)`` of its inputs."""

    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        made = Formula(source, ctx)
        return made.finish(formula(source, *made.inputs()))

    return importer

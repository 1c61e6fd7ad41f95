"""Functions of one number that take several operators, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.ir.activation import Activation


@dataclass(frozen=True, slots=True)
class Applied:
    """``function`` of value ``of``."""

    function: Activation
    of: int


@dataclass(frozen=True, slots=True)
class Combined:
    """``kind`` of two operands, as a Binary node has it: numbers of values, or constants."""

    kind: str
    a: int | float
    b: int | float


@dataclass(frozen=True, slots=True)
class Pointwise:
    """Value 0 is the argument, value i + 1 what step i makes of those before it; the last one is
    the result."""

    steps: tuple[Applied | Combined, ...]

    def __str__(self) -> str:
        """``grid(sigmoid(x)) * x``, without the parameters of functions."""
        texts = ["x"]
        for step in self.steps:
            if isinstance(step, Applied):
                texts.append(f"{step.function.kind}({texts[step.of]})")
            else:
                a, b = (texts[v] if isinstance(v, int) else f"{v:g}" for v in (step.a, step.b))
                texts.append(f"{step.kind}({a}, {b})")
        return texts[-1]

"""Steps of an optimiser, ONNX's ai.onnx.preview.training, as arithmetic: what adapts a network on
the device runs them as any other operator (https://onnx.ai/onnx/operators/index.html)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from onnx import TensorProto

from edgeconv.model.frontend.definitions.definition import Definition, Row
from edgeconv.model.frontend.definitions.fused import number, text

DOMAIN = "ai.onnx.preview.training"
_ONCE = 2  # inputs that all tensors share: learning rate and number of updates

# What updates tensor i, one of the number of them.
Update = Callable[[Definition, int, int], None]


def _mul(d: Definition, x: str, y: str | float) -> str:
    return d.add("Mul", [x, y if isinstance(y, str) else number(d, "factor", y)])


def _add(d: Definition, x: str, y: str | float) -> str:
    return d.add("Add", [x, y if isinstance(y, str) else number(d, "term", y)])


def _regularised(d: Definition, x: str, gradient: str) -> str:
    """gradient + norm_coefficient x."""
    return _add(d, gradient, _mul(d, x, d.number("norm_coefficient", 0.0)))


def _count(d: Definition) -> str:
    return d.add("Cast", [d.input(1)], to=TensorProto.FLOAT)


def _operands(d: Definition, i: int, count: int, kinds: int) -> list[str]:
    """For tensor i one input of each kind; the inputs list all of a kind before the next."""
    return [d.input(_ONCE + kind * count + i) for kind in range(kinds)]


def _adagrad(d: Definition, i: int, count: int) -> None:
    """H' = H + g^2, X' = X - R / (1 + T decay_factor) g / (sqrt(H') + epsilon)."""
    x, gradient, squares = _operands(d, i, count, 3)
    g = _regularised(d, x, gradient)
    slower = _add(d, _mul(d, _count(d), d.number("decay_factor", 0.0)), 1.0)
    rate = d.add("Div", [d.input(0), slower])
    total = d.add("Add", [squares, d.add("Mul", [g, g])], d.output(count + i))
    size = _add(d, d.add("Sqrt", [total]), d.number("epsilon", 0.0))
    d.add("Sub", [x, d.add("Div", [d.add("Mul", [rate, g]), size])], d.output(i))


def _adam(d: Definition, i: int, count: int) -> None:
    """V' = alpha V + (1 - alpha) g, H' = beta H + (1 - beta) g^2,
    X' = (1 - norm_coefficient_post) (X - r V' / (sqrt(H') + epsilon)), where r is R, and after the
    first update R sqrt(1 - beta^T) / (1 - alpha^T)."""
    x, gradient, mean, squares = _operands(d, i, count, 4)
    alpha, beta = d.number("alpha", 0.9), d.number("beta", 0.999)
    g = _regularised(d, x, gradient)
    old, new = _mul(d, mean, alpha), _mul(d, g, 1 - alpha)
    mean = d.add("Add", [old, new], d.output(count + i))
    old, new = _mul(d, squares, beta), _mul(d, d.add("Mul", [g, g]), 1 - beta)
    squares = d.add("Add", [old, new], d.output(2 * count + i))
    updates = _count(d)
    one = number(d, "one", 1.0)
    less = [
        d.add("Sub", [one, d.add("Pow", [number(d, "base", base), updates])])
        for base in (alpha, beta)
    ]
    adjusted = d.add("Div", [_mul(d, d.input(0), d.add("Sqrt", less[1:])), less[0]])
    later = d.add("Greater", [updates, number(d, "zero", 0.0)])
    rate = d.add("Where", [later, adjusted, d.input(0)])
    size = _add(d, d.add("Sqrt", [squares]), d.number("epsilon", 0.0))
    moved = d.add("Sub", [x, _mul(d, rate, d.add("Div", [mean, size]))])
    post = number(d, "kept", 1 - d.number("norm_coefficient_post", 0.0))
    d.add("Mul", [moved, post], d.output(i))


def _momentum(d: Definition, i: int, count: int) -> None:
    """V' = alpha V + b g, where b is beta but 1 in the first update; X' = X - R V', in the mode
    nesterov X - R (g + alpha V')."""
    x, gradient, mean = _operands(d, i, count, 3)
    mode = text(d, "mode")
    if mode not in ("standard", "nesterov"):
        raise d.rejected(f"mode {mode!r}", "it is standard or nesterov")
    g, alpha = _regularised(d, x, gradient), d.number("alpha", 0.0)
    later = d.add("Greater", [_count(d), number(d, "zero", 0.0)])
    factors = number(d, "beta", d.number("beta", 1.0)), number(d, "one", 1.0)
    new = _mul(d, g, d.add("Where", [later, *factors]))
    mean = d.add("Add", [_mul(d, mean, alpha), new], d.output(count + i))
    step = mean if mode == "standard" else _add(d, g, _mul(d, mean, alpha))
    d.add("Sub", [x, _mul(d, d.input(0), step)], d.output(i))


def _each(kinds: int, update: Update) -> Callable[[Definition], None]:
    def write(d: Definition) -> None:
        count, more = divmod(len(d.node.input) - _ONCE, kinds)
        if more or len(d.node.output) != count * (kinds - 1):
            got = f"{len(d.node.input)} inputs, {len(d.node.output)} outputs"
            raise d.rejected(got, f"each tensor has {kinds} inputs and {kinds - 1} outputs")
        for i in range(count):
            update(d, i, count)

    return write


ROWS: Mapping[str, Row] = {
    "Adagrad": Row("R T", _each(3, _adagrad), "X G H", integers=False),
    "Adam": Row("R T", _each(4, _adam), "X G V H", integers=False),
    "Momentum": Row("R T", _each(3, _momentum), "X G V", integers=False),
}

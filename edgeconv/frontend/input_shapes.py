"""Static shapes for the inputs of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

from edgeconv.errors import EdgeconvError, Exit
from edgeconv.ir.layout import Shape
from edgeconv.registry import did_you_mean

Dim = int | str  # a size, or the symbol of a free dimension ("" when it has none)


def fix_shapes(
    inputs: Sequence[onnx.ValueInfoProto], wanted: Mapping[str, Shape], path: Path
) -> tuple[dict[str, Shape], list[str]]:
    """The shape of every input, and notes on the dimensions that were assumed.

    ``wanted`` gives shapes by input name; they must agree with what the model fixes, and bind its
    symbols for the other inputs too.  A first dimension that stays free is the batch: 1.
    Raises EdgeconvError: an unknown name or a conflict has exit status 2, a free dimension 1.
    """
    names = [value.name for value in inputs]
    for name in wanted:
        if name not in names:
            raise EdgeconvError(
                "--input-shape",
                where=str(path),
                got=f"input {name!r}",
                rule="the model has no such input",
                hint=did_you_mean(name, names),
                code=Exit.USAGE,
            )
    declared = {value.name: _declared(value) for value in inputs}
    symbols: dict[str, int] = {}
    for name, shape in wanted.items():
        _bind(name, declared[name], shape, symbols)
    shapes: dict[str, Shape] = {}
    notes: list[str] = []
    for name in names:
        dims = declared[name]
        if name in wanted:
            shapes[name] = tuple(wanted[name])
            continue
        if dims is None:
            raise _free(name, "no shape at all", "")
        known = [symbols.get(d, d) if isinstance(d, str) else d for d in dims]
        if known and isinstance(known[0], str):
            symbol, known[0] = known[0], 1
            if symbol:
                symbols[symbol] = 1
            named = f" {symbol!r}" if symbol else ""
            notes.append(f"input {name!r}: its free first dimension{named} (batch) is taken as 1")
        free = [(axis, d) for axis, d in enumerate(known) if isinstance(d, str)]
        if free:
            axis, symbol = free[0][0], str(free[0][1])
            got = f"dimension {axis}" + (f" ({symbol!r})" if symbol else "") + " without a size"
            raise _free(name, got, "x".join("?" if isinstance(d, str) else str(d) for d in known))
        shapes[name] = tuple(d for d in known if isinstance(d, int))
    return shapes, notes


def _declared(value: onnx.ValueInfoProto) -> tuple[Dim, ...] | None:
    """The dimensions of an input; None when the model does not even give their number."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(d.dim_value if d.dim_value > 0 else d.dim_param for d in tensor.shape.dim)


def _bind(name: str, dims: tuple[Dim, ...] | None, shape: Shape, symbols: dict[str, int]) -> None:
    """Check ``shape`` against the model's ``dims`` and note the value of every symbol."""
    given = "x".join(map(str, shape))
    if min(shape, default=1) < 1:
        raise _conflict(name, given, "dimensions must be positive")
    if dims is None:
        return
    model = "x".join(str(d) or "?" for d in dims)
    if len(dims) != len(shape):
        raise _conflict(name, given, f"the model's input has {len(dims)} dimensions ({model})")
    for dim, size in zip(dims, shape, strict=True):
        fixed = symbols.setdefault(dim, size) if isinstance(dim, str) and dim else dim
        if isinstance(fixed, int) and fixed != size:
            known = f"{dim!r} is {fixed} elsewhere" if isinstance(dim, str) else "fixed"
            raise _conflict(name, given, f"the model's input is {model} ({known})")


def _conflict(name: str, given: str, rule: str) -> EdgeconvError:
    return EdgeconvError(
        "--input-shape", where=f"input {name!r}", got=given, rule=rule, code=Exit.USAGE
    )


def _free(name: str, got: str, example: str) -> EdgeconvError:
    return EdgeconvError(
        "the shape of an input is not static",
        where=f"input {name!r}",
        got=got,
        rule="every dimension needs a size when C is generated",
        hint=f"give it with --input-shape {name}={example or '1x3x224x224'}",
    )

"""Static shapes for the inputs of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.ir.layout import Shape

_FREE = -1

Dim = int | str  # a size, or the symbol of a free dimension ("" when it has none)


@dataclass(frozen=True, slots=True)
class Fixed:
    """``shapes`` of the inputs; ``notes`` on dimensions that were assumed.  ``claimed``: what the
    model states of those inputs that are given another shape, in words; "" where none is."""

    shapes: dict[str, Shape]
    notes: list[str]
    claimed: str


def fix_shapes(
    inputs: Sequence[onnx.ValueInfoProto],
    wanted: Mapping[str, Shape],
    path: Path,
    *,
    binding: bool = False,
) -> Fixed:
    """The shape of every input.

    ``wanted`` gives shapes by input name, and binds the model's symbols for the other inputs too.
    They agree with what the model fixes beside dimensions that it leaves free.  Where it leaves
    none free it has the sizes that its exporter happened to see, and those that are given count:
    what does not follow from them is refused where it stands.  ``binding``: sizes that are stated
    are meant, all of them.  A first dimension that stays free is the batch: 1.
    Raises EdgeconvError: an unknown name or a conflict has exit status 2, a free dimension 1.
    """
    names = [value.name for value in inputs]
    for name in wanted:
        if name not in names:
            raise UsageError(
                "--input-shape",
                where=str(path),
                got=f"input {name!r}",
                rule="the model has no such input",
                hint=did_you_mean(name, names),
            )
    declared = {value.name: _declared(value) for value in inputs}
    symbols: dict[str, int] = {}
    claims: list[str] = []
    for name, shape in wanted.items():
        dims = declared[name]
        if not binding and _is_another(dims, shape):
            claims.append(f"{_words(dims or ())} for {name!r}")
        else:
            _bind(name, dims, shape, symbols)
    shapes: dict[str, Shape] = {}
    notes: list[str] = []
    free: dict[str, str] = {}  # input -> what it lacks
    examples: list[str] = []
    for name in names:
        dims = declared[name]
        if name in wanted:
            shapes[name] = tuple(wanted[name])
            continue
        if dims is None:
            free[name] = "no shape at all"
            examples.append(f"{name}=1x3x224x224")
            continue
        known = [symbols.get(d, d) if isinstance(d, str) else d for d in dims]
        if known and isinstance(known[0], str):
            symbol, known[0] = known[0], 1
            if symbol:
                symbols[symbol] = 1
            named = f" {symbol!r}" if symbol else ""
            notes.append(f"input {name!r}: its free first dimension{named} (batch) is taken as 1")
        lacking = [(axis, d) for axis, d in enumerate(known) if isinstance(d, str)]
        if lacking:
            axis, symbol = lacking[0]
            named = f" ({symbol!r})" if symbol else ""
            free[name] = f"dimension {axis}{named} without a size"
            sizes = ("?" if isinstance(d, str) else str(d) for d in known)
            examples.append(f"{name}={'x'.join(sizes)}")
        shapes[name] = tuple(d for d in known if isinstance(d, int))
    if free:
        raise _free(free, examples)
    claimed = f"the model states {', '.join(claims)}" if claims else ""
    if claimed:
        notes.append(f"{claimed}; --input-shape replaces it, and no other size it states counts")
    return Fixed(shapes, notes, claimed)


def _is_another(dims: tuple[Dim, ...] | None, shape: Shape) -> bool:
    """Whether ``shape`` is one of as many dimensions, where the model leaves none free."""
    stated = dims is not None and len(dims) == len(shape) and min(shape, default=0) >= 0
    return stated and dims != shape and not any(isinstance(dim, str) for dim in dims or ())


def _words(dims: tuple[Dim, ...]) -> str:
    return "x".join(str(dim) or "?" for dim in dims)


def _declared(value: onnx.ValueInfoProto) -> tuple[Dim, ...] | None:
    """The dimensions of an input; None when the model does not even give their number.

    Some exporters write -1 for a free dimension; 0 is a size.
    """
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value < 0 and dim.dim_value != _FREE:
            raise EdgeconvError(
                "the model is invalid",
                where=f"input {value.name!r}",
                got=f"a dimension of size {dim.dim_value}",
                rule="dimensions are not negative; a free one has a name and no size",
            )
    return tuple(
        d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else _symbol(d.dim_param)
        for d in tensor.shape.dim
    )


def _symbol(name: str) -> str:
    """``name``, or "" where it is none: some exporters write "?" for every free dimension."""
    return name if any(c.isalpha() for c in name) else ""


def _bind(name: str, dims: tuple[Dim, ...] | None, shape: Shape, symbols: dict[str, int]) -> None:
    """Check ``shape`` against the model's ``dims`` and note the value of every symbol."""
    given = "x".join(map(str, shape))
    if min(shape, default=0) < 0:
        raise _conflict(name, given, "dimensions are not negative")
    if dims is None:
        return
    model = _words(dims)
    if len(dims) != len(shape):
        raise _conflict(name, given, f"the model's input has {len(dims)} dimensions ({model})")
    for dim, size in zip(dims, shape, strict=True):
        fixed = symbols.setdefault(dim, size) if isinstance(dim, str) and dim else dim
        if isinstance(fixed, int) and fixed != size:
            known = f"{dim!r} is {fixed} elsewhere" if isinstance(dim, str) else "fixed"
            raise _conflict(name, given, f"the model's input is {model} ({known})")


def _conflict(name: str, given: str, rule: str) -> EdgeconvError:
    return UsageError("--input-shape", where=f"input {name!r}", got=given, rule=rule)


def _free(free: Mapping[str, str], examples: Sequence[str]) -> EdgeconvError:
    name, got = next(iter(free.items()))
    return EdgeconvError(
        "the shape of an input is not static",
        where=f"input {name!r}",
        got=got,
        rule="every dimension needs a size when C is generated",
        hint="give it with " + " ".join(f"--input-shape {example}" for example in examples),
    )

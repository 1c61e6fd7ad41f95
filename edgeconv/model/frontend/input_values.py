"""Inputs of a model whose value is known when compiling: they become constants of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from edgeconv.base.arguments import Number, numbers
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.ir.graph import Node, Tensor

OPTION = "--input-value"
_MOST = 16  # elements of an input whose value one would state
_ONE = (0, 1)  # what a bool may be written as


def fix(graph: onnx.GraphProto, values: Mapping[str, str]) -> None:
    """Make the inputs that ``values`` names constants of ``graph``, in place.

    ``values``: by input its numbers, as `edgeconv.base.arguments.numbers` reads them.  An input
    that has a constant to fall back on takes the value instead of it.

    Raises EdgeconvError (exit status 2) for a name that is no input, and for numbers that its type
    or its shape does not have.
    """
    inputs = {value.name: value for value in graph.input}
    for name, text in values.items():
        value = inputs.get(name)
        if value is None:
            rule, hint = "the model has no such input", did_you_mean(name, inputs)
            raise UsageError(OPTION, got=f"input {name!r}", rule=rule, hint=hint)
        if not value.type.HasField("tensor_type"):
            raise _error(name, text, "the values of tensors are stated, not of what holds tensors")
        made = numpy_helper.from_array(_array(value, text), name)
        for at in reversed(range(len(graph.initializer))):
            if graph.initializer[at].name == name:
                del graph.initializer[at]
        graph.initializer.append(made)
        graph.input.remove(value)


def notes(values: Mapping[str, str]) -> list[str]:
    """What of the model's inputs the program does not have."""
    return [f"input {name!r} is {text}, a constant of the program" for name, text in values.items()]


def _array(value: onnx.ValueInfoProto, text: str) -> npt.NDArray[Any]:
    """The numbers in ``text`` in the type and shape that the model declares for ``value``."""
    kind = value.type.tensor_type.elem_type
    found = numbers(text)
    known = kind in onnx.TensorProto.DataType.values()[1:]
    dtype = helper.tensor_dtype_to_np_dtype(kind) if known else np.dtype(object)
    called = onnx.TensorProto.DataType.Name(kind).lower() if known else f"type {kind}"
    wrong = next((each for each in found if not _is_of(each, dtype)), None)
    if wrong is not None:
        raise _error(value.name, text, f"the input is of {called}, which {wrong} is not")
    return np.array(found).astype(dtype).reshape(_shape(value, text, len(found)))


def _is_of(number: Number, dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` has ``number``; real numbers are rounded to it."""
    if dtype.kind == "b":
        return number in _ONE
    if isinstance(number, bool):
        return False
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return isinstance(number, int) and int(bounds.min) <= number <= int(bounds.max)
    if dtype.kind != "f":
        return False
    largest = float(np.finfo(dtype).max)
    return not math.isfinite(number) or abs(number) <= largest


def _shape(value: onnx.ValueInfoProto, text: str, count: int) -> tuple[int, ...]:
    """The declared shape, which ``count`` numbers fill; at most one dimension of it is free."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return () if count == 1 else (count,)
    sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
    free = [axis for axis, size in enumerate(sizes) if size < 0]
    rest = math.prod(size for size in sizes if size >= 0)
    if len(free) == 1 and rest and count % rest == 0:
        sizes[free[0]] = count // rest
    if min(sizes, default=0) < 0 or math.prod(sizes) != count:
        declared = "x".join("?" if size < 0 else str(size) for size in sizes) or "one number"
        numbered = "1 number does" if count == 1 else f"{count} numbers do"
        raise _error(value.name, text, f"the input is {declared}, which {numbered} not fill")
    return tuple(sizes)


def _error(name: str, text: str, rule: str) -> EdgeconvError:
    return UsageError(OPTION, where=f"input {name!r}", got=text, rule=rule)


def way_out(names: Iterable[str], nodes: Sequence[Node], tensors: Mapping[str, Tensor]) -> str:
    """Which inputs to state, where one of ``names`` depends on nothing but a few numbers of them;
    "" where none does.  ``nodes`` and ``tensors``: the graph so far."""
    writers = {output: node for node in nodes for output in node.outputs}
    found: dict[str, None] = {}
    for name in filter(None, names):
        found |= dict.fromkeys(_sources(name, writers, tensors))
    if not found:
        return ""
    stated = " ".join(f"{OPTION} {name}=VALUE" for name in found)
    return f"where the value is known beforehand, {stated} makes it a constant"


def _sources(
    name: str, writers: Mapping[str, Node], tensors: Mapping[str, Tensor]
) -> tuple[str, ...]:
    """The inputs that ``name`` is computed from; none where one of them is large or unknown."""
    waiting, seen, found = [name], {name}, list[str]()
    while waiting:
        each = waiting.pop()
        tensor, writer = tensors.get(each), writers.get(each)
        if tensor is not None and tensor.data is not None:
            continue
        if writer is not None:
            more = {other for other in writer.inputs if other} - seen
            seen |= more
            waiting += sorted(more)
        elif tensor is None or len(tensor.shape) > 1 or not 0 < tensor.size <= _MOST:
            return ()
        else:
            found.append(each)
    return tuple(sorted(found))

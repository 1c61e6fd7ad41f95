"""WHILE loops that count to a number, and the lists that they fill, an item in each trip, as
TensorFlow lowers its TensorList: these are what ONNX's Loop collects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgeconv.model.frontend.tflite.loop_terms import COUNTER, GIVEN, NEXT, NOTHING, Term, Terms
from edgeconv.model.frontend.tflite.writing import Writing
from edgeconv.model.tflite import Model, Operator, Tensor


@dataclass(frozen=True, slots=True)
class LoopLists:
    """A loop of ``length`` trips.  ``items``: loop variable of a list, of which each trip writes
    the next item and reads nothing -> that item, a tensor of the body."""

    length: int
    items: Mapping[int, int]


def counted_loop(out: Writing, operator: Operator) -> LoopLists | None:
    """The loop that a WHILE is; None of those whose length the condition does not say."""
    bodies, numbers = out.bodies, [operator.options[name] for name in ("cond", "body")]
    if not all(0 < number <= len(bodies) for number in numbers):
        return None
    condition, body = (bodies[number - 1] for number in numbers)
    counts = len(condition.inputs), len(body.inputs), len(body.outputs), len(operator.outputs)
    if set(counts) != {len(operator.inputs)}:
        return None
    given = [out.model.tensors[place] for place in operator.inputs]
    names = loop_variables(out, given)
    length, terms = length_of(out, condition, names), Terms(out, body, names)
    counters = (r for r, name in zip(terms.results(), names, strict=True) if name == COUNTER)
    if not length or any(result != NEXT for result in counters):
        return None
    items = {
        index: item
        for index, tensor in enumerate(given)
        if tensor.shape[:1] == (length,)
        and (item := _item(terms, body, index)) is not None
        and body.tensors[item].shape == (1, *tensor.shape[1:])
    }
    return LoopLists(length, items)


def loop_variables(out: Writing, given: Sequence[Tensor]) -> list[Term]:
    """What loop variables are in a trip: counters where they begin with 0."""
    return [
        COUNTER if _is_zero(out, tensor) else (GIVEN, index) for index, tensor in enumerate(given)
    ]


def length_of(out: Writing, condition: Model, names: Sequence[Term]) -> int | None:
    """How often a loop runs whose condition is that counters are below numbers."""
    terms = Terms(out, condition, names)
    (found,) = terms.results() if len(condition.outputs) == 1 else [NOTHING]
    bounds = found[1] if found[0] == "below" else ()
    return min(bounds, default=None)


def _is_zero(out: Writing, tensor: Tensor) -> bool:
    value = out.numbers_of(tensor)
    whole = tensor.dtype == "int32" and tensor.shape == ()
    return whole and value is not None and not np.any(value)


def _item(terms: Terms, body: Model, index: int) -> int | None:
    """What a trip puts into the list ``index``, in the place of the trip, reading nothing of it."""
    place, result = body.inputs[index], body.outputs[index]
    writers = [each for each in body.operators if result in each.outputs]
    if len(writers) != 1 or writers[0].kind != "CONCATENATION" or len(writers[0].inputs) != 3:
        return None
    before, item, behind = writers[0].inputs
    if (terms.term(before), terms.term(behind)) != (("before", index), ("behind", index)):
        return None
    readers = [each for each in body.operators if place in each.inputs]
    around = {before, behind}
    if any(not around.issuperset(each.outputs) for each in readers) or place in body.outputs:
        return None
    return item if writers[0].options["axis"] == 0 else None

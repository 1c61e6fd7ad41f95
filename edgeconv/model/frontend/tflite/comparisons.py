"""Operators that compare, that combine truths, and that choose by them."""

from __future__ import annotations

from edgeconv.model.frontend.tflite.elements import alike, is_quantised
from edgeconv.model.frontend.tflite.writing import Translator, UnsupportedError, Writing
from edgeconv.model.tflite import Operator


def compared(kind: str) -> Translator:
    """ONNX's ``kind`` of two operands: integers with a scale by the real numbers that they are."""

    def write(out: Writing, operator: Operator) -> None:
        out.move(operator, out.add(kind, _operands(out, operator), main=True))

    return write


def not_equal(out: Writing, operator: Operator) -> None:
    """NOT_EQUAL."""
    equal = out.add("Equal", _operands(out, operator))
    out.move(operator, out.add("Not", [equal], main=True))


def _operands(out: Writing, operator: Operator) -> list[str]:
    tensors = [out.tensor(operator, index) for index in range(2)]
    scaled = any(is_quantised(each) or each.dtype == "float16" for each in tensors)
    take = out.real if scaled else out.stored
    return [take(operator, index) for index in range(2)]


def logical(kind: str, operands: int) -> Translator:
    """ONNX's ``kind`` of truths."""

    def write(out: Writing, operator: Operator) -> None:
        names = [out.stored(operator, index) for index in range(operands)]
        out.move(operator, out.add(kind, names, main=True))

    return write


def select(out: Writing, operator: Operator) -> None:
    """SELECT: elements of the second operand or of the third, by one condition for all, by one for
    each index of the first dimension, or by one for each element."""
    condition, x = out.tensor(operator, 0), out.tensor(operator, 1)
    _require_bool(condition.dtype)
    chooses, rank = out.stored(operator, 0), len(x.shape)
    if len(condition.shape) == 1 and rank > 1:
        chooses = out.add("Unsqueeze", [chooses, out.value(range(1, rank))])
    elif len(condition.shape) not in (0, rank):
        raise UnsupportedError(f"a condition {list(condition.shape)} for {list(x.shape)}")
    _where(out, operator, chooses)


def select_v2(out: Writing, operator: Operator) -> None:
    """SELECT_V2: the same of operands that are broadcast."""
    _require_bool(out.tensor(operator, 0).dtype)
    _where(out, operator, out.stored(operator, 0))


def _require_bool(dtype: str) -> None:
    if dtype != "bool":
        raise UnsupportedError(f"a condition of {dtype}")


def _where(out: Writing, operator: Operator, condition: str) -> None:
    """The choice of integers with one scale as they are, of different scales in real numbers."""
    target = out.model.tensors[operator.outputs[0]]
    moves = all(alike(out.tensor(operator, index), target) for index in (1, 2))
    take = out.stored if moves else out.real
    y = out.add("Where", [condition, *(take(operator, i) for i in (1, 2))], main=True)
    if moves:
        out.move(operator, y)
    else:
        out.result(operator, y)

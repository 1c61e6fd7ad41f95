"""Writes what defines an operator: standard nodes, and the constants that they read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from edgeconv.base.names import untaken
from edgeconv.ir.layout import Shape
from edgeconv.model.frontend.problems import RejectedNodeError
from edgeconv.model.frontend.schedule import label

Values = npt.NDArray[Any]

DEFINED_IN = 23  # the opset of the definitions
DEFINED_BESIDE = {"ai.onnx.ml": 3}  # other domains that they use
BYTES = ("int8", "uint8")


@dataclass(slots=True)
class Definitions:
    """Writes the definitions of the nodes of one graph, in the order of the graph.

    ``constant``: the value of a name, None where it is none.  ``dtype``: the element type of a
    name, "" where it is not known.  ``shape``: that of a name, None where it is not known.
    ``reserved``: names that no new value may take.  ``folds``: dequantise constants here, for the
    opsets whose DequantizeLinear has one scale only.

    A tensor that several nodes read by the same scale is dequantised once.
    """

    constant: Callable[[str], Values | None]
    dtype: Callable[[str], str] = lambda name: ""
    shape: Callable[[str], Shape | None] = lambda name: None
    reserved: Collection[str] = ()
    folds: bool = False
    _real: dict[tuple[str, ...], str] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def of(self, node: onnx.NodeProto, row: Row) -> Definition:
        """The definition of ``node``, an operator of ``row``.

        Raises RejectedNodeError where its operands are none that the definition has.
        """
        names = row.operands(node)
        definition = Definition(self, node, [name.rstrip("?") for name in names])
        definition.check_inputs([not name.endswith("?") for name in names])
        row.write(definition)
        self._names.update(definition.constants, *(made.output for made in definition.nodes))
        self._real.update(definition.made)
        return definition

    def known_real(self, key: tuple[str, ...]) -> str | None:
        """The name of a tensor that has been dequantised."""
        return self._real.get(key)

    def fresh(self, hint: str, *taken: Collection[str]) -> str:
        """A name for a new value."""
        return untaken(hint, self.reserved, self._names, *taken)


@dataclass(slots=True)
class Definition:
    """The definition of one node: ``nodes`` of standard operators, and the ``constants`` that they
    read.

    ``operands``: what the specification calls the inputs.  ``reals``: by the position of an operand
    of one scale, its name as real numbers, and those of its scale and zero point.  ``whole``: the
    results that are whole numbers, of int32 in the model; ``rounded``: those of them that may be
    beyond what float32 has, and are the nearest that it has.
    """

    _of: Definitions
    node: onnx.NodeProto
    operands: Sequence[str]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, Values] = field(default_factory=dict)
    made: dict[tuple[str, ...], str] = field(default_factory=dict)
    reals: dict[int, tuple[str, Sequence[str]]] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    rounded: set[str] = field(default_factory=set)

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute of the node."""
        found = next((a for a in self.node.attribute if a.name == name), None)
        return default if found is None else helper.get_attribute_value(found)

    def attrs(self, *names: str) -> dict[str, Any]:
        """The attributes that the node has."""
        found = {name: self.attr(name) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    def input(self, index: int) -> str:
        """The name of an input, "" where it is absent."""
        return self.node.input[index] if index < len(self.node.input) else ""

    def constant(self, index: int) -> Values | None:
        """The value of an input, None where it is absent or computed at run time."""
        return self._of.constant(self.input(index)) if self.input(index) else None

    @property
    def folds(self) -> bool:
        """Whether constants are dequantised here."""
        return self._of.folds

    def shape(self, index: int) -> Shape | None:
        """The shape of an input, None where it is not known."""
        return self._of.shape(self.input(index))

    def dtype(self, index: int) -> str:
        """The element type of an input, "" where it is not known."""
        return self._of.dtype(self.input(index))

    def output(self, index: int) -> str:
        """The name of an output, "" where it is absent."""
        return self.node.output[index] if index < len(self.node.output) else ""

    def number(self, name: str, default: float) -> float:
        """An attribute that is a number."""
        value = self.attr(name, default)
        if not isinstance(value, int | float):
            raise self.rejected(f"{name} {value!r}", f"{name} is a number")
        return value

    def integer(self, name: str, default: int) -> int:
        """An attribute that is a whole number."""
        value = self.attr(name, default)
        if not isinstance(value, int):
            raise self.rejected(f"{name} {value!r}", f"{name} is a whole number")
        return value

    def flag(self, name: str) -> bool:
        """An attribute that is 0, unless given, or 1."""
        value = self.integer(name, 0)
        if value not in (0, 1):
            raise self.rejected(f"{name} {value}", f"{name} is 0 or 1")
        return bool(value)

    def numbers(self, name: str, kind: type[int] | type[float] = float) -> list[Any]:
        """An attribute that is a list of numbers; none where it is absent."""
        value = self.attr(name, ())
        if not isinstance(value, Sequence) or not all(isinstance(each, kind) for each in value):
            raise self.rejected(f"{name} {value!r}", f"{name} is a list of numbers")
        return list(value)

    def check_inputs(self, needed: Sequence[bool]) -> None:
        """Reject a node without one of its ``needed`` inputs, and one with too many."""
        missing = [name for i, name in enumerate(self.operands) if needed[i] and not self.input(i)]
        if missing or len(self.node.input) > len(self.operands):
            got = f"no {missing[0]}" if missing else f"{len(self.node.input)} inputs"
            raise self.rejected(got, f"its inputs are {', '.join(self.operands)}")
        if self.number("channels_last", 0):
            hint = "ONNX Runtime's optimiser wrote it: give the model as it was before"
            raise self.rejected("channels_last", "channels are the second dimension", hint)

    def check_real(self, index: int) -> None:
        """Reject an input that is not of float32."""
        what, dtype = self.operands[index], self._of.dtype(self.input(index))
        if dtype not in ("", "float32"):
            raise self.rejected(f"{what} of {dtype}", f"{what} is float32")

    def rejected(self, got: str, rule: str, hint: str = "") -> RejectedNodeError:
        """The error for operands that are not compiled."""
        where = f"node {label(self.node)!r} ({self.node.op_type})"
        return RejectedNodeError("unsupported", where=where, got=got, rule=rule, hint=hint)

    def add(self, op: str, inputs: Sequence[str], output: str = "", **attrs: Any) -> str:
        """Add a node; returns the name of its result, which is made from ``op`` by default."""
        output = output or self._fresh(f"{self.node.output[0]}/{op}")
        name = untaken(f"{label(self.node)}/{op}", [node.name for node in self.nodes])
        self.nodes.append(helper.make_node(op, list(inputs), [output], name, **attrs))
        return output

    def add_second(self, op: str, inputs: Sequence[str], **attrs: Any) -> str:
        """Add a node of two outputs of which nothing reads the first; the name of the second."""
        unread = self._fresh(f"{self.node.output[0]}/unread")
        output = self.add(op, inputs, **attrs)
        self.nodes[-1].output.insert(0, unread)
        return output

    def add_constant(self, hint: str, value: Values | np.generic) -> str:
        """Add a constant; returns its name."""
        name = self._fresh(f"{self.node.output[0]}/{hint}")
        self.constants[name] = np.asarray(value)
        return name

    def real(self, index: int, axis: int | None = None) -> str:
        """Input ``index``, which its scale and zero point follow, as real numbers.

        ``axis``: along which there may be a scale per index; else there is one in all.
        """
        x = self._integers(index, BYTES)
        scale, zero = self._scaling(index + 1, axis, x)
        key = (x, self.input(index + 1), self.input(index + 2), str(axis))
        known = self._of.known_real(key) or self.made.get(key)
        if known is None:
            known = self.made[key] = self._dequantised(x, scale, zero, axis)
        if not scale.ndim:
            names = [self.add_constant("scale", scale), self.add_constant("zero", zero)]
            self.reals[index] = known, names
        return known

    def less_zero(self, index: int, zero: int, axis: int) -> str:
        """Input ``index`` less its zero point, that at input ``zero``, as whole numbers.

        There may be one per index of ``axis``, and it may be computed at run time.
        """
        x, name = self._integers(index, BYTES), self.input(zero)
        value, what = self.constant(zero), self.operands[zero]
        shape = self._of.shape(name) if value is None else value.shape
        many = shape not in ((), (1,), None)
        if many and (shape is None or len(shape) > 1):
            raise self.rejected(f"{what} {list(shape or ())}", f"{what} has one dimension at most")
        key = (x, "", name, str(axis))
        known = self._of.known_real(key) or self.made.get(key)
        if known is None:
            ones = np.ones(shape if many and shape else (), np.float32)
            along = axis if many else None
            if name and value is None:
                known = self._dequantised_by(x, ones, name, along)
            else:
                zeros = None if value is None else value.reshape(ones.shape)
                known = self._dequantised(x, ones, zeros, along)
            self.made[key] = known
        if name and not many:
            self.reals[index] = known, [self.add_constant("scale", np.float32(1)), name]
        return known

    def bias(self, index: int, units: Values, axis: int) -> list[str]:
        """The int32 input ``index`` in multiples of ``units``, those along ``axis`` where there are
        several; none where it is absent."""
        if not self.input(index):
            return []
        name, units = self._integers(index, ("int32",)), np.asarray(units, np.float32)
        value = self._of.constant(name)
        what = self.operands[index]
        if value is None:
            raise self.rejected(f"{what} computed at run time", f"{what} must be constant")
        if units.ndim and (not value.ndim or value.shape[axis] != units.size):
            got = f"{what} {list(value.shape)} beside {units.size} scales"
            raise self.rejected(got, f"{what} has an element per scale")
        return [self._dequantised(name, units, None, axis if units.ndim else None)]

    def scaled_at_run_time(self, *indices: int) -> bool:
        """Whether a scale or zero point at one of ``indices`` is no float32, or no constant."""
        names = [name for name in map(self.input, indices) if name]
        kinds = {self._of.dtype(name) for name in names}
        return any(self._of.constant(name) is None for name in names) or bool(
            kinds & {"float16", "bfloat16"}
        )

    def scales(self, index: int) -> Values:
        """The value of the scale at input ``index``."""
        scale = self._constant(index)
        if scale.dtype != np.float32:
            raise self.rejected(f"{self.operands[index]} of {scale.dtype}", "scales are float32")
        if not (np.isfinite(scale) & (scale >= np.finfo(np.float32).tiny)).all():
            got = f"{self.operands[index]} {scale.min():g}"
            raise self.rejected(got, "scales are positive, finite and not subnormal")
        return scale.reshape(()) if scale.size == 1 else scale

    def round(self, real: str, scale: int) -> None:
        """Make ``real`` the integers that the node writes, by the scale at input ``scale`` and the
        zero point behind it."""
        units, zero = self._scaling(scale, None, "")
        inputs = [self.add_constant("scale", units), self.add_constant("zero", zero)]
        self.add("QuantizeLinear", [real, *inputs], self.node.output[0])

    def write_sums(self, sums: str, *, rounded: bool = False) -> None:
        """Make whole numbers the int32 that the node writes."""
        self.whole.add(sums)
        if rounded:
            self.rounded.add(self.node.output[0])
        self.add("Cast", [sums], self.node.output[0], to=TensorProto.INT32)

    def _fresh(self, hint: str) -> str:
        made = [name for node in self.nodes for name in node.output]
        return self._of.fresh(hint, self.constants, made)

    def _integers(self, index: int, kinds: Sequence[str]) -> str:
        """The name of input ``index``, which is of one of ``kinds``."""
        name, what = self.input(index), self.operands[index]
        dtype = self._of.dtype(name)
        if dtype and dtype not in kinds:
            raise self.rejected(f"{what} of {dtype}", f"{what} is {' or '.join(kinds)}")
        return name

    def _constant(self, index: int) -> Values:
        value, what = self._of.constant(self.input(index)), self.operands[index]
        if value is None:
            raise self.rejected(
                f"{what} computed at run time",
                "scales and zero points are constants",
                "quantise statically: ONNX Runtime's quantize_static",
            )
        if not value.size:
            raise self.rejected(f"{what} {list(value.shape)}", f"{what} has elements")
        return value

    def _scaling(self, index: int, axis: int | None, x: str) -> tuple[Values, Values]:
        """Scale and zero point of ``x``, from input ``index`` on, both of the same shape."""
        scale, what = self.scales(index), self.operands[index]
        zero = self._zero(index + 1, x)
        many, zeros = scale.size, self.operands[index + 1]
        value = self._of.constant(x) if axis is not None else None
        if scale.ndim > (axis is not None):
            got, rule = f"{what} {list(scale.shape)}", f"{what} is one number"
            if axis is not None:
                rule += ", or one per output channel"
            raise self.rejected(got, rule)
        if value is not None and axis is not None and scale.ndim:
            fits = -value.ndim <= axis < value.ndim
            if not fits or value.shape[axis] != many:
                got = f"{what} {list(scale.shape)} of {list(value.shape)}"
                raise self.rejected(got, f"{what} is one number, or one per output channel")
        if zero.size != many:
            got = f"{what} {list(scale.shape)}, {zeros} {list(zero.shape)}"
            raise self.rejected(got, "both have the same shape")
        return scale, zero.reshape(scale.shape)

    def _zero(self, index: int, x: str) -> Values:
        """The zero point at input ``index``, of the type of ``x``; 0 where it is absent."""
        what, dtype = self.operands[index], self._of.dtype(x) if x else ""
        if not self.input(index):
            others = (self.input(i) for i, name in enumerate(self.operands) if "zero" in name)
            known = (self._of.constant(name) for name in others if name)
            dtype = dtype or next((v.dtype.name for v in known if v is not None), "")
            if not dtype:
                raise self.rejected(f"no {what}", f"{what} says of which type the integers are")
            return np.zeros((), dtype)
        zero = self._constant(index)
        if zero.dtype.name != dtype and (dtype or zero.dtype.name not in BYTES):
            rule = f"{what} is of the type of the integers, {dtype or 'int8 or uint8'}"
            raise self.rejected(f"{what} of {zero.dtype}", rule)
        return zero

    def _dequantised_by(self, x: str, scale: Values, zero: str, axis: int | None) -> str:
        """By a zero point of run time."""
        inputs = [x, self.add_constant("scale", scale), zero]
        attrs = {} if axis is None else {"axis": axis}
        return self.add("DequantizeLinear", inputs, self._fresh(f"{x}/real"), **attrs)

    def _dequantised(self, x: str, scale: Values, zero: Values | None, axis: int | None) -> str:
        value = self._of.constant(x)
        if value is not None and self._of.folds:
            shape = [1] * value.ndim
            if scale.ndim and axis is not None:
                shape[axis] = -1
            steps = value.astype(np.int64)
            steps = steps if zero is None else steps - zero.astype(np.int64).reshape(shape)
            real = steps.astype(np.float32) * scale.reshape(shape)
            return self.add_constant("dequantised", real.astype(np.float32))
        inputs = [x, self.add_constant("scale", scale)]
        inputs += [] if zero is None else [self.add_constant("zero", zero)]
        attrs = {"axis": axis} if scale.ndim else {}
        return self.add("DequantizeLinear", inputs, self._fresh(f"{x}/real"), **attrs)


Write = Callable[[Definition], None]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of definitions.  ``names``: of the inputs, with a question mark those that
    may be absent; ``more``: of what follows any number of times.

    ``integers``: it computes with those, so that a reference engine is shown the real numbers that
    a program has of them; ``rounds``: some within it, which a layer's tolerance has to know of.
    ``engine_differs``: ONNX Runtime's kernel is not what the definition says.  ``when``: of which
    nodes of the operator it is the definition.
    """

    names: str
    write: Write
    more: str = ""
    integers: bool = True
    rounds: bool = True
    engine_differs: bool = False
    when: Callable[[onnx.NodeProto], bool] = lambda node: True

    def operands(self, node: onnx.NodeProto) -> list[str]:
        """``names`` for the inputs of ``node``."""
        found, more = self.names.split(), self.more.split()
        while more and len(found) < max(len(node.input), len(more)):
            found += more
        return found

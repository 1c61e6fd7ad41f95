"""The ONNX graph that is written for a TensorFlow Lite model, and what its operators ask of it.

Tensors keep their names and their order of elements, channels last.  Integers with a scale are
those of QuantizeLinear; operators compute with the real numbers that they stand for, and what an
operator writes as integers is rounded once, as it is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeconv.base import limits
from edgeconv.base.names import shortened, untaken
from edgeconv.model.frontend.mapped_constants import refer
from edgeconv.model.frontend.tflite.elements import (
    BITS,
    COMPLEX,
    ELEMENTS,
    QUANTISED,
    REALS,
    element,
    has,
    is_quantised,
    is_whole,
    zero_points,
)
from edgeconv.model.frontend.tflite.sparse import densified
from edgeconv.model.tflite import DamagedError, Model, Operator, Tensor
from edgeconv.model.tflite.file import ABSENT, Blocks
from edgeconv.model.tflite.flatbuffer import Content
from edgeconv.model.tflite.schema import ACTIVATIONS
from edgeconv.model.tflite.sparsity import Sparsity

Values = npt.NDArray[Any]

NHWC_TO_NCHW, NCHW_TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
LAST = (1 << 63) - 1  # beyond the last element of an axis
_SMALL = 1024  # bytes of a constant that inference of shapes may want to see


class UnsupportedError(Exception):
    """An operator that is not translated; its text says why."""


class Writing:
    """The graph so far: ``nodes`` and ``initializers``.

    ``effects``: what stands for the results of operators that have none, as of those that write a
    variable; ``where``: the file, in errors of limits; ``fill``: writes the operators of a graph;
    ``outer``: what this one is within, as the file's graph ``index``.
    """

    def __init__(
        self,
        model: Model,
        content: Content,
        where: str,
        fill: Callable[[Writing], None] = lambda _: None,
        *,
        outer: Writing | None = None,
        index: int = 0,
        dynamic_quantisation: bool = False,
    ) -> None:
        self.model = model
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.effects: list[str] = []
        self.states: dict[str, str] = {}  # inputs that variables are, and what they become
        self.functions: list[onnx.FunctionProto] = []
        self.fill = fill
        self.dynamic_quantisation = dynamic_quantisation  # of what int8 filters multiply (`hybrid`)
        self.called: set[int] = set()  # other graphs of the file
        self._differs: dict[tuple[str, str], list[str]] = {}
        self._content, self._where = self.source = content, where
        self._densified = 0  # bytes
        self._taken = {tensor.name for tensor in model.tensors}
        self._bodies = model.bodies
        self.within_graphs: tuple[int, ...] = (index,)  # graphs of the file that this one is within
        if outer is not None:
            self._bodies, self.within_graphs = outer._bodies, (*outer.within_graphs, index)
            self.initializers, self._taken = outer.initializers, outer._taken
            self.called, self._differs = outer.called, outer._differs
            self.functions = outer.functions
            self.dynamic_quantisation = outer.dynamic_quantisation
        self._stored: set[int] = set()  # constants of the file that are initializers
        self._reals: dict[int, str] = {}
        self._written = set(model.inputs)
        self._label = ""  # what nodes are named after
        self._own: dict[str, onnx.NodeProto] = {}  # values of this operator alone, and their nodes

    def within(self, index: int) -> Writing:
        """A graph to be written inside of this one: the file's graph ``index``, its tensors under
        names of their own, its constants among those of this one."""
        if not 0 < index <= len(self._bodies):
            raise DamagedError(f"graph {index} of {len(self._bodies) + 1}, within another")
        if index in self.within_graphs:
            raise DamagedError(f"graph {index} within itself")
        self.called.add(index)
        body = self._bodies[index - 1]
        names = []
        for tensor in body.tensors:
            names.append(untaken(f"{self._label}/{tensor.name}", self._taken))
            self._taken.add(names[-1])
        limits.held("model-nodes", len(self._taken), self._where)
        pairs = zip(body.tensors, names, strict=True)
        renamed = tuple(replace(tensor, name=name) for tensor, name in pairs)
        inner = replace(body, tensors=renamed)
        return Writing(inner, *self.source, self.fill, outer=self, index=index)

    def differs(self, operator: Operator, why: str) -> None:
        """Note that a kernel of TensorFlow Lite makes something else of ``operator``."""
        self._differs.setdefault((operator.kind, why), []).append(self._label)

    def notes(self) -> tuple[str, ...]:
        """What `differs` noted, once for each reason."""
        return tuple(
            f"{kind} {shortened(first)!r}{f' and {len(more)} more' if more else ''}: {why}"
            for (kind, why), (first, *more) in self._differs.items()
        )

    def is_complex(self, operator: Operator) -> bool:
        """Whether it reads or writes complex numbers.  Raises UnsupportedError where these are the
        model's outputs."""
        tensors, outputs = self.model.tensors, set(self.model.outputs) & set(operator.outputs)
        if any(tensors[place].dtype == COMPLEX for place in outputs):
            raise UnsupportedError("returns complex numbers")
        places = (*operator.inputs, *operator.outputs)
        return any(tensors[place].dtype == COMPLEX for place in places if place != ABSENT)

    def kept(self, place: int) -> str:
        """The tensor at that place, had if it is a constant."""
        self.store(place)
        return self.model.tensors[place].name

    def begin(self, operator: Operator) -> None:
        """What follows is of ``operator``."""
        named = (self.model.tensors[place].name for place in operator.outputs)
        self._label = next(named, operator.kind)
        self._own = {}
        self._written.update(operator.outputs)

    def tensor(self, operator: Operator, index: int) -> Tensor:
        """Operand ``index``.  Raises UnsupportedError where it is left out."""
        if not has(operator, index):
            raise UnsupportedError(f"input {index} is missing")
        return self.model.tensors[operator.inputs[index]]

    def stored(self, operator: Operator, index: int) -> str:
        """Operand ``index`` as it is stored, integers as integers."""
        name = self.tensor(operator, index).name
        self.store(operator.inputs[index])
        return name

    def store(self, place: int) -> None:
        """Have the constant at that place among the tensors; of other tensors nothing.

        Raises UnsupportedError for a type that ONNX does not have."""
        tensor = self.model.tensors[place]
        empty = place not in self._written and 0 in tensor.shape
        if (tensor.data is None and not empty) or place in self._stored:
            return
        if not element(tensor):
            raise UnsupportedError(f"reads constants of {tensor.dtype}")
        self._stored.add(place)
        made = TensorProto(name=tensor.name, dims=tensor.shape, data_type=element(tensor))
        if tensor.sparsity is None:
            first, length = self._bytes(tensor)
            if tensor.dtype == "int2":
                made.raw_data = _in_four_bits(self._content[first : first + length], tensor.shape)
            elif length > _SMALL:
                refer(made, first, length)
            else:
                made.raw_data = self._content[first : first + length]
        else:
            made.raw_data = self._dense(tensor, tensor.sparsity).tobytes()
        self.initializers.append(made)

    def _dense(self, tensor: Tensor, sparsity: Sparsity) -> Values:
        """All elements of a constant of which some are stored."""
        if tensor.dtype in BITS or not element(tensor):
            raise UnsupportedError(f"reads sparse constants of {tensor.dtype}")
        kind = np.dtype(tensor.dtype).newbyteorder("<")
        first, length = tensor.data or (0, 0)
        if length % kind.itemsize:
            raise DamagedError(f"constant {tensor.name!r} with {length} bytes of {tensor.dtype}")
        limits.held("tensor-rank", len(tensor.shape), self._where)
        self._densified += math.prod(tensor.shape) * kind.itemsize
        limits.held("folded-bytes", self._densified, self._where)
        stored = np.frombuffer(self._content[first : first + length], kind)
        return densified(stored, tensor.shape, sparsity, self._content)

    def refuse(self, operator: Operator, domain: str, attributes: Mapping[str, str]) -> None:
        """A node of ``domain`` in the place of an operator that is not translated.

        It reads no handles of variables, which nothing makes.
        """
        tensors = self.model.tensors
        places = (place for place in operator.inputs if place != ABSENT)
        reads = [tensors[place] for place in places if tensors[place].dtype != "resource"]
        outputs = [tensors[place].name for place in operator.outputs]
        if not outputs:
            outputs = [self.fresh("effect")]
            self.effects += outputs
        self.nodes.append(
            helper.make_node(
                operator.kind,
                [tensor.name for tensor in reads if tensor.data is None and not tensor.stays],
                outputs,
                self._label,
                domain=domain,
                **attributes,
            )
        )

    def name(self, hint: str) -> str:
        """A name that nothing has yet."""
        found = untaken(hint, self._taken)
        self._taken.add(found)
        return found

    def state(self, operator: Operator, index: int) -> str:
        """Operand ``index``, a variable, as an input of the graph."""
        tensor = self.tensor(operator, index)
        if not tensor.stays or len(self.within_graphs) > 1 or tensor.name in self.states:
            raise UnsupportedError("its state is no variable of its own")
        self.states[tensor.name] = ""
        return tensor.name

    def hand_on(self, operator: Operator, index: int, name: str) -> None:
        """Make that state ``name`` in the next run: an output of the graph."""
        tensor = self.tensor(operator, index)
        made = self.states[tensor.name] = self.fresh("next", tensor.name)
        self.nodes.append(helper.make_node("Identity", [name], [made], made))

    def copy(self, source: str, name: str) -> None:
        """Have ``name`` be the value ``source``, as it is stored."""
        self.nodes.append(helper.make_node("Identity", [source], [name], f"{name}/Identity"))

    def real(self, operator: Operator, index: int = 0) -> str:
        """Operand ``index`` in real numbers.  Raises UnsupportedError where it has none."""
        tensor, place = self.tensor(operator, index), operator.inputs[index]
        if tensor.dtype == "float32":
            return self.stored(operator, index)
        if place not in self._reals:
            if tensor.dtype in REALS:
                kind, operands = "Cast", list[str]()
                options: dict[str, Any] = {"to": TensorProto.FLOAT}
            elif is_quantised(tensor):
                kind, operands = "DequantizeLinear", self.scaling(tensor)
                options = {"axis": tensor.axis}
                if tensor.blocks is not None:
                    size = tensor.blocks.size
                    options = {"axis": len(tensor.shape) - 1, "block_size": size}
            else:
                raise UnsupportedError(f"computes with {tensor.dtype} without a scale")
            stored = self.stored(operator, index)
            made = self.add(kind, [stored, *operands], label=tensor.name, **options)
            self._reals[place] = made
            del self._own[made]  # other operators may read it
        return self._reals[place]

    def scaled(self, operator: Operator, factor: float) -> str:
        """Operand 0 in real numbers, times ``factor``: integers of a larger scale, where that is a
        float32."""
        tensor = self.tensor(operator, 0)
        scales = [scale * factor for scale in tensor.scale]
        if not is_quantised(tensor) or any(float(np.float32(each)) != each for each in scales):
            return self.add("Mul", [self.real(operator), self.value(factor, np.float32)])
        operands = self.scaling(replace(tensor, scale=tuple(scales)))
        stored = self.stored(operator, 0)
        return self.add("DequantizeLinear", [stored, *operands], axis=tensor.axis)

    def operand(self, operator: Operator, index: int = 0) -> str:
        """Operand ``index`` in the numbers that are computed with: real ones, or integers that
        have no scale as they are."""
        return (self.stored if is_whole(self.tensor(operator, index)) else self.real)(
            operator, index
        )

    def constant(self, operator: Operator, index: int, what: str) -> Values:
        """The value of operand ``index``, which is ``what``; UnsupportedError at run time."""
        tensor = self.tensor(operator, index)
        if tensor.data is None and 0 not in tensor.shape:
            raise UnsupportedError(f"{what} computed at run time")
        if tensor.dtype not in ("float32", "int32", "int64", *QUANTISED[:3]):
            raise UnsupportedError(f"{what} of {tensor.dtype}")
        if tensor.sparsity is not None:
            return self._dense(tensor, tensor.sparsity)
        first, length = self._bytes(tensor)
        kind = np.dtype(tensor.dtype).newbyteorder("<")
        return np.frombuffer(self._content[first : first + length], kind).reshape(tensor.shape)

    @property
    def bodies(self) -> Sequence[Model]:
        """The file's graphs but for the first."""
        return self._bodies

    def numbers_of(self, tensor: Tensor) -> Values | None:
        """A constant of float32 or whole numbers; None of what is none."""
        if tensor.data is None or tensor.sparsity is not None:
            return None
        if tensor.dtype not in ("float32", "int32", "int64"):
            return None
        first, length = self._bytes(tensor)
        kind = np.dtype(tensor.dtype).newbyteorder("<")
        return np.frombuffer(self._content[first : first + length], kind).reshape(tensor.shape)

    def custom_options(self, operator: Operator) -> bytes:
        """The options of a custom operator, whose form is its own."""
        first, length = operator.own or (0, 0)
        return self._content[first : first + length]

    def refuse_constant(self, place: int, domain: str, attributes: Mapping[str, str]) -> None:
        """A node of ``domain`` in the place of a constant that ONNX does not have."""
        tensor = self.model.tensors[place]
        made = helper.make_node("constant", [], [tensor.name], tensor.name, domain=domain)
        made.attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items())
        self.nodes.append(made)

    def whole(self, operator: Operator, index: int, what: str) -> list[int]:
        """The integers of operand ``index``, in one row."""
        value = self.constant(operator, index, what)
        if value.dtype.kind != "i":
            raise UnsupportedError(f"{what} of {value.dtype}")
        return [int(number) for number in value.reshape(-1)]

    def number(self, operator: Operator, index: int, what: str) -> int:
        """The one integer of operand ``index``."""
        found = self.whole(operator, index, what)
        if len(found) != 1:
            raise UnsupportedError(f"{what} of {len(found)} numbers")
        return found[0]

    def add(self, kind: str, inputs: Sequence[str], /, **options: Any) -> str:
        """A node with one output, and its name; as `add_all`."""
        return self.add_all(kind, inputs, 1, **options)[0]

    def add_all(
        self,
        kind: str,
        inputs: Sequence[str],
        count: int,
        /,
        *,
        main: bool = False,
        label: str = "",
        **options: Any,
    ) -> list[str]:
        """A node with ``count`` outputs, and their names, made from ``label`` or the operator's
        first output.  ``main``: the node that the operator is known by."""
        outputs = [self.fresh(kind, label) for _ in range(count)]
        node = helper.make_node(kind, inputs, outputs, outputs[0], **options)
        if main:
            node.name = self._label
        self.nodes.append(node)
        self._own |= dict.fromkeys(outputs, node)
        return outputs

    def value(self, values: Any, dtype: Any = np.int64) -> str:
        """A constant that is made here."""
        name = self.fresh("constant")
        self.initializers.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def transposed(self, name: str, axes: Sequence[int]) -> str:
        """The tensor in another order of dimensions."""
        return self.add("Transpose", [name], perm=list(axes))

    def activated(self, name: str, operator: Operator) -> str:
        """Behind the activation that is fused into ``operator``."""
        number = operator.options.get("activation", 0)
        tensor = self.model.tensors[operator.outputs[0]]
        if number == ACTIVATIONS.index("TANH") and is_quantised(tensor):
            self.differs(
                operator, "its fused TANH is computed; TensorFlow Lite's kernels ignore it"
            )
        kind = ACTIVATIONS[number] if 0 <= number < len(ACTIVATIONS) else f"activation {number}"
        return name if kind == "NONE" else self.activation(kind, name)

    def activation(self, kind: str, name: str, main: bool = False) -> str:
        """A bounded ReLU or tanh of ``name``.  Raises UnsupportedError for another ``kind``."""
        if kind in ("RELU", "TANH"):
            return self.add(kind.capitalize(), [name], main=main)
        if kind not in _BOUNDS:
            raise UnsupportedError(f"with {kind} fused into it")
        bounds = [self.value(bound, np.float32) for bound in _BOUNDS[kind]]
        return self.add("Clip", [name, *bounds], main=main)

    def result(self, operator: Operator, name: str, index: int = 0) -> None:
        """Output ``index`` is the real numbers ``name``, rounded where it has a scale."""
        tensor = self.model.tensors[operator.outputs[index]]
        if is_quantised(tensor):
            scaling = self.scaling(tensor)
            name = self.add("QuantizeLinear", [name, *scaling], axis=tensor.axis)
        elif tensor.dtype == "float16":
            name = self.add("Cast", [name], to=TensorProto.FLOAT16)
        elif tensor.dtype != "float32" and not self._stays_whole(operator, tensor):
            raise UnsupportedError(f"writes {tensor.dtype} without a scale")
        self.move(operator, name, index)

    def _stays_whole(self, operator: Operator, result: Tensor) -> bool:
        """Whether ``result`` and what it is computed of are integers of one type and no scale."""
        return is_whole(result) and self.tensor(operator, 0).dtype == result.dtype

    def move(self, operator: Operator, name: str, index: int = 0) -> None:
        """Output ``index`` is ``name`` as it is, which no other node of the operator reads."""
        own = self.model.tensors[operator.outputs[index]].name
        made = self._own.pop(name, None)
        if made is None:
            self.nodes.append(helper.make_node("Identity", [name], [own], self.fresh("copy")))
        else:
            made.output[list(made.output).index(name)] = own

    def scaling(self, tensor: Tensor) -> list[str]:
        """Scale and zero point: one number, one per index of the axis, or one per block."""
        if tensor.blocks is not None:
            return self._of_blocks(tensor, tensor.blocks)
        zeros = zero_points(tensor)
        shape = () if len(tensor.scale) == 1 else (len(tensor.scale),)
        zero = self.fresh("zero")
        self.initializers.append(helper.make_tensor(zero, ELEMENTS[tensor.dtype], shape, zeros))
        # Of zeros alone converters write a subnormal scale: all are 0 beside other numbers.
        scale = np.reshape(tensor.scale, shape)
        scale = np.where(scale > 0, np.maximum(scale, np.finfo(np.float32).tiny), scale)
        return [self.value(scale, np.float32), zero]

    def _of_blocks(self, tensor: Tensor, blocks: Blocks) -> list[str]:
        """Scales of blocks, as float32, and zero points."""
        *left, last = tensor.shape or (0,)
        if last % blocks.size:
            raise UnsupportedError(f"blocks of {blocks.size} elements of {last}")
        shape = self.value([*left, last // blocks.size])
        scales = self.model.tensors[blocks.scales]
        if math.prod(scales.shape) * blocks.size != math.prod(tensor.shape):
            raise DamagedError(f"{list(scales.shape)} scales of blocks of {list(tensor.shape)}")
        found = self.add("Cast", [self.kept(blocks.scales)], to=TensorProto.FLOAT)
        made = [self.add("Reshape", [found, shape])]
        if blocks.zeros >= 0:
            kind = ELEMENTS[tensor.dtype]
            zeros = self.add("Cast", [self.kept(blocks.zeros)], to=kind)
            made.append(self.add("Reshape", [zeros, shape]))
        return made

    def fresh(self, hint: str, label: str = "") -> str:
        """A name that no value has, made from ``label`` or the operator's first output."""
        return self.name(f"{label or self._label}/{hint}")

    def _bytes(self, tensor: Tensor) -> tuple[int, int]:
        """Where the constant lies.  Raises DamagedError where its bytes do not fill its shape."""
        bits = BITS.get(tensor.dtype, 0) or 8 * np.dtype(tensor.dtype).itemsize
        first, length = tensor.data or (0, 0)
        if length != -(-math.prod(tensor.shape) * bits // 8):
            got = f"{length} bytes for shape {list(tensor.shape)} of {tensor.dtype}"
            raise DamagedError(f"constant {tensor.name!r} with {got}")
        return first, length


def _in_four_bits(stored: bytes, shape: Sequence[int]) -> bytes:
    """Integers of two bits, four in a byte, as two in a byte."""
    packed = np.frombuffer(stored, np.uint8)
    each = (packed[:, None] >> np.arange(0, 8, 2, dtype=np.uint8)) & 3
    count = math.prod(shape)
    wide = np.zeros(count + count % 2, np.uint8)
    wide[:count] = np.where(each < 2, each, each + 12).reshape(-1)[:count]  # 2 and 3 are -2 and -1
    found: bytes = (wide[0::2] | wide[1::2] << 4).tobytes()
    return found


Translator = Callable[[Writing, Operator], None]  # raises UnsupportedError
_BOUNDS = {"RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1), "RELU_0_TO_1": (0, 1)}

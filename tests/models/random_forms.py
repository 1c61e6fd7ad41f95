"""Random small networks that combine every form in which quantisers write one.

Scales are free, or powers of two, of shape [], [1] or per channel; zero points are there, in either
shape, or absent; biases are int32, int8 or float32, of whole numbers of units or not; filters have
8, 4 or 2 bits, symmetric or not, per tensor, per channel or in blocks, and stand on either side of
a product, factors of either sign behind it; activations have 8 or 16 bits, one scale or one per
channel, and bounds of fewer bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Values = npt.NDArray[Any]
# (type, zero point) of filters; None: a zero point of its own for each.
_FILTERS: tuple[tuple[str, int | None], ...] = (
    *(("int8", 0),) * 6,
    ("uint8", 128),
    ("uint8", None),
    ("int4", 0),
    ("uint4", 8),
    ("int2", 0),
)
_MOST_TOKENS = 81
_WINDOWS = ((3, 3), (3, 3), (5, 5), (1, 5), (5, 1), (2, 3), (1, 1))


@dataclass(frozen=True)
class Tensor:
    """A float32 tensor of the model: its name, shape, and about how large its numbers are.
    ``scale``: of the grid that it was rounded to, 0 of none, per channel of several."""

    name: str
    shape: tuple[int, ...]
    size: float
    scale: Values | None = None


class Maker:
    """A network that ``seed`` draws."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.count = 0
        self.powers = self.chance(0.3)
        self.fractions = self.chance(0.5)
        self.bits16 = self.chance(0.12)
        kind = "int16" if self.bits16 else str(self.rng.choice(["int8", "uint8"]))
        self.dtype = "uint16" if self.bits16 and self.chance(0.4) else kind
        self.per_channel = float(self.rng.choice([0.0, 0.5, 1.0]))

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, *among: Any) -> Any:
        return among[int(self.rng.integers(len(among)))]

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def constant(self, hint: str, value: Values) -> str:
        name = self.fresh(hint)
        self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def node(self, op: str, inputs: list[str], hint: str, **attrs: Any) -> str:
        output = self.fresh(hint)
        self.nodes.append(helper.make_node(op, inputs, [output], f"{output}_node", **attrs))
        return output

    def scale(self, near: Values | float) -> Values:
        wide = np.asarray(near, np.float64)
        scale = 2.0 ** np.round(np.log2(wide)) if self.powers else wide
        return np.asarray(scale, np.float32)

    def scaling(self, scale: Values, zero: Values | None, *, one: bool) -> list[str]:
        """Constants of a scale and a zero point, absent for None; ``one``: both may be [] or [1],
        each by itself."""

        def shaped(value: Values) -> Values:
            return value.reshape(self.pick((), (1,))) if one else value

        names = [self.constant("scale", shaped(scale))]
        return names if zero is None else [*names, self.constant("zero", shaped(zero))]

    # What is rounded.

    def rounded(
        self, x: Tensor, *, channels: bool = False, positive: bool = False, moves: bool = True
    ) -> Tensor:
        """``x`` through QuantizeLinear and DequantizeLinear, with bounds between them maybe.
        ``channels``: of a scale for each.  ``moves``: integers may be moved, to another shape."""
        info = np.iinfo(self.dtype)
        if channels:
            near = x.size * self.rng.uniform(0.3, 1.2, x.shape[1])
        else:
            near = np.asarray(x.size * self.rng.uniform(0.6, 1.2))
        span = info.max - info.min
        scale = self.scale(near * 2 / span)
        middle = (info.max + info.min + 1) // 2
        others = int(self.rng.integers(middle - span // 4, middle + span // 4))
        zero = info.min if positive else self.pick(middle, middle, others)
        absent = self.dtype == "uint8" and zero == 0 and self.chance(0.5)  # the type without one
        zeros = None if absent else np.full(scale.shape, zero, self.dtype)
        attrs = {"axis": self.pick(1, 1 - len(x.shape))} if channels else {}
        given = self.scaling(scale, zeros, one=not channels)
        q = self.node("QuantizeLinear", [x.name, *given], "q", **attrs)
        moves &= not self.bits16
        if self.chance(0.15) and not self.bits16:
            q = self.bounded(q, zero)
        shape = x.shape
        if self.chance(0.15) and moves and len(shape) == 4 and min(shape[2:]) > 2:
            q, shape = self.integers_moved(q, shape, zero)
        y = self.node("DequantizeLinear", [q, *given], "dq", **attrs)
        return Tensor(y, shape, x.size, scale)

    def integers_moved(
        self, q: str, shape: tuple[int, ...], zero: int
    ) -> tuple[str, tuple[int, ...]]:
        """The largest, or zeros around them, in integers."""
        n, c, height, width = shape
        if self.chance(0.5):
            y = self.node("MaxPool", [q], "qpool", kernel_shape=[2, 2])
            return y, (n, c, height - 1, width - 1)
        widths = self.constant("pads", np.array([0, 0, 1, 0, 0, 0, 1, 0], np.int64))
        by = self.constant("by", np.array(zero, self.dtype))
        return self.node("Pad", [q, widths, by], "qpad"), (n, c, height + 2, width)

    def bounded(self, q: str, zero: int) -> str:
        """Fewer bits than the type has."""
        info = np.iinfo(self.dtype)
        low = max(info.min, zero - int(self.rng.integers(8, 100)))
        high = min(info.max, zero + int(self.rng.integers(8, 100)))
        least, most = (self.constant("bound", np.array(b, self.dtype)) for b in (low, high))
        if self.chance(0.5):
            return self.node("Clip", [q, least, most], "clip")
        return self.node("Min", [self.node("Max", [q, least], "max"), most], "min")

    # Filters and biases.

    def filters(
        self, shape: tuple[int, ...], fan_in: int, axis: int = 0, *, apart: bool = True
    ) -> tuple[str, Values]:
        """Behind a DequantizeLinear, and the scale of each output channel; ``apart``: channels may
        have their own, or blocks."""
        dtype, own = _FILTERS[int(self.rng.integers(len(_FILTERS)))]
        info = ml_dtypes.iinfo(dtype)
        zero = int(self.rng.integers(90, 160)) if own is None else own
        lowest = dtype == "int2" or zero != 0 or self.chance(0.1)
        low = info.min if lowest else info.min + 1
        values = self.rng.integers(low, info.max, shape, endpoint=True).astype(dtype)
        channels, per = shape[axis], self.chance(0.6) and apart
        size = 1.0 / (max(info.max, 2) * fan_in**0.5)
        scale = self.scale(size * self.rng.uniform(0.5, 1.5, channels if per else ()))
        blocks = shape[1 - axis] % 2 == 0 and own is not None and self.chance(0.06) and apart
        if blocks:
            shaped = tuple(n // 2 if i == 1 - axis else n for i, n in enumerate(shape))
            spread = 2.0 ** self.rng.integers(0, 3, shaped) if self.chance(0.5) else np.ones(shaped)
            spread *= self.rng.uniform(0.7, 1.3, shaped) if self.chance(0.5) else 1.0
            scale = (scale.mean() * spread).astype(np.float32)
        absent = zero == 0 and self.chance(0.3)
        zeros = None if absent else np.full(scale.shape, zero, dtype)
        if own is None and per and zeros is not None:
            zeros = self.rng.integers(100, 150, channels).astype(dtype)
        given = self.scaling(scale, zeros, one=scale.ndim == 0)
        attrs = {"axis": self.pick(axis, axis - len(shape))} if per else {}
        attrs = {"axis": 1 - axis, "block_size": 2} if blocks else attrs
        y = self.node("DequantizeLinear", [self.constant("w", values), *given], "wdq", **attrs)
        return y, np.broadcast_to(scale.reshape(-1)[:1] if blocks else scale, (channels,))

    def bias(self, channels: int, each: Values, size: float) -> list[str]:
        """Of units ``each``, of numbers of about ``size``; or none."""
        kind = self.pick("none", "int32", "int32", "int32 of one", "int8", "float32", "float32")
        if kind == "none":
            return []
        each = np.broadcast_to(each, (channels,)).astype(np.float32)
        real = self.rng.normal(0, size / 3, channels)
        if kind == "float32":
            whole = real if self.fractions else np.rint(real / each) * each
            return [self.constant("b", whole.astype(np.float32))]
        if kind == "int8":
            scale = self.scale(np.asarray(np.abs(real).max() / 127 + 1e-6))
            values = np.clip(np.rint(real / scale), -127, 127).astype(np.int8)
        else:
            one = kind == "int32 of one"
            scale = np.asarray(each[0] if one else each)
            values = np.clip(np.rint(real / scale), -(2**30), 2**30).astype(np.int32)
        zeros = None if self.chance(0.5) else np.zeros(scale.shape, values.dtype)
        given = self.scaling(scale, zeros, one=scale.ndim == 0)
        attrs = {"axis": self.pick(0, -1)} if scale.ndim else {}
        return [self.node("DequantizeLinear", [self.constant("b", values), *given], "bdq", **attrs)]

    # Layers.

    def convolution(self, x: Tensor) -> Tensor:
        """A Conv of any kind, an activation maybe; the result is not rounded."""
        channels = x.shape[1]
        depthwise = x.scale is not None and x.scale.ndim > 0 and self.chance(0.9)
        kind = "depthwise" if depthwise else self.pick("dense", "dense", "depthwise", "groups")
        groups = {"dense": 1, "depthwise": channels, "groups": 2}[kind]
        out = channels * self.pick(1, 1, 1, 2) if kind == "depthwise" else 2 * self.pick(2, 3, 4)
        window = self.pick(*_WINDOWS)
        dilation = self.pick(1, 1, 2)
        if any(size < (k - 1) * dilation + 1 for size, k in zip(x.shape[2:], window, strict=True)):
            window, dilation = (1, 1), 1
        pads = [self.pick(0, (k - 1) * dilation // 2) for k in window]
        source, own = x.name, [*pads, *pads]
        if any(pads) and self.chance(0.2):
            widths = np.array([0, 0, *pads, 0, 0, *pads], np.int64)
            source = self.node("Pad", [x.name, self.constant("pads", widths)], "pad")
            own = [0] * 4
        stride = self.pick(1, 1, 2)
        shape = (out, channels // groups, *window)
        w, scales = self.filters(shape, int(np.prod(shape[1:])))
        each = scales * (np.max(x.scale) if x.scale is not None else 0.01)
        y = self.node(
            "Conv",
            [source, w, *self.bias(out, each, x.size)],
            "conv",
            kernel_shape=list(window),
            group=groups,
            strides=[stride] * 2,
            dilations=[dilation] * 2,
            pads=own,
        )
        if self.chance(0.15):
            y = self.turned(y, out)
        places = zip(x.shape[2:], pads, window, strict=True)
        sizes = ((n + 2 * pad - (k - 1) * dilation - 1) // stride + 1 for n, pad, k in places)
        return Tensor(y, (1, out, *sizes), x.size)

    def turned(self, y: str, channels: int) -> str:
        """A factor of each channel behind a layer, of either sign, as a batch normalisation has;
        powers of two, of which products with scales are exact."""
        factors = self.rng.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], (1, channels, 1, 1))
        return self.node("Mul", [y, self.constant("factors", factors.astype(np.float32))], "turned")

    def activation(self, x: Tensor) -> tuple[Tensor, bool]:
        """Whether it leaves nothing below 0."""
        kind = self.pick("none", "Relu", "Relu", "Clip")
        if kind == "none":
            return x, False
        if kind == "Relu":
            return Tensor(self.node("Relu", [x.name], "relu"), x.shape, x.size), True
        high = np.float32(x.size * 1.3)
        ends = [self.constant("end", np.asarray(end, np.float32)) for end in (0.0, high)]
        return Tensor(self.node("Clip", [x.name, *ends], "clip"), x.shape, x.size), True

    def rounded_layer(self, x: Tensor, *, channels: bool = False) -> Tensor:
        """A convolution, an activation and a rounding."""
        y, positive = self.activation(self.convolution(x))
        return self.rounded(y, channels=channels, positive=positive)

    def apart(self, x: Tensor) -> Tensor:
        """Something between a rounding and the layer behind it that treats channels apart."""
        kind = self.pick(
            "none", "none", "MaxPool", "Relu", "Reshape", "Transpose", "Resize", "Slice"
        )
        n, c, height, width = x.shape
        if kind == "MaxPool" and min(height, width) > 2:
            y = self.node("MaxPool", [x.name], "pool", kernel_shape=[2, 2], strides=[1, 1])
            return Tensor(y, (n, c, height - 1, width - 1), x.size, x.scale)
        if kind == "Relu":
            return Tensor(self.node("Relu", [x.name], "relu"), x.shape, x.size, x.scale)
        if kind == "Reshape":
            shape = self.constant("shape", np.array([n, c, width, height], np.int64))
            y = self.node("Reshape", [x.name, shape], "reshaped")
            return Tensor(y, (n, c, width, height), x.size, x.scale)
        if kind == "Transpose":
            y = self.node("Transpose", [x.name], "transposed", perm=[0, 1, 3, 2])
            return Tensor(y, (n, c, width, height), x.size, x.scale)
        if kind == "Resize" and max(height, width) < 9:
            return self.resized(x, "nearest")
        if kind == "Slice":
            # From the last channel to the first: as many, each with the scale of another.
            ends = [self.constant("slice", np.array([each])) for each in (-1, -1 - c, 1, -1)]
            y = self.node("Slice", [x.name, *ends], "reversed")
            scale = x.scale if x.scale is None or np.ndim(x.scale) == 0 else x.scale[::-1]
            return Tensor(y, x.shape, x.size, scale)
        return x

    def resized(self, x: Tensor, mode: str) -> Tensor:
        """Twice as large."""
        scales = self.constant("scales", np.array([1, 1, 2, 2], np.float32))
        coordinates = "asymmetric" if mode == "nearest" else "half_pixel"
        attrs = {"mode": mode, "coordinate_transformation_mode": coordinates}
        y = self.node("Resize", [x.name, "", scales], "resized", **attrs)
        n, c, height, width = x.shape
        return Tensor(y, (n, c, 2 * height, 2 * width), x.size, x.scale)

    def pair(self, x: Tensor) -> Tensor:
        """``x`` and a convolution of it, or its means, added, multiplied or joined, and rounded; or
        a number in place of that."""
        channels = x.shape[1]
        if self.chance(0.2):
            return self.by_number(x)
        if self.chance(0.3):
            window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
            made = self.node("AveragePool", [x.name], "means", **window)
        else:
            w, scales = self.filters((channels, channels, 1, 1), channels)
            each = scales * (np.max(x.scale) if x.scale is not None else 0.01)
            made = self.node("Conv", [x.name, w, *self.bias(channels, each, x.size)], "conv")
        other = self.rounded(Tensor(made, x.shape, x.size), moves=False)
        op = self.pick("Add", "Add", "Add", "Mul", "Concat")
        if op == "Concat":
            joined = self.node("Concat", [x.name, other.name], "joined", axis=1)
            return self.rounded(Tensor(joined, (1, 2 * channels, *x.shape[2:]), x.size))
        two = Tensor(self.node(op, [x.name, other.name], "two"), x.shape, x.size)
        y, positive = self.activation(two)
        channels_apart = self.chance(0.4 * self.per_channel)
        return self.rounded(y, channels=channels_apart, positive=positive)

    def by_number(self, x: Tensor) -> Tensor:
        """A number added to ``x``, or a product or quotient, maybe through a function."""
        op, number = self.pick("Add", "Sub", "Mul", "Div"), self.rng.uniform(0.3, 3)
        constant = self.constant("number", np.asarray(number, np.float32))
        y = self.node(op, [x.name, constant], "by")
        y = self.node(self.pick("Sigmoid", "Erf"), [y], "function") if self.chance(0.3) else y
        return self.rounded(Tensor(y, x.shape, x.size))

    def columns(self, x: Tensor) -> Tensor:
        """``x`` behind a constant matrix, which multiplies its columns, or behind a stack of them,
        one for each channel."""
        n, c, height, width = x.shape
        stack = (n, c) if self.chance(0.4) else ()
        rows = int(self.rng.integers(2, 8))
        axis = len(stack)
        w, _ = self.filters((*stack, rows, height), height, axis, apart=not stack)
        y = self.node("MatMul", [w, x.name], "columns")
        made, positive = self.activation(Tensor(y, (n, c, rows, width), x.size))
        return self.rounded(made, positive=positive)

    def product(self, x: Tensor) -> Tensor:
        """``x`` by a convolution of it, both activations, as scores of attention are and what they
        weigh: one of them transposed where rows are no columns, and by itself or in heads."""
        n, c, height, width = x.shape
        w, _ = self.filters((c, c, 1, 1), c)
        made = self.node("Conv", [x.name, w], "conv")
        other = self.rounded(Tensor(made, x.shape, x.size), moves=False)
        a, b = (x.name, other.name) if self.chance(0.5) else (other.name, x.name)
        few = c % 2 == 0 and height * width <= _MOST_TOKENS
        if few and self.chance(0.5):  # pixels are tokens, channels two heads of them
            names = []
            for name, perm in ((a, [0, 1, 3, 2]), (b, [0, 1, 2, 3])):
                shape = self.constant("shape", np.array([n, 2, c // 2, height * width], np.int64))
                split = self.node("Reshape", [name, shape], "split")
                turned = self.node("Transpose", [split], "turned", perm=perm)
                names.append(turned if perm != [0, 1, 2, 3] else split)
            y = self.node("MatMul", names, "scores")
            tokens, depth = height * width, c // 2
            return self.rounded(Tensor(y, (n, 2, tokens, tokens), x.size * depth**0.5))
        b = self.node("Transpose", [b], "turned", perm=[0, 1, 3, 2])
        y = self.node("MatMul", [a, b], "product")
        made_of = Tensor(y, (n, c, height, height), x.size * width**0.5)
        made_of, positive = self.activation(made_of)
        return self.rounded(made_of, positive=positive)

    def block(self, x: Tensor) -> Tensor:
        """Some layers of a network."""
        kind = self.pick(
            *("conv", "conv", "separable", "separable", "pair", "pool", "resize", "product"),
            "columns",
        )
        if kind == "columns":
            return self.columns(x)
        if kind == "product":
            return self.product(x)
        if kind == "separable":
            channels = self.chance(self.per_channel)
            y = self.apart(self.rounded_layer(x, channels=channels))
            return self.rounded_layer(y, channels=channels and self.chance(0.2))
        if kind == "pair":
            return self.pair(x)
        if kind == "pool" and min(x.shape[2:]) > 3:
            window = {"kernel_shape": [3, 3], "strides": [2, 2]}
            pool = self.node(self.pick("MaxPool", "AveragePool"), [x.name], "pool", **window)
            sizes = ((n - 3) // 2 + 1 for n in x.shape[2:])
            return self.rounded(Tensor(pool, (*x.shape[:2], *sizes), x.size))
        if kind == "resize" and max(x.shape[2:]) < 9:
            return self.rounded(self.resized(x, self.pick("nearest", "linear")))
        return self.rounded_layer(x)

    def head(self, x: Tensor) -> Tensor:
        """A dense layer, and what a network ends in."""
        if self.chance(0.6):
            pooled = self.node("GlobalAveragePool", [x.name], "pooled")
            x = self.rounded(Tensor(pooled, (*x.shape[:2], 1, 1), x.size))
        features = int(np.prod(x.shape[1:]))
        flat = self.node("Flatten", [x.name], "flat")
        kind = self.pick("Gemm", "Gemm transposed", "MatMul", "dynamic")
        axis = 1 if kind in ("Gemm", "MatMul") else 0
        if kind == "dynamic":
            y = self.dynamic(flat, features)
        else:
            shape = (5, features) if axis == 0 else (features, 5)
            w, scales = self.filters(shape, features, axis)
            each = scales * (np.max(x.scale) if x.scale is not None else 0.01)
            bias = self.bias(5, each, x.size)
            if kind == "MatMul":
                y = self.node("MatMul", [flat, w], "dense")
                y = self.node("Add", [y, *bias], "biased") if bias else y
            else:
                y = self.node("Gemm", [flat, w, *bias], "dense", transB=1 - axis)
        made = Tensor(y, (1, 5), x.size)
        if self.chance(0.4):
            return made
        made = self.rounded(made)
        if self.chance(0.4) and not self.bits16:
            soft = self.node("Softmax", [made.name], "soft", axis=1)
            return self.rounded(Tensor(soft, (1, 5), 0.5), positive=True)
        return made

    def dynamic(self, x: str, features: int) -> str:
        """A dense layer with the scale of its input computed at run time."""
        outputs = [self.fresh(hint) for hint in ("dynamic", "scale", "zero")]
        self.nodes.append(
            helper.make_node("DynamicQuantizeLinear", [x], outputs, f"{outputs[0]}_n")
        )
        values = self.rng.integers(-127, 127, (features, 5), endpoint=True).astype(np.int8)
        w = self.constant("w", values)
        sums = self.node("MatMulInteger", [outputs[0], w, outputs[2]], "sums")
        real = self.node("Cast", [sums], "cast", to=int(TensorProto.FLOAT))
        by = self.constant("by", np.float32(0.01 / features**0.5) * np.ones(1, np.float32))
        return self.node("Mul", [real, self.node("Mul", [outputs[1], by], "factor")], "scaled")


def network(seed: int) -> onnx.ModelProto:
    """``x`` float32 -> a float32 result."""
    maker = Maker(seed)
    channels, size = 2 * maker.pick(1, 2, 3), int(maker.rng.integers(5, 10))
    x = Tensor("x", (1, channels, size, size), 2.0)
    y = maker.rounded(x, channels=maker.chance(0.3 * maker.per_channel))
    for _ in range(int(maker.rng.integers(1, 5))):
        y = maker.block(y)
    y = maker.head(y)
    ports = (("x", x.shape), (y.name, y.shape))
    given, made = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ports)
    constants = list(maker.constants.values())
    graph = helper.make_graph(maker.nodes, "forms", [given], [made], constants)
    opset = 25 if any(each.data_type == TensorProto.INT2 for each in constants) else 21
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13)

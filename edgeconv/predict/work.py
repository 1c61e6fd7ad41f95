"""What a layer does on registers: instructions, and bytes to and from the nearest memory.

Convolutions state their multiply-add slots in their plans (``predicted_slots``); what is added here
is what plans leave out because it does not depend on the algorithm: activations, residuals, and the
taps on padding that kernels skip.  All other kernels have a row of their own in `_KERNELS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from edgeconv.algorithms.axis import axes_of
from edgeconv.algorithms.direct.tiles import KEEP_SLOTS
from edgeconv.algorithms.problem import problem_of
from edgeconv.algorithms.sconv.blocked import final_plan
from edgeconv.algorithms.sconv.plan import decoding_cost
from edgeconv.algorithms.sconv.slicing import Schedule
from edgeconv.ir.activation import Activation
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Tensor
from edgeconv.ops.lowering import FLOAT_BYTES
from edgeconv.storage import formats
from edgeconv.targets import Decoding, Target

# Vector instructions of an activation, counted in ec_activation.h and the headers that it uses; a
# division or a square root counts as four.
ACTIVATION_SLOTS = {
    "none": 0,
    "relu": 1,
    "clip": 2,
    "leaky_relu": 3,
    "hard_sigmoid": 3,
    "hard_swish": 4,
    "abs": 1,
    "neg": 1,
    "floor": 3,
    "ceil": 5,
    "round": 1,
    "grid": 8,
    "sqrt": 4,
    "reciprocal": 4,
    "exp": 18,
    "log": 22,
    "sigmoid": 25,
    "silu": 26,
    "gelu_tanh": 30,
    "elu": 22,
    "tanh": 28,
    "erf": 30,
    "gelu": 33,
    "softplus": 45,
}
# Instructions per element or per row that no table of the model tells, by counting in the kernels.
POOL_STRIP = 4  # of an output vector: start, last multiplication or none, store, addresses
SOFTMAX_ELEMENT = 30  # exponential, maximum, sum, product
SOFTMAX_ROW = 300  # two reductions across lanes and a division, each waiting for the one before
LRN_ELEMENT = 16
RESIZE_TAP = 2
MATMUL_SHARE = 0.5  # of the multiply-add rate that matrices of any size reach


@dataclass(frozen=True, slots=True)
class Work:
    """``slots``: vector instructions that compute, ``decoding`` those of them that bring numbers
    from storage formats and back.  ``moves``: loads and stores that take issue slots of their own.
    ``weight_bytes`` and ``data_bytes`` pass between registers and the nearest memory: those of
    constants, and those of tensors and workspaces."""

    slots: float
    moves: float
    weight_bytes: float
    data_bytes: float
    decoding: float = 0.0


def work_of(layer: Layer, graph: Graph, target: Target) -> Work:
    """The work of a layer that has code."""
    kernel = _KERNELS.get(layer.algorithm, _elementwise)
    return kernel(_Task(layer, graph, target))


@dataclass(frozen=True, slots=True)
class _Task:
    layer: Layer
    graph: Graph
    target: Target

    @property
    def output(self) -> Tensor:
        return self.graph[self.layer.node.output]

    @property
    def inputs(self) -> list[Tensor]:
        """Tensors read at run time, a residual included."""
        names = dict.fromkeys(self.layer.node.reads())
        return [self.graph[name] for name in names if not self.graph[name].is_constant]

    @property
    def out_vectors(self) -> float:
        return _elements(self.output) / self.target.lanes

    @property
    def in_vectors(self) -> float:
        return sum(map(_elements, self.inputs)) / self.target.lanes

    @property
    def in_bytes(self) -> float:
        return sum(map(_bytes, self.inputs))

    @property
    def out_bytes(self) -> float:
        return _bytes(self.output)

    @property
    def streamed(self) -> float:
        """Slots that decode every input once, vector by vector, the residual aside."""
        residual = self.layer.node.epilogue.residual
        return sum(
            _elements(tensor) / self.target.lanes * self.stored(tensor).vector
            for tensor in self.inputs
            if tensor.name != residual
        )

    @property
    def encoded(self) -> float:
        """Slots that encode the output and decode the residual."""
        residual = self.layer.node.epilogue.residual
        read = self.stored(self.graph[residual]).vector if residual else 0.0
        return self.out_vectors * (self.stored(self.output).write + read)

    @property
    def filters_as(self) -> str:
        """The storage format of the layer's filters."""
        return next(blob.storage for blob in self.layer.blobs if blob.name == "filters")

    @property
    def filters(self) -> int:
        """Elements of the layer's filters as they are packed."""
        return next(blob.elements for blob in self.layer.blobs if blob.name == "filters")

    def stored(self, tensor: Tensor) -> Decoding:
        """What the format of ``tensor`` costs."""
        return self.target.decoding(tensor.storage)

    @property
    def constants(self) -> int:
        """Bytes of constants."""
        return sum(blob.bytes for blob in self.layer.blobs)

    @property
    def epilogue(self) -> float:
        """Slots of activations and residual, over all outputs."""
        epilogue = self.layer.node.epilogue
        each = _slots(epilogue.before) + _slots(epilogue.after) + bool(epilogue.residual)
        return each * self.out_vectors

    def planned(self, name: str) -> float:
        """A number of the layer's plan."""
        value = self.layer.plan[name]
        assert isinstance(value, int | float)
        return float(value)


def _elements(tensor: Tensor) -> int:
    return tensor.layout.elements(tensor.shape)


def _bytes(tensor: Tensor) -> float:
    return _elements(tensor) * _width(tensor.storage)


def _width(storage: str) -> float:
    """Bytes of an element."""
    return formats()[storage].bits / 8


def _slots(activation: Activation) -> int:
    return ACTIVATION_SLOTS[activation.kind]


def single_issue(target: Target) -> bool:
    """Whether loads take the place of multiply-adds: nothing is vectorised, one after the other."""
    return target.lanes * target.outer_rate == 1


def _tiled(
    task: _Task,
    pixels: float,
    filters: float,
    *,
    met: float = 1.0,
    packed: float = 0.0,
    decoded: float | None = None,
) -> Work:
    """A register tile of so many output pixels by filters: each step loads one of each.

    ``met``: the share of taps that lie in the input, where the kernel leaves out the others.
    ``packed``: elements that packing (or decoding) reads and writes as float32 for the tile;
    without packing the tile reads the input.  ``decoded``: slots that decode filters into memory,
    None where the tile does it.  Both are among the plan's slots.
    """
    target, source = task.target, task.inputs[0]
    weights, data = task.layer.macs * met / pixels, task.layer.macs * met / filters  # elements
    around = packed / target.lanes * task.stored(source).vector + task.encoded
    width, filters_width = _width(source.storage), _width(task.filters_as)
    if decoded is None:
        decoded = weights / target.lanes * target.decoding(task.filters_as).vector
    else:
        filters_width = FLOAT_BYTES
    pixels_decoded = 0.0 if packed else data * task.stored(source).element
    return Work(
        slots=task.planned("predicted_slots") * met + task.epilogue + around,
        moves=weights + data if single_issue(target) else 0.0,
        weight_bytes=filters_width * weights,
        data_bytes=data * (FLOAT_BYTES if packed else width)
        + packed * (width + FLOAT_BYTES)
        + task.out_bytes,
        decoding=decoded + pixels_decoded + around,
    )


def _taps_met(task: _Task) -> float:
    """The share of a convolution's taps that lie in the input, the mean over its outputs."""
    return math.prod(axis.met for axis in axes_of(problem_of(task.layer.node, task.graph)))


def _direct(task: _Task) -> Work:
    met = _taps_met(task) if task.layer.node.op == "Conv" else 1.0
    band = float(str(task.layer.params.get("band_elements", 0)))
    mr, nr = task.planned("mr"), task.planned("nr")
    return _tiled(task, mr, nr, met=met, packed=band, decoded=_decoded(task))


def _decoded(task: _Task) -> float | None:
    """Slots that decode filters into a workspace; None where register tiles decode them."""
    params = task.layer.params
    if not params.get("decoded"):
        return None
    batch, rows, chunk = (int(str(params[name])) for name in ("batch", "rows", "chunk"))
    each = task.target.decoding(task.filters_as).vector + KEEP_SLOTS
    return batch * -(-rows // chunk) * each * task.filters / task.target.lanes


def _sconv(task: _Task) -> Work:
    """Packing reads every element of the panels from the image and writes it, padding included."""
    problem = problem_of(task.layer.node, task.graph)
    panels = problem.batch * problem.in_c * math.prod(problem.kernel) * math.prod(problem.out_size)
    slicing = final_plan(problem, task.target, Schedule(str(task.layer.plan["schedule"]))).slicing
    rounds = problem.batch * problem.groups
    return _tiled(
        task,
        task.planned("n_win"),
        task.planned("n_f"),
        packed=float(panels),
        decoded=rounds * decoding_cost(problem, task.target, slicing),
    )


def _bfloat16(task: _Task) -> Work:
    """Two multiply-adds in a lane per slot, as planned; the tile reads pairs from a panel."""
    tiles = _direct(task)
    half = tiles.weight_bytes * task.planned("mr") / task.planned("nr")  # of pairs, per tile
    data_bytes = half + task.in_bytes + task.out_bytes
    return replace(tiles, data_bytes=data_bytes, decoding=task.encoded)


def _depthwise(task: _Task) -> Work:
    """A column of the input is loaded once for all taps that it meets in a strip."""
    problem = problem_of(task.layer.node, task.graph)
    rows, lanes = task.planned("mr"), task.target.lanes
    kernel_w, stride = problem.kernel[2], problem.strides[2]
    taps = math.prod(problem.kernel) * _taps_met(task)
    columns = ((rows - 1) * stride + kernel_w) / kernel_w / rows  # loads per tap and output
    weights, data = task.out_vectors * taps / rows, task.out_vectors * taps * columns  # vectors
    decoded = (
        weights * task.target.decoding(task.filters_as).vector
        + data * task.target.decoding(problem.in_as).vector
        + task.encoded
    )
    return Work(
        slots=task.out_vectors * (taps + 2) + task.epilogue + decoded,
        moves=weights + data + task.out_vectors if single_issue(task.target) else 0.0,
        weight_bytes=_width(task.filters_as) * lanes * weights,
        data_bytes=_width(problem.in_as) * lanes * data + task.out_bytes,
        decoding=decoded,
    )


def _elementwise(task: _Task) -> Work:
    """One instruction per output beside the activations; every operand is loaded once."""
    return _streams(task, task.out_vectors)


def _streams(task: _Task, slots: float, passes: float = 1.0) -> Work:
    """``slots`` beside the activations, and every operand as often as there are ``passes``."""
    decoded = passes * task.streamed + task.encoded
    return Work(
        slots=slots + task.epilogue + decoded,
        moves=passes * task.in_vectors + task.out_vectors,
        weight_bytes=task.constants,
        data_bytes=passes * task.in_bytes + task.out_bytes,
        decoding=decoded,
    )


def _moving(task: _Task) -> Work:
    """Copies, transpositions included."""
    return _streams(task, 0.0)


def _windows(task: _Task) -> Work:
    """Pooling: a load and an instruction per tap of an output vector."""
    taps = math.prod(task.layer.node.attrs["kernel"]) * task.out_vectors
    source = task.inputs[0]
    decoded = taps * task.stored(source).vector + task.encoded
    return Work(
        slots=taps + POOL_STRIP * task.out_vectors + task.epilogue + decoded,
        moves=taps if single_issue(task.target) else 0.0,
        weight_bytes=0.0,
        data_bytes=_width(source.storage) * task.target.lanes * taps + task.out_bytes,
        decoding=decoded,
    )


def _line_windows(task: _Task) -> Work:
    """Pooling of row-major images: columns first, over whole rows, then along the row, where
    vectors with a stride are gathered element by element."""
    node, shape = task.layer.node, task.inputs[0].shape
    kernel, stride = node.attrs["kernel"], node.attrs["strides"][-1]
    rows = task.output.elements / task.output.shape[-1]
    columns = rows * math.prod(kernel[:-1]) * shape[-1] / task.target.lanes
    gathered = kernel[-1] * task.out_vectors * (task.target.lanes if stride > 1 else 1)
    loads, source = columns + gathered, task.inputs[0]
    width, decoded = _width(source.storage), columns * task.stored(source).vector + task.encoded
    return Work(
        slots=loads + POOL_STRIP * task.out_vectors + task.epilogue + decoded,
        moves=loads if single_issue(task.target) else 0.0,
        weight_bytes=0.0,
        data_bytes=task.target.lanes * (columns * width + (columns + gathered) * FLOAT_BYTES)
        + task.out_bytes,
        decoding=decoded,
    )


def _reduced(task: _Task) -> Work:
    return _streams(task, task.in_vectors)


def _softmax(task: _Task) -> Work:
    """Vectors along the axis, or across it where it is not the innermost one."""
    axis, shape, lanes = task.layer.node.attrs["axis"], task.output.shape, task.target.lanes
    along, across = math.prod(shape[axis:]), math.prod(shape[:axis])
    vectors = across * -(-along // lanes)
    return _streams(task, SOFTMAX_ELEMENT * vectors + SOFTMAX_ROW * across, passes=2.0)


def _lrn(task: _Task) -> Work:
    each = LRN_ELEMENT + int(task.layer.node.attrs["size"])
    return _streams(task, each * task.out_vectors)


def _resize(task: _Task) -> Work:
    taps = math.prod(n for n in task.layer.params["taps"])  # type: ignore[misc,union-attr]
    return _streams(task, RESIZE_TAP * float(taps) * task.out_vectors)


def _matmul(task: _Task) -> Work:
    return _streams(task, task.layer.macs / task.target.lanes / MATMUL_SHARE)


_KERNELS: dict[str, Callable[[_Task], Work]] = {
    "direct": _direct,
    "dense": _direct,
    "sconv": _sconv,
    "bfloat16": _bfloat16,
    "depthwise": _depthwise,
    "elementwise": _elementwise,
    "pool_lanes": _windows,
    "pool_rows": _line_windows,
    "pool_global_lanes": _reduced,
    "pool_global_rows": _reduced,
    "reduce_columns": _reduced,
    "reduce_rows": _reduced,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "lrn": _lrn,
    "resize_nearest": _moving,
    "resize_linear": _resize,
    "resize_cubic": _resize,
    "matmul": _matmul,
    "concat": _moving,
    "convert": _moving,
    "copy": _moving,
    "view": _moving,
    "gather": _moving,
    "pad": _moving,
}

"""A convolution, normalised: three spatial dimensions, explicit padding, known layouts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edgeconv.ir.activation import NONE
from edgeconv.ir.encoding import FLOAT32, INT8, Encoding
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, Order, Shape
from edgeconv.ir.step import Divides
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.digits import FewBits, few_bits
from edgeconv.kernels.algorithms.real_sums import real_sums_of
from edgeconv.kernels.algorithms.scaling import scaling_of_layer
from edgeconv.kernels.algorithms.sums import NO_FACTS, Facts, facts_of, form_of, two_fit
from edgeconv.kernels.algorithms.wide_sums import wide_sums_of
from edgeconv.kernels.algorithms.widening import is_asymmetric
from edgeconv.kernels.lowering.work import functions_of

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Element strides of an image tensor in memory.

    ``block`` channels lie side by side; ``block_stride`` leads to the next block; ``plane``,
    ``row`` and ``pixel`` to the next slice, row and column; ``batch`` to the next image.
    """

    block: int
    block_stride: int
    plane: int
    row: int
    pixel: int
    batch: int

    @staticmethod
    def of(layout: Layout, channels: int, size: Triple) -> Geometry:
        """The strides of ``layout`` for ``channels`` and a (depth, height, width) size."""
        d, h, w = size
        if layout.order is Order.CHANNELS_LAST:
            pixel, block, blocks = channels, channels, 1
        else:
            pixel = block = layout.block
            blocks = -(-channels // block)
        step = d * h * w * pixel
        return Geometry(block, step, h * w * pixel, w * pixel, pixel, blocks * step)


@dataclass(frozen=True, slots=True)
class Finish:
    """What the epilogue is to a plan: the ``functions`` of a result (`functions_of`), the format of
    the residual (None without one), and whether that is added behind an activation (``late``).
    ``twice``: there are two activations and no residual."""

    functions: tuple[str, ...] = ()
    residual_as: Encoding | None = None
    late: bool = False
    twice: bool = False

    @staticmethod
    def of(node: Node, graph: Graph) -> Finish:
        """The epilogue of ``node``."""
        epilogue = node.epilogue
        if not epilogue.residual:
            return Finish(functions_of(epilogue), twice=not epilogue.is_only_before)
        residual_as = graph[epilogue.residual].storage
        return Finish(functions_of(epilogue), residual_as, epilogue.before != NONE)


@dataclass(frozen=True, slots=True)
class ConvProblem:
    """Everything an algorithm plans from.  Sizes are (depth, height, width); images have depth 1.

    ``pads`` are those before the first slice, row and column: what lies after the last follows
    from ``out_size``.  ``filters_as``, ``in_as`` and ``out_as`` are the storage formats of the
    filters, of the input and of the output.  ``finish``: the epilogue.  ``schedule``: the one
    asked of SConv, for comparisons.  ``in_ring`` and ``out_ring``: the rows that memory holds at a
    time (``Tensor.ring``), 0 for all.  ``in_pitch`` and ``out_pitch``: of a problem that is as wide
    as a patch the columns from a row to the next in memory, 0 of others.  ``adds_apart``: rows of
    the residual do not lie as those of the output do, which are computed one at a time then
    (`Divides.adds_apart`).  ``integers``: sums of
    stored integers make the result (``sums.form_of``).  ``sum_facts``, ``two_fit``: `sums.facts_of`
    and `sums.two_fit`.
    ``winograd_forms``: the forms of Winograd that are accurate enough.  ``run_constants``: bytes
    of constants that a run of the network reads, as far as that is known.
    ``wide``, ``chunk``: integers of 16 bits make the result (``wide_sums.wide_sums_of``), and how
    many products of them fit int32, 0 for all of a window.
    ``real_sums``: float32 is made of sums of stored integers (``real_sums.real_sums_of``),
    ``wide_real``: of those of an input of 16 bits.
    ``asymmetric``: filters have zero points.  ``transposed``: rows and columns are exchanged
    (`along_rows`), those of filters in memory are not.  ``few``: the bits of the input, where
    filters have few (`Facts.digits`), and it has.
    """

    batch: int
    in_c: int
    out_c: int
    groups: int
    in_size: Triple
    out_size: Triple
    kernel: Triple = (1, 1, 1)
    strides: Triple = (1, 1, 1)
    dilations: Triple = (1, 1, 1)
    pads: Triple = (0, 0, 0)
    in_layout: Layout = CHANNELS_LAST
    out_layout: Layout = CHANNELS_LAST
    filters_as: Encoding = FLOAT32
    in_as: Encoding = FLOAT32
    out_as: Encoding = FLOAT32
    finish: Finish = Finish()
    schedule: str = ""
    in_ring: int = 0
    out_ring: int = 0
    in_pitch: int = 0
    out_pitch: int = 0
    adds_apart: bool = False
    integers: bool = False
    whole_sums: bool = False
    sum_facts: Facts = NO_FACTS
    two_fit: bool = False
    winograd_forms: tuple[Nested, ...] = ()
    run_constants: int = 0
    wide: bool = False
    chunk: int = 0
    real_sums: bool = False
    wide_real: bool = False
    asymmetric: bool = False
    transposed: bool = False
    few: FewBits | None = None

    @staticmethod
    def of_rows(rows: int, in_c: int, out_c: int) -> ConvProblem:
        """A product of matrices: rows of one are pixels, its columns and those of the other are
        channels."""
        return ConvProblem(1, in_c, out_c, 1, (1, 1, rows), (1, 1, rows))

    @property
    def in_memory(self) -> Triple:
        """The size of what memory holds of the input at a time."""
        return self.in_size[0], self.in_ring or self.in_size[1], self.in_size[2]

    @property
    def out_memory(self) -> Triple:
        """The geometry of the output."""
        return self.out_size[0], self.out_ring or self.out_size[1], self.out_size[2]

    @property
    def divides(self) -> Divides | None:
        """How a kernel that computes rows alone reads the input; None but for single images of
        several rows: of one, as a tensor of one spatial dimension is taken for, there are none."""
        if self.batch > 1 or self.in_size[0] > 1 or self.out_size[0] > 1 or self.in_size[1] == 1:
            return None
        reach = (self.kernel[1] - 1) * self.dilations[1] + 1
        return Divides(self.out_size[1], reach, self.strides[1], self.pads[1])

    @property
    def reads_pixels(self) -> bool:
        """Whether every window is a pixel of the input, none beside it: padding may come behind the
        last one alone."""
        last = [(size - 1) * step for size, step in zip(self.out_size, self.strides, strict=True)]
        inside = all(at < size for at, size in zip(last, self.in_size, strict=True))
        return self.kernel == (1, 1, 1) and not any(self.pads) and inside

    @property
    def columns(self) -> Divides:
        """How columns of the result read those of the input, as `divides` has it of rows."""
        reach = (self.kernel[2] - 1) * self.dilations[2] + 1
        return Divides(self.out_size[2], reach, self.strides[2], self.pads[2])

    @property
    def in_rows(self) -> Triple:
        """The size of the input with the columns from a row to the next in memory."""
        return *self.in_size[:2], self.in_pitch or self.in_size[2]

    @property
    def out_rows(self) -> Triple:
        """The size of the output, in the same way."""
        return *self.out_size[:2], self.out_pitch or self.out_size[2]

    @property
    def rings(self) -> dict[str, int]:
        """What memory holds of input and output, as parameters of templates."""
        return {"in_ring": self.in_ring, "out_ring": self.out_ring}

    @property
    def window(self) -> dict[str, Triple]:
        """How the kernel goes over the input, as parameters of templates."""
        return {
            "in_size": self.in_size,
            "out_size": self.out_size,
            "kernel": self.kernel,
            "strides": self.strides,
            "dilations": self.dilations,
            "pads": self.pads,
        }

    @property
    def filter_bytes(self) -> float:
        """Bytes of one weight in memory, 1/2 of int4."""
        return self.filters_as.bits / 8

    @property
    def in_bytes(self) -> int:
        """Bytes of one element of the input in memory."""
        return self.in_as.element_bytes

    @property
    def out_bytes(self) -> int:
        """Bytes of one element of the output in memory."""
        return self.out_as.element_bytes

    @property
    def in_elements(self) -> int:
        """Elements of the input in memory, layout padding included."""
        return self.in_layout.elements((self.batch, self.in_c, *self.in_size))

    @property
    def out_elements(self) -> int:
        """The elements of the output."""
        return self.out_layout.elements((self.batch, self.out_c, *self.out_size))

    @property
    def group_in_c(self) -> int:
        """Input channels of one group."""
        return self.in_c // self.groups

    @property
    def group_out_c(self) -> int:
        """Output channels of one group."""
        return self.out_c // self.groups

    @property
    def macs(self) -> int:
        """Multiply-accumulates, those on padding included, as ONNX tools count them."""
        pixels = self.batch * math.prod(self.out_size)
        return pixels * self.out_c * self.group_in_c * math.prod(self.kernel)

    @property
    def is_depthwise(self) -> bool:
        """One filter per input channel."""
        return self.groups > 1 and self.group_in_c == self.group_out_c == 1

    @property
    def is_pointwise(self) -> bool:
        """A 1x1 kernel at stride 1 without padding: a matrix product over the pixels."""
        return self.kernel == self.strides == (1, 1, 1) and self.in_size == self.out_size

    @property
    def is_column(self) -> bool:
        """A tensor of one column, all in memory: its rows are as good as the pixels of one."""
        flat = (self.in_size[0], self.in_size[2], self.out_size[0], self.out_size[2])
        return set(flat) == {1} and self.kernel[0] == 1 and not (self.in_ring or self.out_ring)

    @property
    def along_rows(self) -> ConvProblem:
        """A problem of the same sums over the same bytes, with rows and columns exchanged where it
        is a column:  kernels compute neighbouring pixels of a row together."""
        if not self.is_column:
            return self

        def swapped(sizes: Triple) -> Triple:
            return sizes[0], sizes[2], sizes[1]

        return replace(
            self,
            in_size=swapped(self.in_size),
            out_size=swapped(self.out_size),
            kernel=swapped(self.kernel),
            strides=swapped(self.strides),
            dilations=swapped(self.dilations),
            pads=swapped(self.pads),
            transposed=not self.transposed,
        )


def _triple(values: Shape, fill: int) -> Triple:
    """The last three of ``values`` with ``fill`` in front."""
    filled = (fill,) * 3 + tuple(values)
    return filled[-3], filled[-2], filled[-1]


def _widest(tensor: Tensor) -> Layout:
    """The tensor's layout; CHANNELS_LAST where that names the same bytes in longer runs."""
    if tensor.layout == ROW_MAJOR and CHANNELS_LAST.canonical(tensor.shape) == ROW_MAJOR:
        return CHANNELS_LAST
    return tensor.layout


def filters_as(node: Node) -> Encoding:
    """What an element is of the weights of a Conv or Dense node."""
    return node.storage.element


def computed(problem: ConvProblem, node: Node, graph: Graph, *, whole: bool = True) -> ConvProblem:
    """``problem``, of the sizes of a Conv or Dense node, with what its numbers are and what becomes
    of sums; ``whole``: its kernels make integers of them."""
    wide, out_as = wide_sums_of(node, graph), graph[node.output].storage
    in_as, real = graph[node.inputs[0]].storage, real_sums_of(node, graph)
    typed = replace(
        problem,
        filters_as=filters_as(node),
        in_as=in_as,
        out_as=out_as,
        finish=Finish.of(node, graph),
        wide=wide is not None,
        chunk=wide.chunk if wide else 0,
        asymmetric=is_asymmetric(node.storage),
    )
    alone = node.request.packed is not None  # bytes of two filters would have more bits
    if in_as.element != INT8:
        return replace(typed, wide_real=real is not None and wide is None)
    if real:
        facts = replace(real.facts, joins=real.facts.joins and not alone)
        typed = replace(typed, sum_facts=facts, two_fit=real.two_fit, real_sums=True)
    if not whole or form_of(node, graph) is None:
        return typed
    added = bool(node.epilogue.residual) or node.epilogue.is_only_before
    facts = facts_of(node, graph)
    facts = replace(facts, scaling=scaling_of_layer(node, graph), joins=facts.joins and not alone)
    return replace(
        typed,
        integers=out_as.affine and added,
        whole_sums=True,
        sum_facts=facts,
        two_fit=two_fit(node, graph),
        few=few_bits(node, graph) if facts.digits else None,
    )


def _adds_apart(node: Node, graph: Graph) -> bool:
    """Whether residual or result is a ring, or a patch has columns of each."""
    residual = node.epilogue.residual
    rings = residual and (graph[residual].ring or graph[node.output].ring)
    return bool(residual and (rings or node.request.patch))


def problem_of(node: Node, graph: Graph) -> ConvProblem:
    """The problem of a Conv node whose tensors' layouts are decided."""
    x, w, y = graph[node.inputs[0]], graph[node.inputs[1]], graph[node.output]
    rank = len(x.shape) - 2
    problem = ConvProblem(
        batch=x.shape[0],
        in_c=x.shape[1],
        out_c=w.shape[0],
        groups=node.attrs["groups"],
        in_size=_triple(x.shape[2:], 1),
        out_size=_triple(y.shape[2:], 1),
        kernel=_triple(node.attrs["kernel"], 1),
        strides=_triple(node.attrs["strides"], 1),
        dilations=_triple(node.attrs["dilations"], 1),
        pads=_triple(node.attrs["pads"][:rank], 0),
        in_layout=_widest(x),
        out_layout=_widest(y),
        schedule=node.request.schedule,
        in_ring=x.ring,
        out_ring=y.ring,
        adds_apart=_adds_apart(node, graph),
        winograd_forms=node.request.winograd_forms,
        run_constants=node.request.run_constants,
    )
    if patch := node.request.patch:
        in_w, out_w = patch
        problem = replace(
            problem,
            in_size=(*problem.in_size[:2], in_w),
            out_size=(*problem.out_size[:2], out_w),
            in_pitch=x.held[-1],
            out_pitch=y.held[-1],
        )
    return computed(problem, node, graph)

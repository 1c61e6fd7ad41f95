"""What the slicing analysis knows of a convolution: one group of one image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from edgeconv.kernels.algorithms.problem import ConvProblem, Triple


@dataclass(frozen=True, slots=True)
class Window:
    """How output pixels read the image, as in ``ConvProblem``; sizes are (depth, height, width)."""

    in_size: Triple
    out_size: Triple
    kernel: Triple
    strides: Triple = (1, 1, 1)
    dilations: Triple = (1, 1, 1)
    pads: Triple = (0, 0, 0)

    @property
    def reach(self) -> Triple:
        """Input slices, rows and columns from the first to the last that one window reads."""
        d, h, w = ((k - 1) * step + 1 for k, step in zip(self.kernel, self.dilations, strict=True))
        return d, h, w

    @property
    def pointwise(self) -> bool:
        """Every output pixel reads the input element at its own place."""
        return self.kernel == self.strides == (1, 1, 1) and self.in_size == self.out_size

    def used(self, axis: int) -> int:
        """Input positions along ``axis`` that some window reads."""
        return _used(
            self.in_size[axis],
            self.out_size[axis],
            self.kernel[axis],
            self.strides[axis],
            self.dilations[axis],
            self.pads[axis],
        )


@cache
def _used(size: int, out: int, kernel: int, stride: int, dilation: int, pad: int) -> int:
    starts = range(-pad, out * stride - pad, stride)
    reads = {start + k * dilation for start in starts for k in range(kernel)}
    return sum(0 <= position < size for position in reads)


@dataclass(frozen=True, slots=True)
class Shape:
    """One group of one image: ``in_c`` channels, ``out_c`` filters of ``taps`` kernel positions
    each, ``pixels`` output pixels.

    ``window`` tells what packing reads of the unpacked image; without it every pixel is taken to
    read one element per channel (a pointwise convolution).  ``element_bytes`` are those of panels
    and filters, ``in_element`` and ``out_element`` those of the images, ``filter_element`` those of
    filters before they are decoded.  Raises ValueError on a
    size below 1.
    """

    in_c: int
    out_c: int
    taps: int
    pixels: int
    element_bytes: int = 4
    window: Window | None = None
    in_element: int = 4
    out_element: int = 4
    filter_element: float = 4.0

    def __post_init__(self) -> None:
        sizes = (self.in_c, self.out_c, self.taps, self.pixels, self.element_bytes)
        if min(sizes) < 1:
            raise ValueError(f"a convolution of (in_c, out_c, taps, pixels, bytes) = {sizes}")
        if self.window and math.prod(self.window.out_size) != self.pixels:
            raise ValueError(f"{self.pixels} pixels in an output of {self.window.out_size}")

    @staticmethod
    def of(problem: ConvProblem) -> Shape:
        """One group of one image of ``problem``."""
        return Shape(
            in_c=problem.group_in_c,
            out_c=problem.group_out_c,
            taps=math.prod(problem.kernel),
            pixels=math.prod(problem.out_size),
            window=Window(
                problem.in_size,
                problem.out_size,
                problem.kernel,
                problem.strides,
                problem.dilations,
                problem.pads,
            ),
            in_element=problem.in_bytes,
            out_element=problem.out_bytes,
            filter_element=problem.filter_bytes,
        )

    @property
    def macs(self) -> int:
        """Multiply-accumulates, those on padding included."""
        return self.in_c * self.out_c * self.taps * self.pixels

    @property
    def input_bytes(self) -> int:
        """Bytes of the elements of the input that some window reads."""
        w = self.window
        elements = math.prod(w.used(axis) for axis in range(3)) if w else self.pixels
        return self.in_c * elements * self.in_element

    @property
    def filter_bytes(self) -> int:
        """Bytes of the filters."""
        return self.in_c * self.out_c * self.taps * self.element_bytes

    @property
    def output_bytes(self) -> int:
        """Bytes of the output."""
        return self.out_c * self.pixels * self.out_element

    @property
    def compulsory_bytes(self) -> int:
        """Every operand moved once: no schedule moves less between a cache and what is behind."""
        return self.input_bytes + self.filter_bytes + self.output_bytes

    def plane_bytes(self, line: int) -> int:
        """Bytes of the lines of one input channel that some window reads.

        Whole rows when columns that no window reads lie within a line of ones that are read.
        """
        w, size = self.window, self.in_element
        if w is None:
            return -(-self.pixels * size // line) * line
        rows, columns = w.used(0) * w.used(1), w.used(2)
        width = min(w.in_size[2], (w.out_size[2] - 1) * w.strides[2] + w.reach[2])
        if max(w.strides[2], w.dilations[2]) * size >= line:
            return rows * columns * line  # a line for every element
        apart = w.used(1) < min(w.in_size[1], (w.out_size[1] - 1) * w.strides[1] + w.reach[1])
        slack = line - math.gcd(w.in_size[2] * size, line)
        if apart:
            whole = math.prod(w.in_size) * size + slack
            return min(whole, rows * (max(width, columns) * size + slack))
        return rows * max(width, columns) * size + slack

    def run_bytes(self, run: int, line: int) -> float:
        """Bytes of the lines of one channel read to pack ``run`` neighbouring output pixels.

        The mean over where the run starts in its row; elements that several pixels of the run
        share count once.
        """
        size, slack = self.in_element, line - self.in_element
        plane = self.plane_bytes(line)
        if run >= self.pixels:
            return plane
        w = self.window
        if w is None or w.pointwise:  # runs follow each other from the start of the channel on
            return min(plane, run * size + line - math.gcd(run * size, self.pixels * size, line))
        (in_d, in_h, in_w), out_w = w.in_size, w.out_size[2]
        (kernel_d, kernel_h, _), (_, stride_h, stride_w) = w.kernel, w.strides
        (_, reach_h, reach_w) = w.reach
        rows = 1 + (run - 1) / out_w  # output rows that the run touches
        in_rows = min(kernel_h * rows, (rows - 1) * stride_h + reach_h, in_d * in_h)
        # Row by row: the columns under each piece of the run, a line begun too early at each.
        columns = min(run * stride_w / rows + max(reach_w - stride_w, 0), in_w)
        pieces = in_rows * (columns * size + slack)
        # Or as one stretch of memory from the first element to the last.
        stretch = run / out_w * stride_h * in_w + (reach_h - stride_h) * in_w + reach_w
        whole = max(stretch, run) * size + slack
        return min(plane, kernel_d * min(pieces, whole))

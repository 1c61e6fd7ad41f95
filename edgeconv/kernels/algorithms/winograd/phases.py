"""Convolutions with strides or dilations as convolutions without: of more channels, of more images.

A kernel that goes over an input in strides of s meets of its taps with a number k + s i only pixels
with a number k modulo s more than a multiple of s: the k-th phase of the input.  Each phase of the
taps is convolved with one of the input at a stride of 1, and the sum over the phases is that over
channels (Vaidyanathan, Multirate Systems and Filter Banks, 1993, Section 4.3).

With dilations of d outputs a multiple of d apart read pixels that are, too: d^2 images, whose
convolution is one of neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from edgeconv.kernels.algorithms.problem import ConvProblem

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Phases:
    """Phases of one direction: ``count`` phases, of which the first ``whole`` have ``taps`` taps
    and the others one less; pixels of a phase are ``stride`` apart in the input."""

    stride: int
    count: int
    taps: int
    whole: int

    @staticmethod
    def of(kernel: int, stride: int) -> Phases:
        """The phases of so many taps at this stride; pixels that no tap meets are in none."""
        taps = -(-kernel // stride)
        return Phases(stride, min(stride, kernel), taps, kernel - (taps - 1) * stride)


Both = tuple[Phases, Phases]
PLAIN: Both = (Phases.of(1, 1),) * 2  # all pixels, whatever the kernel


def phases_of(kernel: Sequence[int], strides: Sequence[int]) -> Both:
    """The phases of rows and of columns."""
    down, across = (Phases.of(*each) for each in zip(kernel, strides, strict=True))
    return down, across


@dataclass(frozen=True, slots=True)
class Divided:
    """A convolution divided into phases.  ``own``: a convolution of one group and two
    dimensions."""

    own: ConvProblem

    @property
    def strided(self) -> bool:
        """Whether its phases are copied, one after the other."""
        return self.own.strides[1:] != (1, 1)

    @property
    def dilated(self) -> bool:
        """Whether an image is several."""
        return self.own.dilations[1:] != (1, 1)

    @property
    def phases(self) -> Both:
        """The phases of rows and of columns."""
        return phases_of(self.own.kernel[1:], self.own.strides[1:]) if self.strided else PLAIN

    @property
    def unit(self) -> ConvProblem:
        """It as a convolution of its phases, borders included; or of the images that it has with
        dilations, as large as the largest of them."""
        own, (down, across) = self.own, self.phases
        _, out_h, out_w = own.out_size
        if not self.strided:
            _, high, wide = own.dilations
            return replace(
                own,
                batch=own.batch * min(high, out_h) * min(wide, out_w),
                in_size=(1, -(-own.in_size[1] // high), -(-own.in_size[2] // wide)),
                out_size=(1, -(-out_h // high), -(-out_w // wide)),
                dilations=(1, 1, 1),
                pads=(0, -(-own.pads[1] // high), -(-own.pads[2] // wide)),
            )
        return replace(
            own,
            in_c=own.in_c * down.count * across.count,
            in_size=(1, out_h + down.taps - 1, out_w + across.taps - 1),
            kernel=(1, down.taps, across.taps),
            strides=(1, 1, 1),
            pads=(0, 0, 0),
        )

    def floats(self, lanes: int) -> int:
        """The floats of the copied phases, in blocks of so many channels."""
        unit = self.unit
        blocks = -(-unit.in_c // lanes)
        return unit.batch * blocks * lanes * math.prod(unit.in_size) if self.strided else 0


def of_filters(weights: Floats, strides: Sequence[int]) -> Floats:
    """Filters (out_c, in_c, rows, columns) of `unit_stride`: phase by phase, of each all channels;
    zeros where a phase has a tap less."""
    if tuple(strides) == (1, 1):
        return weights
    down, across = phases_of(weights.shape[2:], strides)
    sides = down.taps * down.count, across.taps * across.count
    behind = [(0, side - taps) for side, taps in zip(sides, weights.shape[2:], strict=True)]
    padded = np.pad(weights, ((0, 0), (0, 0), *behind))
    split = padded.reshape(*weights.shape[:2], down.taps, down.count, across.taps, across.count)
    parts = split.transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(len(weights), -1, down.taps, across.taps)


def of_images(
    x: Floats,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    out_size: Sequence[int],
) -> Floats:
    """Images (n, in_c, h, w) as `Divided.unit` reads them, with so many zeros before the first row
    and column, and as many behind the last as it takes."""
    down, across = phases_of(kernel, strides)
    high, wide = out_size[0] + down.taps - 1, out_size[1] + across.taps - 1
    padded = np.zeros((*x.shape[:2], high * down.stride, wide * across.stride), np.float32)
    inside = padded[:, :, pads[0] : pads[0] + x.shape[2], pads[1] : pads[1] + x.shape[3]]
    inside[:] = x[:, :, : inside.shape[2], : inside.shape[3]]
    parts = [
        padded[:, :, i :: down.stride, j :: across.stride]
        for i in range(down.count)
        for j in range(across.count)
    ]
    return np.concatenate(parts, 1)

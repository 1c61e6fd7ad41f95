"""Convolutions of different kinds, each by the algorithms that compute it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from convtime.cases import CaseOptions, Convolution, candidates

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.work import CacheTraffic
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.target.targets import Target

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Spec:
    """A two-dimensional convolution, padded on both sides by half of what its kernel spans."""

    in_c: int
    size: Pair
    out_c: int
    kernel: Pair
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    batch: int = 1

    def convolution(self) -> Convolution:
        """Its graph: zero weights, no activation."""
        pads = tuple((k - 1) * self.dilation // 2 for k in self.kernel)
        out = tuple(
            (n + 2 * pad - (k - 1) * self.dilation - 1) // self.stride + 1
            for n, k, pad in zip(self.size, self.kernel, pads, strict=True)
        )
        weights = np.zeros((self.out_c, self.in_c // self.groups, *self.kernel), np.float32)
        tensors = (
            Tensor("x", (self.batch, self.in_c, *self.size)),
            Tensor("w", weights.shape, data=weights),
            Tensor("b", (self.out_c,), data=np.zeros(self.out_c, np.float32)),
            Tensor("y", (self.batch, self.out_c, *out)),
        )
        attrs = {
            "kernel": self.kernel,
            "strides": (self.stride,) * 2,
            "dilations": (self.dilation,) * 2,
            "pads": pads * 2,
            "groups": self.groups,
        }
        node = Node("conv", "Conv", ("x", "w", "b"), ("y",), attrs)
        graph = Graph("convolution", (node,), {t.name: t for t in tensors}, ("x",), ("y",))
        return Convolution(problem_of(node, graph), node, graph)


SPECS: Mapping[str, Spec] = MappingProxyType(
    {
        "3x3": Spec(64, (28, 28), 64, (3, 3)),
        "3x3, few channels": Spec(16, (56, 56), 32, (3, 3)),
        "3x3, late": Spec(160, (7, 7), 192, (3, 3)),
        "3x3, aligned": Spec(32, (32, 32), 64, (3, 3)),
        "3x3 /2": Spec(48, (29, 29), 96, (3, 3), stride=2),
        "3x3 /2, few channels": Spec(16, (57, 57), 24, (3, 3), stride=2),
        "1x1, expanding": Spec(24, (40, 40), 144, (1, 1)),
        "1x1, reducing": Spec(256, (28, 28), 64, (1, 1)),
        "1x1, late": Spec(512, (7, 7), 512, (1, 1)),
        "1x1, large image": Spec(32, (75, 75), 32, (1, 1)),
        "1x1 /2": Spec(64, (56, 56), 128, (1, 1), stride=2),
        "5x5": Spec(24, (27, 27), 48, (5, 5)),
        "7x7 /2, first": Spec(3, (112, 112), 64, (7, 7), stride=2),
        "1x7": Spec(96, (17, 17), 128, (1, 7)),
        "7x1": Spec(96, (17, 17), 128, (7, 1)),
        "3x3, dilated": Spec(64, (24, 24), 64, (3, 3), dilation=2),
        "3x3, grouped": Spec(128, (28, 28), 128, (3, 3), groups=4),
        "1x1, grouped": Spec(240, (14, 14), 240, (1, 1), groups=3),
        "3x3, batch 2": Spec(32, (20, 20), 48, (3, 3), batch=2),
        "3x3, depthwise": Spec(96, (56, 56), 96, (3, 3), groups=96),
        "7x7, depthwise": Spec(32, (30, 160), 32, (7, 7), groups=32),
        "5x5 /2, depthwise": Spec(64, (57, 57), 64, (5, 5), stride=2, groups=64),
    }
)


@dataclass(frozen=True, slots=True)
class Case:
    """A convolution by one algorithm: its kernel call and what is predicted of it."""

    name: str
    label: str
    algorithm: str
    layer: Layer
    predicted: tuple[CacheTraffic, ...]
    sizes: tuple[int, ...]  # bytes of each argument of the call


def cases(spec: Spec, name: str, target: Target) -> Iterator[Case]:
    """The convolution by every algorithm that applies."""
    convolution = spec.convolution()
    for candidate in candidates(convolution, target, CaseOptions()):
        layer, graph = candidate.layer, candidate.graph
        blobs = {blob.name: 4 * blob.elements for blob in layer.blobs}
        tensors = {t: 4 * graph[t].elements for t in ("x", "y")}
        known = {**blobs, **tensors, "": layer.workspace_bytes}
        yield Case(
            name=name,
            label=convolution.label,
            algorithm=candidate.name,
            layer=layer,
            predicted=layer.traffic,
            sizes=tuple(known[arg.ref] for arg in layer.args),
        )

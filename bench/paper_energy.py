"""Predicted energy of convolutions with stored tensors, relative to float32, beside a paper's.

    python bench/paper_energy.py [--board odroid-xu3] [--weights] [--once] [--truncate] [--core]
        [--json]

The convolutions are those of Table 4.1 of C. D. Keane, "Automatic Program Generation for
Convolutional Neural Networks on Resource Constrained Devices", Trinity College Dublin, 2022 (stride
1, padded to the input's size), each alone, run again and again on one core; input, filters and
output are stored as flyte24, flyte16 or flyte8, only the filters with --weights.  Kernels decode
what they read every time, or to memory where that pays; with --once every element is decoded once
into float32 that is read from then on, as section 8.4 has it.  --truncate: outputs are
not rounded, which is what the paper does.  --core leaves the idle power of the board out.

The paper has its energy per convolution in figures alone.  What section 8.5 says of them is checked
at the end: exit status 1 where a sign or an order is another one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

import numpy as np

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import ROW_MAJOR, blocked
from edgeconv.ir.request import Request
from edgeconv.kernels.algorithms import lower
from edgeconv.kernels.storage import formats
from edgeconv.search import memory
from edgeconv.search.predict.rates import machine_with
from edgeconv.search.predict.residency import uses
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from edgeconv.target.price import price
from edgeconv.target.price.energy import bytes_by_level, joules
from edgeconv.target.price.machine import sources
from edgeconv.target.targets import Target

FORMATS = ("flyte24", "flyte16", "flyte8")
LOAD_AND_STORE = 1.0  # slots of a vector that is decoded into memory, beside its decoding
# Slots that encode a vector without rounding it on 32-bit NEON, the store aside: table look-ups of
# half a vector (two make a slot), or a narrowing shift.
TRUNCATED = {"float32": 0.0, "flyte24": 1.0, "flyte16": 1.0, "flyte8": 0.5}
Shape = tuple[int, int, int, int, int]  # height, width, input channels, output channels, kernel

# Table 4.1, H W C M K.
CONVOLUTIONS: tuple[tuple[str, Shape], ...] = (
    ("AlexNet", (27, 27, 96, 256, 5)),
    ("AlexNet", (13, 13, 256, 384, 3)),
    ("AlexNet", (13, 13, 384, 384, 3)),
    ("AlexNet", (13, 13, 384, 256, 3)),
    ("Inception V4", (299, 299, 3, 32, 3)),
    ("Inception V4", (149, 149, 32, 32, 3)),
    ("Inception V4", (147, 147, 64, 64, 3)),
    ("Inception V4", (73, 73, 64, 96, 3)),
    ("Inception V4", (35, 35, 64, 96, 3)),
    ("MobileNetV2", (224, 224, 3, 32, 3)),
    ("MobileNetV2", (112, 112, 32, 32, 3)),
    ("MobileNetV2", (112, 112, 56, 56, 3)),
    ("MobileNetV2", (56, 56, 128, 128, 3)),
    ("MobileNetV2", (28, 28, 256, 256, 3)),
    ("MobileNetV2", (14, 14, 512, 512, 3)),
    ("ResNet-152", (56, 56, 64, 64, 3)),
    ("ResNet-152", (28, 28, 128, 128, 3)),
    ("ResNet-152", (14, 14, 256, 256, 3)),
    ("ResNet-152", (7, 7, 512, 512, 3)),
    ("VGG", (224, 224, 3, 64, 3)),
    ("VGG", (224, 224, 64, 64, 3)),
    ("VGG", (112, 112, 64, 128, 3)),
    ("VGG", (112, 112, 128, 128, 3)),
    ("VGG", (56, 56, 128, 256, 3)),
    ("VGG", (56, 56, 256, 256, 3)),
    ("VGG", (28, 28, 256, 512, 3)),
    ("VGG", (28, 28, 512, 512, 3)),
    ("VGG", (14, 14, 512, 512, 3)),
)

# Section 8.5: convolutions of 29 that take less energy than float32 (with flyte8 those where it is
# the best as well), and the two that it names.
PAPER_HELPS = {"flyte24": 10, "flyte16": 12, "flyte8": 18}
PAPER_OF = 29
PAPER_MEAN = 1 / 1.093  # of flyte8 where it is the best
PAPER_BEST = (1 / 1.206, "flyte8", (14, 14, 512, 512, 3))
PAPER_WORST = ("flyte24", (35, 35, 64, 96, 3))


@dataclass(frozen=True, slots=True)
class Row:
    """``energy`` and ``time`` of every format relative to float32's, which takes ``mj``."""

    network: str
    shape: Shape
    mj: float
    energy: dict[str, float]
    time: dict[str, float]

    @property
    def best(self) -> str:
        """The format of least energy, float32 among them."""
        return min(self.energy, key=lambda name: self.energy[name])


@dataclass(frozen=True, slots=True)
class Case:
    """How the convolutions are computed.

    ``images``: inputs and outputs are stored as well as filters.  ``once``: every element is
    decoded once, into float32 that the micro-kernel reads; otherwise as kernels do.
    ``truncated``: outputs are not rounded, which leaves two instructions of encoding.
    """

    images: bool
    once: bool
    truncated: bool


def _layer(shape: Shape, storage: str, target: Target, case: Case) -> tuple[Choice, Layer]:
    """One direct convolution between others: images in blocks of channels as wide as a vector."""
    h, w, in_c, out_c, k = shape
    form = formats()[storage].encoding
    images = form if case.images else FLOAT32
    layout = blocked(target.lanes)
    read = layout if in_c >= target.lanes else ROW_MAJOR
    weights = np.zeros((out_c, in_c, k, k), np.float32)
    tensors = (
        Tensor("x", (1, in_c, h, w), layout=read, storage=images),
        Tensor("w", weights.shape, data=weights),
        Tensor("y", (1, out_c, h, w), layout=layout, storage=images),
    )
    attrs = {
        "groups": 1,
        "kernel": (k, k),
        "strides": (1, 1),
        "dilations": (1, 1),
        "pads": (k // 2,) * 4,
        "storage": form,
    }
    node = Node("conv", "Conv", ("x", "w"), ("y",), attrs, request=Request("direct"))
    graph = Graph("one", (node,), {t.name: t for t in tensors}, ("x",), ("y",))
    layer = lower(node, graph, target)
    return Choice(graph, (layer,), target.name, target.align, io="arena"), layer


def _extra(storage: str, layer: Layer, graph: Graph, target: Target, case: Case) -> float:
    """Slots that the model of the kernels does not have: decoding once, and less for truncation."""
    cost = target.decoding(formats()[storage].encoding)
    written = case.images * graph["y"].elements / target.lanes
    encoding = TRUNCATED[storage] if case.truncated else cost.write
    if not case.once:
        return written * (encoding - cost.write)
    if storage == "float32":
        return 0.0
    filters = next(blob.elements for blob in layer.blobs if blob.name == "filters")
    vectors = (filters + case.images * graph["x"].elements) / target.lanes
    return vectors * (cost.vector + LOAD_AND_STORE) + written * encoding


def energy_and_time(shape: Shape, storage: str, board: Board, case: Case) -> tuple[float, float]:
    """Millijoules and milliseconds, run after run."""
    target = replace(board.target, decodings=()) if case.once else board.target
    choice, layer = _layer(shape, storage, target, case)
    plan = memory.plan(choice)
    (operands,) = uses(choice, plan)
    work = layer.work
    extra = _extra(storage, layer, choice.graph, board.target, case)
    work = replace(work, slots=work.slots + extra, decoding=work.decoding + extra)
    machine = machine_with(board, plan, sum(blob.bytes for blob in layer.blobs))
    cost = price(replace(layer, work=work), operands, machine)
    seconds = cost.seconds
    moved = bytes_by_level(work, cost.flows, sources(target), flash=False)
    assert board.energy
    macs = layer.macs + work.decoding * target.lanes
    return 1e3 * joules(board.energy, macs, moved, seconds), 1e3 * seconds


def rows(board: Board, case: Case) -> list[Row]:
    """The table."""
    found = []
    for network, shape in CONVOLUTIONS:
        each = {name: energy_and_time(shape, name, board, case) for name in ("float32", *FORMATS)}
        mj, ms = ({name: pair[n] for name, pair in each.items()} for n in (0, 1))
        found.append(
            Row(
                network,
                shape,
                mj["float32"],
                {name: mj[name] / mj["float32"] for name in each},
                {name: ms[name] / ms["float32"] for name in each},
            )
        )
    return found


def checks(found: Sequence[Row]) -> list[tuple[bool, str]]:
    """Whether signs and orders are those of section 8.5, and in words."""
    helps = {name: sum(row.energy[name] < 1 for row in found) for name in FORMATS}
    counted = ", ".join(f"{name} {helps[name]} ({PAPER_HELPS[name]})" for name in FORMATS)
    gains = [row.energy["flyte8"] for row in found if row.best == "flyte8"]
    every = [(row.energy[name], name, row.shape) for row in found for name in FORMATS]
    least, most = min(every), max(every)
    (best, *_) = (row.energy["flyte8"] for row in found if row.shape == PAPER_BEST[2])
    mean = fmean(gains) if gains else 1.0
    words = (
        f"less energy than float32, of {len(found)} (the paper's of {PAPER_OF}): {counted}",
        f"flyte8 takes least on {len(gains)} (18), mean there {mean:.3f} ({PAPER_MEAN:.3f})",
        f"flyte8 loses on {len(found) - helps['flyte8']} (11)",
        f"largest gain {_named(least)} ({_named(PAPER_BEST)}, here {best:.3f})",
        f"largest loss {_named(most)} ({PAPER_WORST[0]} on {PAPER_WORST[1]})",
    )
    right = (
        0 < helps["flyte8"] >= helps["flyte16"] >= helps["flyte24"],
        len(gains) > 0,
        0 < helps["flyte8"] < len(found),
        least[1:] == PAPER_BEST[1:],
        most[1:] == PAPER_WORST,
    )
    return list(zip(right, words, strict=True))


def _named(extreme: tuple[float, str, Shape]) -> str:
    ratio, storage, shape = extreme
    return f"{ratio:.3f}: {storage} on {shape}"


def _table(found: Sequence[Row]) -> str:
    lines = [f"{'':13}{'H W C M K':24}{'mJ':>9}  " + "".join(f"{n:>9}" for n in FORMATS) + "  best"]
    for row in found:
        energy = "".join(f"{row.energy[name]:9.3f}" for name in FORMATS)
        size = " ".join(map(str, row.shape))
        lines.append(f"{row.network:13}{size:24}{row.mj:9.2f}  {energy}  {row.best}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--board", default="odroid-xu3")
    parser.add_argument("--weights", action="store_true", help="images stay float32")
    parser.add_argument("--once", action="store_true", help="every element is decoded once")
    parser.add_argument("--truncate", action="store_true", help="outputs are cut, not rounded")
    parser.add_argument("--core", action="store_true", help="leave the idle power out")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    args = parser.parse_args()
    try:
        board = boards.load(args.board)
    except EdgeconvError as error:
        print(error, file=sys.stderr)
        return error.code
    if args.core and board.energy:
        board = replace(board, energy=replace(board.energy, idle=0.0))
    case = Case(images=not args.weights, once=args.once, truncated=args.truncate)
    found = rows(board, case)
    verdicts = checks(found)
    if args.json:
        print(json.dumps([asdict(row) for row in found], indent=2))
    else:
        print(_table(found))
        for right, words in verdicts:
            print(f"{'yes' if right else 'NO ':4}{words}")
    return 0 if all(right for right, _ in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

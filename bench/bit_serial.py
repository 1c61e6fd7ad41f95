"""Layers of few bits as int8 and bit by bit: instructions counted in QEMU, and predicted cycles.

    python bench/bit_serial.py [--board mps2-an386 ...]

Of filters and activations of one bit, both as signs, of ternary filters (t), and of two and three
bits, a convolution of 3x3 and one of 1x1 of 64 to 64 channels over 6x6 pixels, and a layer of 256
to 256 of one pixel, whose result is rounded alike.  A line each: instructions of the kernel of int8
and of ec_bit_serial.h, their quotient, and the cycles that the board's file predicts of either, of
which the lower one is chosen.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from counting.firmware import Counted, layers_counted
from onnx import TensorProto, helper, numpy_helper

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.target import board as boards

_DOMAIN = "qonnx.custom_op.general"
_WAYS = ("integer", "bit_serial")
_BITS = (("1", "1"), ("t", "1"), ("1", "2"), ("t", "2"), ("3", "2"))
# Kernel, channels, rows and columns of the input: of one pixel a fully connected layer.
_LAYERS = {"3x3": (3, 64, 8), "1x1": (1, 64, 6), "dense": (1, 256, 1)}


def _network(kind: str, filters: str, activations: str) -> onnx.ModelProto:
    """A layer behind one that rounds its input, in front of one that reads its integers."""
    kernel, c, side = _LAYERS[kind]
    rng = np.random.default_rng(3)
    constants: dict[str, onnx.TensorProto] = {}
    nodes: list[onnx.NodeProto] = []

    def constant(value: object) -> str:
        name = f"c{len(constants)}"
        constants[name] = numpy_helper.from_array(np.asarray(value, np.float32), name)
        return name

    def rounded(x: str, bits: str, y: str, signed: int, scale: float) -> str:
        own = [x, constant(scale)]
        if bits == "1":
            nodes.append(helper.make_node("BipolarQuant", own, [y], domain=_DOMAIN))
            return y
        own += [constant(0.0), constant(2.0 if bits == "t" else float(bits))]
        attrs: dict[str, Any] = {"signed": signed, "narrow": signed, "rounding_mode": "ROUND"}
        nodes.append(helper.make_node("Quant", own, [y], domain=_DOMAIN, **attrs))
        return y

    x = rounded("x", activations, "rounded", 0, 1.0)
    w = rounded(constant(rng.normal(0, 1, (c, c, kernel, kernel))), filters, "w", 1, 0.7)
    nodes.append(helper.make_node("Conv", [x, w], ["sums"]))
    last = [rounded("sums", activations, "read", 0, 8.0), constant(np.ones((1, c, 1, 1)))]
    nodes.append(helper.make_node("Conv", last, ["y"]))
    sizes = (1, c, side, side), (1, 1, side - kernel + 1, side - kernel + 1)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, size)
        for name, size in zip("xy", sizes, strict=True)
    ]
    graph = helper.make_graph(nodes, "bits", ends[:1], ends[1:], [*constants.values()])
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid(_DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _counted(path: Path, board: str, way: str) -> Counted:
    """Its layer, with a result of int8, by an algorithm."""
    options = CompileOptions(path, board, "net", algorithms={"*": way})
    decided = pipeline.decide(options)
    found = layers_counted(decided.choice, decided.memory, boards.load(board), "speed")
    return next(each for each in found if each.layer.macs)


def main() -> int:
    """A line per board, layer and bits."""
    parser = argparse.ArgumentParser(prog="bench/bit_serial.py", description=__doc__)
    parser.add_argument("--board", nargs="+", default=["mps2-an386", "generic-riscv32"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for board in given.board:
            for kind in _LAYERS:
                for filters, activations in _BITS:
                    path = Path(name) / f"{kind}.onnx"
                    onnx.save(_network(kind, filters, activations), path)
                    both = [_counted(path, board, way) for way in _WAYS]
                    counts = [each.instructions for each in both]
                    cycles = " and ".join(f"{each.predicted:,.0f}" for each in both)
                    what = f"{board} {kind} w{filters}a{activations}"
                    said = f"int8 {counts[0]:,}, bit by bit {counts[1]:,}"
                    print(f"{what}: {said}: {counts[1] / counts[0]:.2f}; predicted {cycles}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

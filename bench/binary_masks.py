"""Layers of binary weights and activations: as int8, as programs have them, and by masks of bits.

    python bench/binary_masks.py [--board mps2-an386] [--board generic-riscv32]

Counted in QEMU: instructions of a dense layer of 256 to 256 and of a 3x3 convolution of 64 to 64
channels over 8x8 pixels, both of signs to signs, in an emitted program; beside that plain C that
packs the signs as bits, adds up exclusive ors by a population count of twelve operations (no
Cortex-M and no RV32IMC has one), and writes signs as int8 again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
from counting.program import build_plugin
from firmware_counts import counted, executed
from onnx import TensorProto, helper, numpy_helper

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.run.build.project import Project

_DOMAIN = "qonnx.custom_op.general"
_DENSE, _CHANNELS, _SIDE = 256, 64, 8
_MACS = {"dense": _DENSE**2, "conv": 9 * (_CHANNELS * _SIDE) ** 2}
_RUN = "status = net_run("
_MASKS = """
#include <stdint.h>
static uint32_t masks[2][%(taps)d * 2048 + 4096];
static int8_t signs[2][%(elements)d];

static inline int32_t ones_of(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return (int32_t)(x * 0x01010101u >> 24);
}

static void packed(const int8_t *x, uint32_t *bits, int words)
{
    for (int w = 0; w < words; w++, x += 32) {
        uint32_t found = 0;
        for (int b = 0; b < 32; b++)
            found |= ((uint32_t)x[b] >> 31) << b;
        bits[w] = found;
    }
}

__attribute__((noinline)) static void by_masks(void)
{
    const int side = %(side)d, reach = %(reach)d, words = %(words)d, outs = %(outs)d;
    packed(signs[0], masks[0], side * side * words);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            for (int o = 0; o < outs; o++) {
                int32_t sum = 0;
                for (int ky = -reach; ky <= reach; ky++)
                    for (int kx = -reach; kx <= reach; kx++) {
                        if (y + ky < 0 || y + ky >= side || x + kx < 0 || x + kx >= side)
                            continue;
                        const uint32_t *a = masks[0] + ((y + ky) * side + x + kx) * words;
                        const int tap = (ky + reach) * 3 + kx + reach;
                        const uint32_t *b = masks[1] + (tap * outs + o) * words;
                        for (int w = 0; w < words; w++)
                            sum += 16 - ones_of(a[w] ^ b[w]);
                    }
                signs[1][(y * side + x) * outs + o] = sum >= 0 ? 1 : -1;
            }
}
"""
_SHAPES = {
    "dense": {"taps": 1, "elements": _DENSE, "side": 1, "reach": 0},
    "conv": {"taps": 9, "elements": _SIDE * _SIDE * _CHANNELS, "side": _SIDE, "reach": 1},
}


def _network(kind: str, layers: int) -> onnx.ModelProto:
    """So many layers, behind one that makes signs of numbers."""
    rng = np.random.default_rng(3)
    shape = (1, _DENSE) if kind == "dense" else (1, _CHANNELS, _SIDE, _SIDE)
    one = numpy_helper.from_array(np.array(1, np.float32), "one")
    constants, nodes, x = [one], [], "x"

    def sign(x: str) -> str:
        nodes.append(helper.make_node("BipolarQuant", [x, "one"], [f"{x}/sign"], domain=_DOMAIN))
        return f"{x}/sign"

    x = sign(x)
    for number in range(layers):
        size = (_DENSE, _DENSE) if kind == "dense" else (_CHANNELS, _CHANNELS, 3, 3)
        w = rng.choice(np.array([-1, 1], np.float32), size)
        constants.append(numpy_helper.from_array(w, f"w{number}"))
        inputs, y = [x, sign(f"w{number}")], f"y{number}"
        if kind == "dense":
            nodes.append(helper.make_node("Gemm", inputs, [y], transB=1))
        else:
            nodes.append(helper.make_node("Conv", inputs, [y], pads=[1] * 4))
        x = sign(y)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", x)]
    graph = helper.make_graph(nodes, "signs", ends[:1], ends[1:], constants)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid(_DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _of_layer(kind: str, board: str, plugin: Path, folder: Path) -> int:
    """Instructions of one layer in an emitted program: what a second one adds."""
    counts = []
    for layers in (1, 2):
        path = folder / f"{kind}{layers}.onnx"
        onnx.save(_network(kind, layers), path)
        options = CompileOptions(path, board, name="net")
        counts.append(counted(options, plugin, folder / f"{kind}{layers}{board}").inference)
    return counts[1] - counts[0]


def _of_masks(kind: str, board: str, plugin: Path, folder: Path) -> int:
    """Instructions of that layer by masks: what a call of it adds to an image."""
    path, target = folder / f"{kind}1.onnx", folder / f"{kind}masks{board}"
    pipeline.compile_model(CompileOptions(path, board, name="net"), target, build=True)
    pipeline.verify_project(target, model=path)  # which writes what its image expects
    project = Project.open(target)
    main, found = target / "main.c", []
    values = _DENSE if kind == "dense" else _CHANNELS
    code = _MASKS % {**_SHAPES[kind], "words": values // 32, "outs": values}
    text = main.read_text()
    for call in ("", "by_masks(); "):
        kept = call or "(void)by_masks; "
        main.write_text(code + text.replace(_RUN, kept + _RUN, 1))
        found.append(executed(project, plugin))
    return found[1] - found[0]


def main() -> int:
    """A line per board and layer."""
    parser = argparse.ArgumentParser(prog="bench/binary_masks.py", description=__doc__)
    parser.add_argument("--board", action="append", default=[])
    boards = parser.parse_args().board or ["mps2-an386", "generic-riscv32"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plugin = build_plugin(folder)
        for board in boards:
            for kind, macs in _MACS.items():
                whole = _of_layer(kind, board, plugin, folder)
                masks = _of_masks(kind, board, plugin, folder)
                each = f"{whole / macs:.2f} and {masks / macs:.2f} a product"
                print(f"{board} {kind}: int8 {whole:,}, masks {masks:,}; {each}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

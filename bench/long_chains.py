"""What thousands of layers cost the compiler, with functions that share their code and without.

    python bench/long_chains.py [--layers 500 1000] [--alone] [--compiler gcc]

The network is a chain of convolution and Clip in turn, each Clip of other bounds, for `generic-c`.
Printed are the functions of the emitted C, the processor time of the compiler at -O3, and that of
edgeconv.  ``--alone``: the same with a function for every layer that is like no other, as emitted
projects have it up to ``edgeconv.codegen.functions.MANY`` of them.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import Exit
from edgeconv.codegen.functions import MANY
from edgeconv.run.build.toolchain import probe

HEAD = f"{'layers':>7} {'functions':>10} {'compiler, s':>12} {'edgeconv, s':>12}"
_FUNCTION = re.compile(r"^(?:static|EC_SHARED) void (net_\w+_\d+)\(", re.MULTILINE)


def chain(layers: int) -> onnx.ModelProto:
    """Convolution and Clip in turn, no two of the same bounds."""
    random = np.random.default_rng(0)
    nodes, constants, x = [], {}, "x"
    for i in range(layers // 2):
        y = f"t{i}" if i < layers // 2 - 1 else "y"
        constants[f"w{i}"] = (random.standard_normal((4, 4, 3, 3)) / 7).astype(np.float32)
        for bound, value in ((f"low{i}", -6 - i / 1e3), (f"high{i}", 6)):
            constants[bound] = np.array(value, np.float32)
        nodes.append(helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Clip", [f"c{i}", f"low{i}", f"high{i}"], [y]))
        x = y
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 4, 6, 6)) for name in ("x", "y")
    ]
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "chain", ports[:1], ports[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def functions_of(folder: Path) -> set[str]:
    """The layer functions of the project ``net`` in ``folder``."""
    return set(_FUNCTION.findall((folder / "net.c").read_text()))


def row(layers: int, compiler: tuple[str, ...], folder: Path) -> str:
    """One line of the table."""
    path, project = folder / "net.onnx", folder / "net"
    onnx.save(chain(layers), path)
    begun = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    compile_model(CompileOptions(path, "generic-c"), project)
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    flags = ["-std=c11", "-O3", "-ffp-contract=fast", "-c", "net.c", "-o", str(folder / "net.o")]
    subprocess.run([*compiler, *flags], cwd=project, check=True)
    theirs = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return f"{layers:7,} {len(functions_of(project)):10,} {theirs:12.1f} {ours:12.1f}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--compiler", default="gcc")
    asked = parser.parse_args()
    found = probe(asked.compiler)
    if found is None:
        print(f"{asked.compiler} is not installed", file=sys.stderr)
        return Exit.MISSING_TOOL
    print(HEAD)
    with mock.patch("edgeconv.codegen.emit.MANY", sys.maxsize if asked.alone else MANY):
        for layers in asked.layers:
            with tempfile.TemporaryDirectory() as folder:
                print(row(layers, found.command, Path(folder)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

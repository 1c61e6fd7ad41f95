"""Random Scans and Loops, whose bodies compute of rows, of what all trips read and of a state.

python -m tests.models.random_loops --first 0 --count 100
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from edgeconv.model import passes
from edgeconv.model.frontend import load
from edgeconv.model.frontend.running import prepared
from tests.loop_models import model, value
from tests.recurrent_models import expected

Shape = tuple[int, ...]


class _Body:
    """Nodes of a body; ``values``: what there is to read, with its shape."""

    def __init__(self, seed: int) -> None:
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Any] = {}
        self.values: list[tuple[str, Shape]] = []

    def add(self, op: str, inputs: list[str], shape: Shape, **attrs: Any) -> None:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attrs))
        self.values.append((name, shape))

    def constant(self, *shape: int) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = self.numbers.uniform(-1, 1, shape).astype(np.float32)
        return name

    def whole(self, *numbers: int) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = np.array(numbers, np.int64)
        return name

    def grow(self) -> None:
        """One more node."""
        name, shape = self.random.choice(self.values)
        kind = self.random.choice(
            ("unary", "binary", "dense", "reshape", "transpose", "slice", "concat", "conv", "scale")
        )
        if kind == "unary":
            self.add(self.random.choice(("Tanh", "Relu", "Neg")), [name], shape)
        elif kind == "scale":
            self.add("Mul", [name, self.constant(*shape[-1:])], shape)
        elif kind == "binary":
            other, its = self.random.choice(self.values)
            if its in (shape, shape[-1:]):
                self.add(self.random.choice(("Add", "Sub", "Mul")), [name, other], shape)
        elif kind == "dense" and shape:
            width = self.random.randint(1, 5)
            product = [name, self.constant(shape[-1], width)]
            if len(shape) > 1:
                self.add("MatMul", product, (*shape[:-1], width))
        elif kind == "reshape":
            size = int(np.prod(shape))
            low = self.random.choice([n for n in range(1, size + 1) if size % n == 0])
            self.add("Reshape", [name, self.whole(low, size // low)], (low, size // low))
        elif kind == "transpose":
            order = self.random.sample(range(len(shape)), len(shape))
            self.add("Transpose", [name], tuple(shape[i] for i in order), perm=order)
        elif kind == "slice":
            axis = self.random.randrange(len(shape))
            low = self.random.randrange(shape[axis])
            bounds = [self.whole(low), self.whole(shape[axis]), self.whole(axis)]
            cut = (*shape[:axis], shape[axis] - low, *shape[axis + 1 :])
            self.add("Slice", [name, *bounds], cut)
        elif kind == "concat":
            same = [each for each in self.values if each[1] == shape]
            other, axis = self.random.choice(same)[0], self.random.randrange(len(shape))
            both = (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])
            if np.prod(both) < 200:
                self.add("Concat", [name, other], both, axis=axis)
        elif kind == "conv" and len(shape) == 3:
            filters = self.constant(2, shape[1], 1)
            self.add("Conv", [name, filters], (shape[0], 2, shape[2]))


def built(seed: int) -> onnx.ModelProto:
    """A Scan, or a Loop that gathers its rows."""
    body = _Body(seed)
    chance = body.random
    length, scans = chance.randint(4, 6), chance.randint(1, 2)
    shapes = [tuple(chance.randint(1, 4) for _ in range(chance.randint(1, 3))) for _ in range(4)]
    is_loop = chance.random() < 0.4
    rows, state, given = shapes[:scans], shapes[2], shapes[3]
    more = chance.choice((0, 0, 2)) if is_loop else 0
    for i, shape in enumerate(rows):
        if is_loop:
            node = helper.make_node("Gather", [f"x{i}", "i"], [f"row{i}"], axis=0)
            body.nodes.append(node)
        body.values.append((f"row{i}", shape))
    body.values += [("state", state), ("given", given)]
    for _ in range(chance.randint(3, 14)):
        body.grow()
    # The new state: of the old one, and of something whose sum is added to it.
    mixed, _ = chance.choice(body.values)
    body.nodes.append(helper.make_node("ReduceMean", [mixed], ["mean"], keepdims=0))
    body.nodes.append(helper.make_node("Add", ["state", "mean"], ["moved"]))
    body.nodes.append(helper.make_node("Tanh", ["moved"], ["state_out"]))
    taken = chance.sample(body.values, min(len(body.values), chance.randint(1, 3)))
    results = []
    for i, (name, shape) in enumerate(taken):
        body.nodes.append(helper.make_node("Identity", [name], [f"out{i}"]))
        results.append((f"out{i}", shape))
    outputs = [value("last", state)]
    outputs += [value(f"y{i}", (length, *shape)) for i, (_, shape) in enumerate(results)]
    inputs = [value(f"x{i}", (length + more, *shape)) for i, shape in enumerate(rows)]
    inputs += [value("first", state), value("given", given)]
    ends = [value("state_out", state), *(value(name, shape) for name, shape in results)]
    made = [each.name for each in outputs]
    if is_loop:
        body.nodes.append(helper.make_node("Identity", ["going"], ["goes"]))
        flag = TensorProto.BOOL
        begins = [
            value("i", (), TensorProto.INT64),
            value("going", (), flag),
            value("state", state),
        ]
        graph = helper.make_graph(body.nodes, "body", begins, [value("goes", (), flag), *ends])
        body.constants["trips"] = np.int64(length)
        node = helper.make_node("Loop", ["trips", "", "first"], made, "loop", body=graph)
    else:
        begins = [value("state", state), *(value(f"row{i}", s) for i, s in enumerate(rows))]
        graph = helper.make_graph(body.nodes, "body", begins, ends)
        node = helper.make_node(
            "Scan",
            ["first", *(f"x{i}" for i in range(scans))],
            made,
            "scan",
            body=graph,
            num_scan_inputs=scans,
            scan_input_directions=[chance.randint(0, 1) for _ in range(scans)],
            scan_output_directions=[chance.randint(0, 1) for _ in results],
        )
    return model(node, inputs, outputs, body.constants)


def differs(seed: int) -> str:
    """What is wrong with the network of ``seed``; "" where ONNX Runtime computes the same."""
    made = built(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        onnx.save(made, path)
        graph = passes.optimise(load(path))
    rng = np.random.default_rng(seed)
    feeds = {
        each.name: rng.uniform(
            -1, 1, [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        ).astype(np.float32)
        for each in made.graph.input
    }
    got, want = prepared(graph)(feeds), expected(made, feeds)
    for name, right in zip(graph.outputs, want, strict=True):
        if not np.allclose(got[name], right, rtol=1e-5, atol=1e-5):
            return f"seed {seed}: {name} is {np.abs(got[name] - right).max():g} off"
    return ""


def main() -> int:
    """Print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    asked = parser.parse_args()
    wrong = [
        said for seed in range(asked.first, asked.first + asked.count) if (said := differs(seed))
    ]
    print("\n".join([*wrong, f"{asked.count - len(wrong)} of {asked.count} computed alike"]))
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())

"""Loop: a body that is run over and over; see `edgeconv.ir.loop`.

The program of the body (`with_program`) is decided before the loop is lowered: kernels and memory
of its layers.  Its arena is the loop's workspace, where states keep their place from trip to trip;
rows are read and written where they lie in the sequences around.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer, Program
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.loop import LOOP, body_of
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.calls import input_arg, tensor_arg
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.target.targets import Target

PROGRAM = "program"
_TRIPS = 16  # that are reckoned with where nothing bounds them


def with_program(node: Node, program: Program) -> Node:
    """``node`` with what was decided of its body."""
    return replace(node, attrs={**node.attrs, PROGRAM: program})


def program_of(node: Node) -> Program:
    """What was decided of the body."""
    found = node.attrs[PROGRAM]
    assert isinstance(found, Program), node.name
    return found


def constant_names(index: int, arg: Arg) -> tuple[str, str]:
    """What the loop calls a constant of layer ``index`` of its body: the pointer, and the blob."""
    return f"{arg.c_name}_{index}", f"{index}.{arg.ref}"


def constants_of(program: Program) -> Iterator[tuple[Arg, Blob]]:
    """The constants of the body's layers as the loop's own."""
    for index, layer in enumerate(program.choice.layers):
        blobs = {blob.name: blob for blob in layer.blobs}
        for arg in layer.args:
            if arg.kind is ArgKind.WEIGHTS:
                pointer, name = constant_names(index, arg)
                yield (
                    Arg(ArgKind.WEIGHTS, pointer, name, arg.c_type),
                    replace(blobs[arg.ref], name=name),
                )


def _operands(node: Node, graph: Graph) -> Iterator[Arg]:
    body = body_of(node)
    ports = ("trips", "condition", *(f"first_{i}" for i in range(len(body.carried))))
    ports = (*ports, *(f"scanned_{i}" for i in range(len(body.scanned))))
    ports = (*ports, *(f"given_{i}" for i in range(len(body.given))))
    for name, port in zip(node.inputs, ports, strict=True):
        if name:
            yield input_arg(graph, name, port)


def _digest(program: Program) -> str:
    """Equal for bodies that are the same program but for their constants."""
    total = hashlib.sha256()
    for layer in program.choice.layers:
        total.update(repr((layer.algorithm, sorted(layer.params.items()))).encode())
    total.update(repr(sorted(program.memory.places.items())).encode())
    return total.hexdigest()[:16]


def _work(program: Program, times: int, call: Call) -> Work:
    """All trips, and the rows and states around them."""
    total = call.streams()
    for layer in program.choice.layers:
        each = layer.work.times(times)
        total = replace(
            total,
            **{name: getattr(total, name) + getattr(each, name) for name in _SUMMED},
        )
    return total


_SUMMED = ("slots", "moves", "weight_bytes", "data_bytes", "decoding", "fetches", "runs")


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One function, which calls those of the body's layers."""
    body, program = body_of(node), program_of(node)
    choice, memory = program.choice, program.memory
    constants = list(constants_of(program))
    layers = choice.layers
    times = _TRIPS if body.trips is None else body.trips
    workspace = (Arg(ArgKind.WORKSPACE, "workspace", c_type="unsigned char"),)
    return Layer(
        node=node,
        algorithm="loop",
        template="ops/loop.c.j2",
        params={"most": -1 if body.trips is None else body.trips, "digest": _digest(program)},
        args=(
            *_operands(node, graph),
            *(arg for arg, _ in constants),
            *(
                tensor_arg(graph, ArgKind.OUTPUT, f"out_{i}", name)
                for i, name in enumerate(node.outputs)
            ),
            *(workspace if memory.arena_bytes else ()),
        ),
        headers=(),  # those of the body's layers: one order of all is more than they need
        work=_work(program, times, Call(node, graph, target)),
        blobs=tuple(dict.fromkeys(blob for _, blob in constants)),
        workspace_bytes=memory.arena_bytes,
        macs=times * sum(layer.macs for layer in layers),
        scaling=next((layer.scaling for layer in layers if layer.scaling), ""),
        body=program,
        plan={"trips": "by condition" if body.trips is None else body.trips, "layers": len(layers)},
    )


OPERATOR = Operator(name=LOOP, lower=lower, stored=Stored.NOTHING)

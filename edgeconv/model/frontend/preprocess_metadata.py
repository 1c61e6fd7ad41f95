"""What a saved model says of its pre-processing, so that it is one node again when it is read.

Other tools see standard operators (`saved_preprocessing`).  The model's metadata says what they
are; that is believed where the same operators, with the same constants, are what would be written
of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Array, Graph, Node, Tensor
from edgeconv.ir.preprocessing import (
    LARGEST,
    PIXELS,
    PREPROCESS,
    Neighbours,
    Pixels,
    Preprocessing,
)
from edgeconv.model.frontend.saved_nodes import Written
from edgeconv.model.frontend.saved_preprocessing import preprocess
from edgeconv.model.frontend.weights import Weights

KEY = "edgeconv.preprocess"  # in metadata_props


def note(model: onnx.ModelProto, nodes: Iterable[Node]) -> None:
    """Say in the metadata of ``model`` which of its operators are a Preprocess of ``nodes``."""
    found = [
        {
            "name": node.name,
            "frame": node.inputs[0],
            "out": _output(node),
            **asdict(node.attrs["preprocessing"]),
        }
        for node in nodes
        if node.op == PREPROCESS
    ]
    if found:
        model.metadata_props.add(key=KEY, value=json.dumps(found))


def _output(node: Node) -> str:
    """What the operators of a Preprocess write, in front of its epilogue."""
    return node.output if node.epilogue.is_empty else f"{node.output}/0"


def restored(graph: Graph, model: onnx.ModelProto, weights: Weights) -> Graph:
    """``graph``, read from ``model``, with Preprocess nodes for the operators that are one."""
    said = next((each.value for each in model.metadata_props if each.key == KEY), "")
    if not said:
        return graph
    editor = Editor(graph)
    for name, frame, out, made in _read(said):
        position = editor.writer(out) if out in editor.tensors else None
        if position is None or frame not in graph.inputs or editor.shape(out) != made.shape:
            continue
        shape = editor.tensors[frame].shape
        if editor.tensors[frame].dtype == "uint8" and _is_written(
            name, Tensor(frame, shape, "uint8"), out, made, model, weights
        ):
            attrs = {"preprocessing": made}
            origin = (editor.node(position).origin or (name,))[:1]
            node = Node(name, PREPROCESS, (frame,), (out,), attrs, origin=origin)
            editor.replace(position, node)
    return editor.finish()


def _read(said: str) -> list[tuple[str, str, str, Preprocessing]]:
    """Name, frame, result and pre-processing of every entry; none where something is not as it is
    written."""
    try:
        return [
            (str(each["name"]), str(each["frame"]), str(each["out"]), _preprocessing(each))
            for each in json.loads(said)
        ]
    except (KeyError, TypeError, ValueError, RecursionError):
        return []


def _preprocessing(given: Mapping[str, Any]) -> Preprocessing:
    pixels, rows, columns = (given[key] for key in ("pixels", "rows", "columns"))
    numbers: dict[str, Any] = {
        key: tuple(map(float, given[key])) for key in ("scale", "shift", "fill")
    }
    sides: dict[str, Any] = {
        key: int(given[key]) for key in ("height", "width", "lines", "stride", "top", "left")
    }
    height, width = map(int, given["size"])
    large = max(height, width, sides["height"], sides["width"]) > LARGEST
    if pixels["kind"] not in PIXELS or large or min(sides.values()) < 0:
        raise ValueError
    made = Preprocessing(
        pixels=Pixels(
            str(pixels["kind"]),
            int(pixels["pixel_bytes"]),
            tuple(map(int, pixels["at"])),
            tuple(map(int, pixels["order"])),
            bool(pixels["grey"]),
            str(pixels["words"]),
        ),
        rows=_neighbours(rows),
        columns=_neighbours(columns),
        size=(height, width),
        rounded=bool(given["rounded"]),
        **sides,
        **numbers,
    )
    if any(len(each) != made.channels for each in numbers.values()):
        raise ValueError
    return made


def _neighbours(given: Mapping[str, Any]) -> Neighbours:
    first, second, weight = (tuple(map(int, given[key])) for key in ("first", "second", "weight"))
    over = int(given["over"])
    if not 1 <= over <= 1 << 16 or len({len(first), *filter(None, (len(second), len(weight)))}) > 1:
        raise ValueError
    return Neighbours(first, second, weight, over)


def _is_written(
    name: str,
    frame: Tensor,
    out: str,
    made: Preprocessing,
    model: onnx.ModelProto,
    weights: Weights,
) -> bool:
    """Whether ``model`` has the operators, and the constants, that are written of ``made``."""
    node = Node(name, PREPROCESS, (frame.name,), (out,), {"preprocessing": made})
    tensors = {frame.name: frame, out: Tensor(out, made.shape)}
    written = Written(Graph("frames", (node,), tensors, (frame.name,), (out,)))
    try:
        preprocess(written, node, (frame.name,), out)
    except (ValueError, IndexError, OverflowError, EdgeconvError):
        return False
    there = {each.output[0]: each for each in model.graph.node if each.output}
    constants = {each.name: each for each in model.graph.initializer}
    return all(_same_node(each, there.get(each.output[0])) for each in written.nodes) and all(
        each.name in constants
        and _same(numpy_helper.to_array(each), weights.array(constants[each.name]))
        for each in written.constants
    )


def _same_node(one: onnx.NodeProto, other: onnx.NodeProto | None) -> bool:
    if other is None:
        return False
    return _nameless(one) == _nameless(other)


def _nameless(node: onnx.NodeProto) -> bytes:
    """The node without its name, which means nothing."""
    found = onnx.NodeProto()
    found.CopyFrom(node)
    found.ClearField("name")
    return bytes(found.SerializeToString(deterministic=True))


def _same(one: Array, other: Array) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other)

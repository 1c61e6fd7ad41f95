"""Pre-processing in front of a network, as a preprocessing file asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.names import untaken
from edgeconv.ir.check import check
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import Shape
from edgeconv.ir.preprocessing import PREPROCESS, Preprocessing
from edgeconv.ir.quantisation import integers_of
from edgeconv.model.preprocessing.definition import preprocessed
from edgeconv.model.preprocessing.formats import CHANNELS
from edgeconv.model.preprocessing.neighbours import neighbours
from edgeconv.model.preprocessing.settings import LAYOUTS, Settings

Values = npt.NDArray[Any]
FRAME = "frame"  # the input of the program
_HALF = Fraction(1, 2)


def with_frames(graph: Graph, settings: Settings) -> Graph:
    """``graph`` with a camera's frame in place of an input, which stays as a tensor.

    Raises UsageError where the settings do not fit the network.
    """
    name = _input(graph, settings)
    taken, names = {*graph.tensors}, {node.name for node in graph.nodes}
    channels_last = _channels_last(graph[name].shape, name, settings)
    encoding = _encoding(graph, name, settings)
    made = preprocessing(_size(graph[name].shape, channels_last), settings)
    frame = untaken(FRAME, taken)
    shape = settings.pixel_format.shape(settings.height, settings.width, settings.stride)
    tensors = {frame: Tensor(frame, shape, "uint8")}
    nodes: list[Node] = []
    # What follows the pass, each with the attributes that it has; the last writes the input.
    steps: list[tuple[str, dict[str, object], Shape]] = [
        (PREPROCESS, {"preprocessing": made}, made.shape)
    ]
    if channels_last:
        steps.append(("Transpose", {"perm": (0, 2, 3, 1)}, graph[name].shape))
    if encoding:
        steps.append(("Quantise", {"encoding": encoding}, graph[name].shape))
    source = frame
    for number, (op, attrs, shape) in enumerate(steps):
        out = name if number == len(steps) - 1 else untaken(f"{name}.{op.lower()}", taken)
        taken.add(out)
        tensors[out] = graph[name] if out == name else Tensor(out, shape)
        nodes.append(Node(untaken(f"{name}/{op}", names), op, (source,), (out,), attrs))
        source = out
    inputs = tuple(frame if each == name else each for each in graph.inputs)
    found = replace(
        graph, nodes=(*nodes, *graph.nodes), tensors={**graph.tensors, **tensors}, inputs=inputs
    )
    return check(found, "pre-processing")


def about_frames(graph: Graph, settings: Settings) -> dict[str, Any]:
    """What report.json says of the frames in front of ``graph``: enough for `network_inputs`.
    Raises UsageError as `with_frames`."""
    name = _input(graph, settings)
    last = _channels_last(graph[name].shape, name, settings)
    size, encoding = _size(graph[name].shape, last), _encoding(graph, name, settings)
    return {
        "input": untaken(FRAME, graph.tensors),
        "replaces": name,
        "frame": preprocessing(size, settings).frame,
        "size": list(size),
        "layout": LAYOUTS[last],
        "integers": encoding and [graph[name].dtype, encoding.scale[0], encoding.zero[0]],
        "settings": settings.as_json(),
    }


def network_inputs(about: Mapping[str, Any], given: Mapping[str, Values]) -> dict[str, Values]:
    """The inputs of the network without pre-processing, for those of a program whose report says
    ``about`` it what `about_frames` does: by the definition in numpy."""
    found = dict(given)
    frame = found.pop(about["input"])
    made = preprocessing((about["size"][0], about["size"][1]), Settings.of_json(about["settings"]))
    numbers: Values = preprocessed(made, frame)
    if about["layout"] == "nhwc":
        numbers = numbers.transpose(0, 2, 3, 1)
    if about["integers"]:
        dtype, scale, zero = about["integers"]
        bounds = np.iinfo(dtype)
        whole = np.rint(numbers / np.float32(scale)) + zero
        numbers = np.clip(whole, bounds.min, bounds.max).astype(dtype)
    return {**found, about["replaces"]: np.ascontiguousarray(numbers)}


def preprocessing(size: tuple[int, int], settings: Settings) -> Preprocessing:
    """What ``settings`` make of a frame, for an input of ``size``.  Raises UsageError as
    `Settings.per_channel`."""
    linear, flip = settings.mode == "linear", settings.flip
    box = _box(size, settings)
    mean, std = settings.per_channel("mean"), settings.per_channel("std")
    fill = settings.per_channel("fill")
    pairs = list(zip(mean, std, strict=True))
    return Preprocessing(
        pixels=settings.pixel_format.pixels(settings.channels, settings.format),
        height=settings.height,
        width=settings.width,
        lines=settings.pixel_format.lines(settings.height),
        stride=settings.stride,
        rows=neighbours(
            settings.height, box[0], linear=linear, reverse=flip in ("vertical", "both")
        ),
        columns=neighbours(
            settings.width, box[1], linear=linear, reverse=flip in ("horizontal", "both")
        ),
        size=size,
        top=(size[0] - box[0]) // 2,
        left=(size[1] - box[1]) // 2,
        rounded=True,
        scale=tuple(1 / s for _, s in pairs),
        shift=tuple(-m / s for m, s in pairs),
        fill=tuple((value - m) / s for value, (m, s) in zip(fill, pairs, strict=True)),
    )


def _box(size: tuple[int, int], settings: Settings) -> tuple[int, int]:
    """Rows and columns of the resized frame: all, or as many as keep its proportions."""
    if settings.fit == "stretch":
        return size
    by = min(Fraction(size[0], settings.height), Fraction(size[1], settings.width))
    height, width = (int(each * by + _HALF) for each in (settings.height, settings.width))
    return max(1, height), max(1, width)


def _input(graph: Graph, settings: Settings) -> str:
    """The input that is an image.  States are none: no caller gives them."""
    inputs = graph.input_ports
    images = [name for name in inputs if len(graph[name].shape) == 4]
    given = settings.input
    if given:
        if given not in inputs:
            hint = f"the inputs are {', '.join(map(repr, inputs))}"
            raise settings.error("network.input", repr(given), "names an input of the model", hint)
        if given not in images:
            got = f"{given!r} of shape {list(graph[given].shape)}"
            raise settings.error("network.input", got, "an image has four dimensions")
        return given
    if len(images) != 1:
        got = f"inputs {', '.join(map(repr, images))}" if images else "no input of four dimensions"
        hint = "name it" if images else "--preprocess is for networks that read an image"
        raise settings.error("network.input", got, "one input is the image", hint)
    return images[0]


def _channels_last(shape: Shape, name: str, settings: Settings) -> bool:
    """Whether the input is (1, H, W, C), rather than (1, C, H, W)."""
    count = max(1, len(CHANNELS[settings.channels]))
    places = {"nchw": 1, "nhwc": 3}
    able = [layout for layout in LAYOUTS if shape[places[layout]] == count]
    able = [layout for layout in able if settings.layout in ("", layout)]
    if shape[0] != 1 or not able:
        raise settings.error(
            "network.channels",
            f"{settings.channels}, {count} of them, for {name!r} of shape {list(shape)}",
            f"the input is 1 x {count} x rows x columns, or 1 x rows x columns x {count}",
            "give other channels, or the batch with --input-shape",
        )
    return able[0] == "nhwc"


def _size(shape: Shape, channels_last: bool) -> tuple[int, int]:
    return (shape[1], shape[2]) if channels_last else (shape[2], shape[3])


def _encoding(graph: Graph, name: str, settings: Settings) -> Encoding | None:
    """What integers of the input stand for; None of real numbers."""
    if graph[name].dtype == "float32":
        return None
    readers: Sequence[Node] = [node for node in graph.nodes if name in node.reads()]
    found = {integers_of(node) for node in readers if node.op == "Dequantise"}
    if len(found) != 1 or any(node.op != "Dequantise" for node in readers):
        raise settings.error(
            "network.input",
            f"{name!r} of {graph[name].dtype}",
            "an input is float32, or integers with one scale",
            "--input TENSOR begins the network behind what it does with them",
        )
    (encoding,) = found
    if not encoding.is_per_tensor:
        raise settings.error("network.input", f"{name!r}", "its integers have one scale")
    return encoding

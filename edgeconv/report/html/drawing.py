"""The network as a drawn graph: boxes in execution order, one below the other.

The lanes beside a box are the tensors that wait while it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from edgeconv.base.names import path_ends
from edgeconv.report.html.routing import GAP, Routes, routes
from edgeconv.report.network import Layer, Network
from edgeconv.report.numbers import exact, significant

MOST_LAYERS = 600  # beyond, nobody reads a drawing, and it would be most of the page
LISTED = 3  # rows that are listed as read
_WIDE = 500  # pixels of a box
_PAGE = 1080  # pixels of the page, which wider drawings are wider than
_BAR, _PERCENT = 60, 54  # pixels of the longest bar at least; of the share behind it
_BEFORE_NAME, _LETTER, _SPACE = 154, 8.3, 10  # pixels
_LEAST_LETTERS = 9  # of a column, whose heading has to fit
_SIZES = (("result", "output"), ("weights", "weight"), ("workspace", "workspace"))
HEAD = 26  # pixels for the headings
_CROWDED = 40  # layers, from which on boxes are lower
_PITCH, _CROWDED_PITCH = 38, 27  # pixels from box to box


PLAIN = 0  # the number of what has no colour


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of box.  ``number``: of the colour --part-N in style.css."""

    name: str
    number: int


PORT = Kind("input or output", PLAIN)
_VIEW = Kind("view: nothing is computed or moved", PLAIN)
_CONVOLUTIONS = {"direct": 1, "sconv": 2, "depthwise": 3, "bfloat16": 4}
_NEW_ALGORITHM = 6
_PRODUCT, _WINDOW = Kind("matrix product", 4), Kind("pooling, reduction, resizing", 7)
_MOVED, _ELEMENTS = Kind("data moved", 5), Kind("element by element", 8)
_KINDS = {
    **dict.fromkeys(("Attention", "Dense", "MatMul"), _PRODUCT),
    **dict.fromkeys(("Pool", "Reduce", "Resize"), _WINDOW),
    **dict.fromkeys(
        ("Concat", "Convert", "Copy", "Expand", "Gather", "Pad", "Slice", "Tile", "Transpose"),
        _MOVED,
    ),
}


def kind_of(layer: Layer) -> Kind:
    """The kind of a layer."""
    algorithm = layer["algorithm"]
    if algorithm == "view":
        return _VIEW
    if layer["op"] == "Conv":
        return Kind(f"convolution, {algorithm}", _CONVOLUTIONS.get(algorithm, _NEW_ALGORITHM))
    return _KINDS.get(layer["op"], _ELEMENTS)


@dataclass(frozen=True, slots=True)
class Box:
    """A layer, or an input or output of the network, which has no ``step``.

    ``reads``: what it reads, empty where that is the row above and nothing else.  ``share`` of the
    time: None where that is not known.  ``told``: lines of what there is to know of it.
    """

    step: int | None
    op: str
    name: str
    kind: Kind
    algorithm: str = ""
    shape: str = ""
    reads: str = ""
    share: float | None = None
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawn graph.  ``brief``: the names as shown, by name.  In pixels: ``top`` of the first
    box, ``pitch`` from one to the next, ``wide`` and ``high``: a box, ``height``: all.
    ``columns``: where algorithm, result, what is read and bars begin, ``bar``: the longest of
    these."""

    boxes: tuple[Box, ...]
    routes: Routes
    brief: Mapping[str, str]
    kinds: tuple[Kind, ...]
    top: int
    pitch: int
    wide: int
    columns: tuple[int, ...]
    bar: int
    high: int
    height: int

    @property
    def breaks_out(self) -> bool:
        """Whether it is wider than the page's text."""
        return self.routes.left + self.columns[-1] + self.bar + _PERCENT > _PAGE

    @property
    def largest(self) -> float:
        """The largest share of the time; 0 where none is known."""
        return max((box.share or 0.0 for box in self.boxes), default=0.0)

    def told(self, row: int) -> str:
        """A box by its step, or where it has none by what it is."""
        box = self.boxes[row]
        return box.op if box.step is None else str(box.step)


def drawing(network: Network) -> Drawing | None:
    """None for networks of more than ``MOST_LAYERS`` layers, and for a report of a version that
    does not say what layers read."""
    layers = network.layers
    if len(layers) > MOST_LAYERS or not all("inputs" in layer for layer in layers):
        return None
    written = {layer["output"] for layer in layers}
    ports = {port["name"]: port for port in network.report["inputs"]}
    sources = dict.fromkeys(name for one in layers for name in one["inputs"] if name not in written)
    results = [port for port in network.report["outputs"] if port["name"] in written]
    rows = {name: row for row, name in enumerate((*sources, *(one["output"] for one in layers)))}
    reads = [
        *([] for _ in sources),
        *([rows[name] for name in one["inputs"]] for one in layers),
        *([rows[port["name"]]] for port in results),
    ]
    boxes = [
        *(_port("input", ports.get(name, {"name": name})) for name in sources),
        *(
            _layer(network, one, step, _listed(reads[len(sources) + step], step, len(sources)))
            for step, one in enumerate(layers)
        ),
        *(_port("output", port) for port in results),
    ]
    pitch = _PITCH if len(layers) < _CROWDED else _CROWDED_PITCH
    used = {box.kind.name: box.kind for box in boxes if box.step is not None}
    drawn = routes(reads, HEAD, pitch)
    beside = [_column(getattr(box, of) for box in boxes) for of in ("algorithm", "shape", "reads")]
    columns = tuple(accumulate((_WIDE + _SPACE // 2, *beside)))
    letters = int((_WIDE - _BEFORE_NAME) / _LETTER)
    return Drawing(
        tuple(boxes),
        drawn,
        path_ends((box.name for box in boxes), letters),
        tuple(sorted(used.values(), key=lambda kind: (kind.number == PLAIN, kind.number))),
        HEAD,
        pitch,
        _WIDE,
        columns,
        max(_BAR, _PAGE - drawn.left - columns[-1] - _PERCENT),
        pitch - GAP,
        HEAD + pitch * len(boxes),
    )


def _column(texts: Iterable[str]) -> int:
    """Pixels of a column, and of the space to the next."""
    return int(_LETTER * max(_LEAST_LETTERS, *map(len, texts))) + _SPACE


def _port(op: str, port: Mapping[str, Any]) -> Box:
    shape = _shape(port["shape"]) if "shape" in port else ""
    told = (f"{op} {port['name']}", *([f"{shape} {port['dtype']}"] if shape else ()))
    return Box(None, op, port["name"], PORT, shape=shape, told=told)


def _layer(network: Network, layer: Layer, step: int, reads: str) -> Box:
    share, time = network.time_share(layer), network.time_ms(layer)
    shape = _shape(layer["output_shape"])
    told = [
        f"{step} {layer['name']}",
        f"{layer['op']}, {layer['algorithm']}",
        f"reads {reads}" if reads else "",
        f"writes {layer['output']}, {shape}",
        f"{significant(time)} ms, {significant(100 * share)} % of the {network.times} time"
        if time is not None and share is not None
        else "",
        *(
            f"{what} {exact(layer[f'{key}_bytes'])}"
            for what, key in _SIZES
            if layer[f"{key}_bytes"]
        ),
    ]
    return Box(
        step,
        layer["op"],
        layer["name"],
        kind_of(layer),
        layer["algorithm"],
        shape,
        reads,
        share,
        tuple(filter(None, told)),
    )


def _listed(reads: Sequence[int], step: int, first: int) -> str:
    """The rows that a step reads, in words; ``first``: the row of step 0."""
    if set(reads) <= {first + step - 1}:
        return ""
    told = list(
        dict.fromkeys("input" if source < first else str(source - first) for source in reads)
    )
    more = len(told) - LISTED
    return ", ".join(told[-LISTED:]) + (f" and {more} more" if more > 0 else "")


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"

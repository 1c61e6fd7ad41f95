"""The network of new rows that is made of one over windows that slide: as a graph, and as the model
file that its program is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from edgeconv.base.arguments import OF_STREAM
from edgeconv.base.errors import UsageError
from edgeconv.ir.graph import Graph
from edgeconv.kernels.ops import operators
from edgeconv.model import passes
from edgeconv.model.frontend.saving import model_of
from edgeconv.model.sliding import Slid, Slide, slide
from edgeconv.report.document import Report
from edgeconv.search.choose.storage import OUTPUT
from edgeconv.search.options import CompileOptions

ENDING = "_stream.onnx"  # of the file, behind the program's prefix


@dataclass(frozen=True, slots=True, eq=False)
class StreamModel:
    """A network of new rows.  ``graph``: with the name and the hash of the model of the window.
    ``data``: the model file.  ``about``: what report.json says of it beside its file.  ``copies``:
    layers that compute further rows, borders, of one of the window's; by name its name."""

    graph: Graph
    data: bytes
    about: dict[str, Any]
    copies: Mapping[str, str]

    def asked(self, options: CompileOptions) -> CompileOptions:
        """``options``, which name layers of the window, for the layers of this network: what is
        asked of one is asked of its copies.  The user's command is quoted."""
        storage = {
            f"{copy}{end}": options.storage[f"{name}{end}"]
            for copy, name in self.copies.items()
            for end in ("", OUTPUT)
            if f"{name}{end}" in options.storage
        }
        algorithms = {
            copy: options.algorithms[name]
            for copy, name in self.copies.items()
            if name in options.algorithms
        }
        if not (storage or algorithms):
            return options
        return replace(
            options,
            storage={**storage, **options.storage},
            algorithms={**algorithms, **options.algorithms},
            quoted=options.command(),
        )

    def file(self, prefix: str) -> dict[str, bytes]:
        """The model file, by its name."""
        return {f"{prefix}{ENDING}": self.data}

    def into(self, report: Report, prefix: str) -> Report:
        """``report``, saying which model its layers are held to."""
        own = {"file": f"{prefix}{ENDING}", "sha256": sha256(self.data).hexdigest(), **self.about}
        return {**report, "model": {**report["model"], "stream": own}}

    def note(self, macs: int) -> str:
        """What a run takes, and its ``macs`` beside those of a whole window."""
        whole = self.about["window_macs"]
        share = f", {macs / whole:.1%} of a window's" if whole else ""
        carried = ", ".join(map(repr, self.about["carried"]))
        if carried:
            return (
                f"a run computes {macs} multiply-accumulates{share}; {carried} carries its state "
                "on: results are those of all rows since a reset"
            )
        rows = ", ".join(
            f"{each['rows']} of {each['window']} rows of {each['name']!r} that results depend on"
            for each in self.about["inputs"]
        )
        return f"a run takes {rows}: {macs} multiply-accumulates{share}"


def require_plain(options: CompileOptions) -> None:
    """Raises UsageError (exit status 2) where ``options`` ask for windows that slide and for what
    is measured on whole inputs."""
    if options.streams and options.calibration and not options.int8:
        raise UsageError(
            f"--stream together with {options.samples_option}",
            rule="formats are chosen by whole windows, and the network takes new rows",
            hint="--int8 X.npz quantises the network of the window first",
        )


def slid(graph: Graph, options: CompileOptions) -> Slid:
    """``graph``, a simplified one, with its windows sliding as ``options`` ask.  Raises
    EdgeconvError as `slide`, and where sizes of outputs are data-dependent."""
    if graph.data_dependent:
        raise UsageError(
            "--stream",
            got=f"output {graph.data_dependent[0].name!r}",
            rule="its size is data-dependent: no row of it is where one was before",
        )
    slides = {name: Slide(axis, rows) for name, (axis, rows) in options.streams.items()}
    return slide(graph, slides, endless=options.stream_borders == OF_STREAM)


def make(graph: Graph, options: CompileOptions) -> StreamModel:
    """The network of new rows that ``options`` ask for of ``graph``.  Raises EdgeconvError as
    `slid`."""
    made = slid(graph, options)
    simple = passes.optimise(made.graph)
    about = {
        "borders": options.stream_borders,
        "inputs": [
            {
                "name": name,
                "axis": axis % len(graph[name].shape),
                "rows": rows,
                "window": made.windows[name],
                "whole": graph[name].shape[axis],
            }
            for name, (axis, rows) in options.streams.items()
        ],
        "carried": list(made.carried),
        "window_macs": sum(operators()[node.op].macs(node, graph) for node in graph.nodes),
    }
    data = model_of(simple).SerializeToString(deterministic=True)
    present = {node.name for node in simple.nodes}
    copies = {copy: name for copy, name in made.copies.items() if copy in present}
    return StreamModel(simple, data, about, copies)

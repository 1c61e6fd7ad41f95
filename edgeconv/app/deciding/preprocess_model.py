"""The network behind the pre-processing of a camera's frame: as a graph, and as the model file that
its program is held to."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from edgeconv.base.errors import UsageError
from edgeconv.ir.graph import Graph
from edgeconv.model import passes
from edgeconv.model.frontend.saving import model_of
from edgeconv.model.preprocessing import about_frames, read, with_frames
from edgeconv.report.document import Report
from edgeconv.search.options import CompileOptions

# Of files, behind the program's prefix: the network, and what the user asked for.
ENDING, SETTINGS_ENDING = "_preprocess.onnx", "_preprocess.toml"


@dataclass(frozen=True, slots=True, eq=False)
class PreprocessModel:
    """A network behind pre-processing.  ``graph``: with the name and the hash of the model without
    it.  ``data``: the model file.  ``settings``: the user's file.  ``about``: what report.json says
    of it beside its file."""

    graph: Graph
    data: bytes
    settings: bytes
    about: dict[str, Any]

    def file(self, prefix: str) -> dict[str, bytes]:
        """The model file and the user's, by their names."""
        return {f"{prefix}{ENDING}": self.data, f"{prefix}{SETTINGS_ENDING}": self.settings}

    def into(self, report: Report, prefix: str) -> Report:
        """``report``, saying which model its layers are held to."""
        own = {"file": f"{prefix}{ENDING}", "sha256": sha256(self.data).hexdigest(), **self.about}
        return {**report, "model": {**report["model"], "preprocess": own}}

    def note(self) -> str:
        """What the program reads."""
        return f"input {self.about['input']!r} is {self.about['frame']}"


def require_plain(options: CompileOptions) -> None:
    """Raises UsageError (exit status 2) where ``options`` ask for frames and for new rows."""
    if options.preprocess and options.streams:
        raise UsageError(
            "--stream together with --preprocess",
            rule="a camera's frame is whole, and the network takes new rows",
            hint="leave one of the two out",
        )


def make(graph: Graph, path: Path) -> PreprocessModel:
    """The network that the file at ``path`` asks for in front of ``graph``, a simplified one.
    Raises EdgeconvError as `read` and `with_frames`."""
    settings = read(path)
    made = passes.optimise(with_frames(graph, settings))
    about = about_frames(graph, settings)
    data = model_of(made).SerializeToString(deterministic=True)
    return PreprocessModel(made, data, path.read_bytes(), about)

"""The hash that identifies a model, without importing it."""

from __future__ import annotations

from pathlib import Path

from edgeconv.model.frontend import model_file
from edgeconv.model.frontend.weights import Weights


def sha256(path: Path) -> str:
    """What ``load`` notes as ``Graph.sha256``: of the model file and its external data files.

    Raises EdgeconvError as ``load`` does for a file that cannot be read.
    """
    file = model_file.read(path)
    weights = Weights(file)
    weights.map_all(file.model)
    return model_file.digest(weights.files()).result()

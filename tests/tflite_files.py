"""TensorFlow Lite files in a test's folder, and what is said of those that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import load


def saved(data: bytes, folder: Path) -> Path:
    """The file with these bytes."""
    path = folder / "net.tflite"
    path.write_bytes(data)
    return path


def refused(path: Path) -> str:
    """The error and its details, where the model is not read."""
    with pytest.raises(EdgeconvError) as error:
        load(path)
    return "\n".join([str(error.value), *error.value.details])

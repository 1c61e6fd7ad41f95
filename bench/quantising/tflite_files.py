"""Files of TensorFlow Lite, and beside each what its runtime makes of seeded inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from converter_runs import answers, interpreter


def save(content: bytes, result: Path, runtime: Any, kinds: Any) -> None:
    """Write the file, and an .npz of runs of its reference kernels.  ``runtime``, ``kinds``: an
    Interpreter and the OpResolverType that it has."""
    found = answers(interpreter(content, runtime, kinds))
    result.write_bytes(content)
    np.savez(result.with_suffix(".npz"), **found)

"""What runs in a quantiser's interpreter: its options on all networks, one file each."""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from quantising.graphs import Array

# From a float32 ONNX file and calibration inputs (samples x shape without batch) to a new file.
Quantise = Callable[[Path, Array, Path], None]


def write_all(options: Mapping[str, Quantise], suffix: str = ".onnx") -> None:
    """Read NETWORKS FOLDER [--only OPTION ...] from the command line, and write
    FOLDER/NETWORK.OPTION for each network and option.

    Where the tool fails, its traceback is NETWORK.OPTION.failed: a bench of many tools is not to
    end with the first.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("networks", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(options))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(given.networks.glob("*.onnx")):
        inputs = np.load(path.with_suffix(".npy"))
        for option in given.only:
            result = given.folder / f"{path.stem}.{option}{suffix}"
            try:
                options[option](path, inputs, result)
            except Exception:  # whatever a tool raises is what the table says of it
                result.unlink(missing_ok=True)
                result.with_suffix(".failed").write_text(traceback.format_exc())

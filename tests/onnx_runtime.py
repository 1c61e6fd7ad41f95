"""ONNX Runtime as tests ask it: silent, and on one core, since other tests have the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnx
import onnxruntime

Values = npt.NDArray[Any]


def session(model: onnx.ModelProto | Path, *, optimised: bool = True) -> Any:
    """That runs ``model``; raises what the runtime raises where it refuses it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    given = str(model) if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(given, options, ["CPUExecutionProvider"])


def results(
    model: onnx.ModelProto | Path, feeds: Mapping[str, Values], *, optimised: bool = True
) -> dict[str, Values]:
    """What it makes of ``feeds``, by the name of the output."""
    running = session(model, optimised=optimised)
    names = [output.name for output in running.get_outputs()]
    return dict(zip(names, running.run(names, dict(feeds)), strict=True))

"""Models of opsets before the oldest one that is understood, by ONNX's own version converter."""

from __future__ import annotations

from dataclasses import replace

import onnx
from onnx import version_converter

from edgeconv.errors import EdgeconvError
from edgeconv.frontend.model_file import ModelFile
from edgeconv.frontend.names import opset_versions
from edgeconv.frontend.visit import INVALID


def modernised(file: ModelFile, oldest: int) -> tuple[ModelFile, tuple[str, ...]]:
    """``file`` as it is, or as a model of opset ``oldest`` where its own is older; what to say of
    that.  Raises EdgeconvError where that cannot be done."""
    opset = opset_versions(file.model.opset_import).get("", 1)
    if file.translated or not 1 <= opset < oldest:
        return file, ()
    try:
        whole = onnx.load(file.path)
        onnx.checker.check_model(whole)
        model = version_converter.convert_version(whole, oldest)
    except (*INVALID, OSError) as error:
        raise EdgeconvError(
            "the model cannot be read",
            where=str(file.path),
            got=f"opset {opset}: {' '.join(str(error).split())[:200]}",
            rule=f"what is older than opset {oldest} is converted by onnx.version_converter",
            hint="export it for a newer opset",
        ) from None
    note = f"opset {opset} is converted to {oldest} by onnx.version_converter"
    return replace(file, model=model), (note,)

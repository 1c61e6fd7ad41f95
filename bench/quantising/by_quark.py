"""AMD Quark on ONNX files, the configurations that it has by name."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from onnxruntime.quantization import CalibrationDataReader
from quark.onnx import ModelQuantizer
from quark.onnx.quantization.config.config import Config
from quark.onnx.quantization.config.custom_config import get_default_config

from quantising.graphs import Array
from quantising.writing import Quantise, write_all


class Samples(CalibrationDataReader):
    """One sample at a time, as the tool asks for them."""

    def __init__(self, inputs: Array) -> None:
        self._inputs = inputs
        self.rewind()

    def rewind(self) -> None:
        self._rows = iter(self._inputs)

    reset_iter = rewind

    def get_next(self) -> dict[str, Array] | None:
        row = next(self._rows, None)
        return None if row is None else {"input": row[None]}


def static(path: Path, inputs: Array, result: Path, *, name: str) -> None:
    """ModelQuantizer with the configuration ``name``."""
    config = Config(global_quant_config=get_default_config(name))
    ModelQuantizer(config).quantize_model(str(path), str(result), Samples(inputs))


NAMES = (
    "XINT8",
    "S8S8_AAWS",
    "U8S8_AAWS",
    "U8U8_AAWA",
    "S16S8_ASWS",
    "A8W8",
    "A16W8",
    "U16S8_AAWS",
)
OPTIONS: dict[str, Quantise] = {name.lower(): partial(static, name=name) for name in NAMES}

if __name__ == "__main__":
    write_all(OPTIONS)

"""onnxruntime.quantization: static in both formats and several types, dynamic, and 4 bits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.quantization.shape_inference import quant_pre_process

from quantising.graphs import Array
from quantising.writing import Quantise, write_all


class Samples(CalibrationDataReader):
    """One sample at a time, as the tool asks for them."""

    def __init__(self, inputs: Array) -> None:
        self._rows = iter(inputs)

    def get_next(self) -> dict[str, Array] | None:
        row = next(self._rows, None)
        return None if row is None else {"input": row[None]}


def static(path: Path, inputs: Array, result: Path, *, raw: bool = False, **options: Any) -> None:
    """quantize_static; ``raw``: without the preprocessing that its documentation recommends."""
    with TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        if raw:
            prepared = path
        else:
            quant_pre_process(path, prepared)
        quantize_static(prepared, result, Samples(inputs), **options)


def dynamic(path: Path, _: Array, result: Path, **options: Any) -> None:
    quantize_dynamic(path, result, **options)


def few_bits(path: Path, _: Array, result: Path, **options: Any) -> None:
    """MatMulNBits, or QDQ of blocks, of weights alone."""
    quantiser = MatMulNBitsQuantizer(str(path), **options)
    quantiser.process()
    quantiser.model.save_model_to_file(str(result), False)


def _types(activation: QuantType, weight: QuantType, **rest: Any) -> Quantise:
    return partial(static, activation_type=activation, weight_type=weight, **rest)


S8, U8, S16 = QuantType.QInt8, QuantType.QUInt8, QuantType.QInt16
OPERATORS = {"quant_format": QuantFormat.QOperator}
SYMMETRIC = {"extra_options": {"ActivationSymmetric": True, "WeightSymmetric": True}}
OPTIONS: dict[str, Quantise] = {
    "qdq": static,
    "qdq_raw": partial(static, raw=True),
    "qdq_s8s8": _types(S8, S8),
    "qdq_pc": _types(S8, S8, per_channel=True),
    "qdq_u8u8": _types(U8, U8),
    "qdq_u8u8_pc": _types(U8, U8, per_channel=True),
    "qdq_symmetric": _types(S8, S8, per_channel=True, **SYMMETRIC),
    "qdq_reduced": _types(U8, S8, reduce_range=True),
    "qdq_s16": _types(S16, S8, per_channel=True),
    "qdq_u16": _types(QuantType.QUInt16, U8),
    "qdq_w4": _types(S8, QuantType.QInt4, per_channel=True),
    "qdq_uw4": _types(U8, QuantType.QUInt4),
    "qop": _types(U8, S8, **OPERATORS),
    "qop_s8s8": _types(S8, S8, per_channel=True, **OPERATORS),
    "qop_u8u8": _types(U8, U8, **OPERATORS),
    "dynamic": partial(dynamic, weight_type=S8),
    "dynamic_pc": partial(dynamic, weight_type=S8, per_channel=True),
    "dynamic_u8": partial(dynamic, weight_type=U8),
    "nbits4": partial(few_bits, block_size=32),
    "nbits4_qdq": partial(few_bits, block_size=32, quant_format=QuantFormat.QDQ),
}

if __name__ == "__main__":
    write_all(OPTIONS)

"""TensorFlow's converter to TensorFlow Lite, in the ways that its guide names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from quantising.graphs import Array
from quantising.in_tensorflow import Network
from quantising.writing import Quantise, write_all


def converted(path: Path, inputs: Array, result: Path, prepare: Callable[[Any], None]) -> None:
    """Convert a function of channels that lie last, with samples."""
    network = Network(path)
    samples = np.moveaxis(inputs, 1, -1)

    def dataset() -> Iterator[list[Any]]:
        for sample in samples:
            yield [sample[None]]

    entry = tf.TensorSpec(network.shape, tf.float32, name="input")
    concrete = tf.function(network, input_signature=[entry]).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = dataset
    prepare(converter)
    result.write_bytes(bytes(converter.convert()))


def _of_types(converter: Any, *, operators: str, io: str) -> None:
    converter.target_spec.supported_ops = [getattr(tf.lite.OpsSet, operators)]
    converter.inference_input_type = converter.inference_output_type = getattr(tf, io)


def _dynamic(converter: Any) -> None:
    converter.representative_dataset = None


INT16 = "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8"
OPTIONS: dict[str, Quantise] = {
    "int8": partial(
        converted, prepare=partial(_of_types, operators="TFLITE_BUILTINS_INT8", io="int8")
    ),
    "float_ends": partial(converted, prepare=lambda converter: None),
    "int16x8": partial(converted, prepare=partial(_of_types, operators=INT16, io="int16")),
    "dynamic": partial(converted, prepare=_dynamic),
}

if __name__ == "__main__":
    write_all(OPTIONS, ".tflite")

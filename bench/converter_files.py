"""Files of TensorFlow's converter, and what LiteRT makes of them, for `bench/converters.py`.

    pip install tensorflow==2.21.0
    python bench/converter_files.py FOLDER [NAME...]

Needs no edgeconv.  Writes FOLDER/NAME-KIND.tflite for the networks of `converter_networks`, in each
kind of quantisation; beside it an .npz of seeded inputs and of what LiteRT's reference kernels make
of them, run by run; and what the converter refuses to FOLDER/refused.txt.  Of some loops it
crashes: then give it the networks one by one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from converter_networks import NETWORKS
from converter_runs import SAMPLES, answers, examples, interpreter, main, refused

Kinds = Mapping[str, Callable[[Any, Callable[[], Iterator[Any]]], None]]


def exported(model: Any, folder: str) -> list[tuple[tuple[int, ...], str]]:
    """Save the model there; shapes and types of its inputs."""
    if isinstance(model, keras.Model):
        model.export(folder, verbose=False)
        return [(tuple(size or 1 for size in x.shape), str(x.dtype)) for x in model.inputs]
    concrete = model.step.get_concrete_function()
    tf.saved_model.save(model, folder, signatures=concrete)
    found = concrete.structured_input_signature[0]
    return [(tuple(x.shape), x.dtype.name) for x in found]


def kinds() -> Kinds:
    ops = tf.lite.OpsSet

    def dynamic(converter: Any, _: Any) -> None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]

    def float16(converter: Any, samples: Any) -> None:
        dynamic(converter, samples)
        converter.target_spec.supported_types = [tf.float16]

    def int8(converter: Any, samples: Any) -> None:
        dynamic(converter, samples)
        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [ops.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8

    def int16x8(converter: Any, samples: Any) -> None:
        dynamic(converter, samples)
        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [
            ops.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        ]
        converter.inference_input_type = converter.inference_output_type = tf.int16

    return {
        "float32": lambda converter, samples: None,
        "dynamic": dynamic,
        "float16": float16,
        "int8": int8,
        "int16x8": int16x8,
    }


def answered(content: bytes) -> dict[str, Any]:
    """What the interpreter of this TensorFlow makes of a file."""
    return answers(interpreter(content, tf.lite.Interpreter, tf.lite.experimental.OpResolverType))


def converted(
    model: Any,
    saved: str,
    prepare: Callable[[Any, Callable[[], Iterator[Any]]], None],
    samples: Callable[[], Iterator[Any]],
) -> bytes:
    """The file.  Of recurrent layers the converter needs the Keras model, whose sizes are known."""
    converters = [lambda: tf.lite.TFLiteConverter.from_saved_model(saved)]
    if isinstance(model, keras.Model):
        converters.append(lambda: tf.lite.TFLiteConverter.from_keras_model(model))
    for make in converters:
        try:
            converter = make()
            converter.experimental_enable_resource_variables = True
            prepare(converter, samples)
            return bytes(converter.convert())
        except Exception as error:  # whatever the converter raises
            failed = error
    raise failed


def write(folder: Path, name: str) -> None:
    keras.utils.set_random_seed(1)
    with tempfile.TemporaryDirectory() as saved:
        model = NETWORKS[name]()
        inputs = exported(model, saved)

        def samples() -> Iterator[Any]:
            for seed in range(SAMPLES):
                given = [examples(*each, 1000 + seed) for each in inputs]
                names = [x.name for x in model.inputs] if len(given) > 1 else []
                yield dict(zip(names, given, strict=True)) if names else given

        for kind, prepare in kinds().items():
            target = folder / f"{name}-{kind}.tflite"
            if target.exists():
                continue
            try:
                content = converted(model, saved, prepare, samples)
                np.savez(target.with_suffix(".npz"), **answered(content))
                target.write_bytes(content)
                print(target.name, len(content), flush=True)
            except Exception as error:  # whatever the converter or the interpreter raises
                refused(target, error)


if __name__ == "__main__":
    main(write, NETWORKS)

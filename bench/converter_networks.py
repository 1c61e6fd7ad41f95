"""Small networks as users of Keras and TensorFlow write them, as its converter writes them to files.

    pip install tensorflow==2.21.0
    python bench/converter_networks.py FOLDER [NAME...]

Needs no edgeconv.  Writes FOLDER/NAME-KIND.tflite for each kind of quantisation, beside it an .npz
of seeded inputs and of what LiteRT's reference kernels make of them, run by run; and refusals of
the converter itself to FOLDER/refused.txt.  `bench/converters.py FOLDER` compiles them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

RUNS = 3
SAMPLES = 20
Network = Callable[[], Any]  # a Keras model, or a tf.Module with a function `step`
NETWORKS: dict[str, Network] = {}


def network(build: Network) -> Network:
    NETWORKS[build.__name__] = build
    return build


def sequential(shape: tuple[int, ...], *parts: Any, dtype: str | None = None) -> Any:
    return keras.Sequential([layers.Input(shape, batch_size=1, dtype=dtype), *parts])


@network
def dense_3d() -> Any:
    return sequential((12, 8), layers.Dense(16, activation="relu"), layers.Dense(4))


@network
def dense_3d_free_batch() -> Any:
    return keras.Sequential([layers.Input((12, 8)), layers.Dense(16), layers.Dense(4)])


@network
def dilated_conv1d() -> Any:
    parts = [
        layers.Conv1D(8, 3, dilation_rate=d, padding="causal", activation="relu") for d in (1, 2, 4)
    ]
    return sequential((32, 4), *parts, layers.GlobalAveragePooling1D(), layers.Dense(3))


@network
def dilated_conv2d() -> Any:
    return sequential(
        (16, 16, 3),
        layers.Conv2D(8, 3, dilation_rate=2, padding="same", activation="relu"),
        layers.Conv2D(8, 3, dilation_rate=3, padding="valid"),
        layers.DepthwiseConv2D(3, dilation_rate=2, padding="same"),
    )


@network
def conv2d_transpose() -> Any:
    return sequential(
        (8, 8, 4),
        layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2DTranspose(3, 4, strides=2, padding="valid"),
    )


@network
def conv1d_transpose() -> Any:
    return sequential((16, 4), layers.Conv1DTranspose(6, 3, strides=2, padding="same"))


@network
def activations() -> Any:
    x = layers.Input((8, 8, 4), batch_size=1)
    names = (
        "selu",
        "elu",
        "softplus",
        "softsign",
        "swish",
        "gelu",
        "hard_sigmoid",
        "exponential",
        "mish",
    )
    return keras.Model(
        x, layers.Concatenate()([layers.Dense(3, activation=name)(x) for name in names])
    )


@network
def more_activations() -> Any:
    x = layers.Input((8, 8, 4), batch_size=1)
    parts = [
        layers.PReLU(shared_axes=[1, 2]),
        layers.LeakyReLU(),
        layers.ReLU(6.0),
        layers.ReLU(max_value=1.0),
        layers.ReLU(threshold=0.5),
    ]
    return keras.Model(x, layers.Concatenate()([part(layers.Conv2D(4, 3)(x)) for part in parts]))


@network
def embedding() -> Any:
    return sequential(
        (10,), layers.Embedding(50, 8), layers.Conv1D(8, 3, activation="relu"),
        layers.GlobalMaxPooling1D(), layers.Dense(2, activation="softmax"), dtype="int32",
    )  # fmt: skip


@network
def lstm() -> Any:
    return sequential((12, 8), layers.LSTM(16), layers.Dense(4, activation="softmax"))


@network
def lstm_unrolled() -> Any:
    return sequential((6, 8), layers.LSTM(8, unroll=True), layers.Dense(4))


@network
def lstm_stacked() -> Any:
    return sequential((8, 4), layers.LSTM(8, return_sequences=True), layers.LSTM(8))


@network
def bidirectional_lstm() -> Any:
    return sequential(
        (10, 6), layers.Bidirectional(layers.LSTM(8, return_sequences=True)), layers.Dense(3)
    )


@network
def gru() -> Any:
    return sequential((10, 6), layers.GRU(8), layers.Dense(3))


@network
def gru_unrolled() -> Any:
    return sequential((6, 6), layers.GRU(8, unroll=True, return_sequences=True), layers.Dense(3))


@network
def simple_rnn() -> Any:
    return sequential((10, 6), layers.SimpleRNN(8), layers.Dense(3))


@network
def rnn_masking() -> Any:
    return sequential((8, 4), layers.Masking(), layers.LSTM(8), layers.Dense(2))


@network
def lstm_stateful() -> Any:
    class Step(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = layers.LSTMCell(8)
            self.head = layers.Dense(3)
            self.h = tf.Variable(tf.zeros((1, 8)), trainable=False)
            self.c = tf.Variable(tf.zeros((1, 8)), trainable=False)
            self.cell.build((1, 6))
            self.head.build((1, 8))

        @tf.function(input_signature=[tf.TensorSpec((1, 6), tf.float32, "x")])
        def step(self, x: Any) -> Any:
            y, (h, c) = self.cell(x, [self.h, self.c])
            self.h.assign(h)
            self.c.assign(c)
            return self.head(y)

    return Step()


@network
def gru_states_given() -> Any:
    x, h = layers.Input((1, 6), batch_size=1, name="x"), layers.Input((8,), batch_size=1, name="h")
    y, state = layers.GRU(8, return_state=True, unroll=True)(x, initial_state=h)
    return keras.Model([x, h], [layers.Dense(3)(y), state])


@network
def conv3d() -> Any:
    return sequential(
        (6, 8, 8, 2), layers.Conv3D(4, 3, activation="relu"), layers.Flatten(), layers.Dense(3)
    )


@network
def attention() -> Any:
    x = layers.Input((12, 16), batch_size=1)
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x))
    z = layers.Dense(16)(layers.Dense(32, activation="gelu")(y))
    return keras.Model(x, layers.LayerNormalization()(y + z))


@network
def normalisations() -> Any:
    return sequential(
        (8, 8, 8), layers.Conv2D(8, 3), layers.GroupNormalization(4), layers.BatchNormalization(),
        layers.UnitNormalization(), layers.LayerNormalization(axis=(1, 2)),
    )  # fmt: skip


@network
def separable() -> Any:
    return sequential(
        (16, 16, 3), layers.SeparableConv2D(8, 3, depth_multiplier=2, activation="relu"),
        layers.DepthwiseConv2D(3, depth_multiplier=2, strides=2, padding="same"), layers.BatchNormalization(),
        layers.ReLU(6.0), layers.GlobalAveragePooling2D(keepdims=True), layers.Conv2D(5, 1), layers.Flatten(), layers.Softmax(),
    )  # fmt: skip


@network
def separable_1d() -> Any:
    return sequential(
        (32, 4),
        layers.SeparableConv1D(8, 5, padding="same"),
        layers.DepthwiseConv1D(3),
        layers.MaxPooling1D(2),
        layers.AveragePooling1D(2),
    )


@network
def upsampling() -> Any:
    return sequential(
        (8, 8, 4), layers.UpSampling2D(2), layers.Conv2D(4, 3, padding="same"), layers.UpSampling2D(2, interpolation="bilinear"),
        layers.Cropping2D(2), layers.ZeroPadding2D((1, 2)), layers.Resizing(20, 20),
    )  # fmt: skip


@network
def unet() -> Any:
    x = layers.Input((16, 16, 2), batch_size=1)
    a = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    b = layers.Conv2D(16, 3, padding="same", activation="relu")(layers.MaxPooling2D()(a))
    c = layers.Conv2DTranspose(8, 2, strides=2)(b)
    d = layers.Conv2D(8, 3, padding="same", activation="relu")(layers.Concatenate()([a, c]))
    return keras.Model(x, layers.Conv2D(2, 1, activation="sigmoid")(d))


@network
def several_inputs() -> Any:
    x, y = (
        layers.Input((8, 8, 3), batch_size=1, name="image"),
        layers.Input((4,), batch_size=1, name="numbers"),
    )
    a = layers.GlobalAveragePooling2D()(layers.Conv2D(8, 3, activation="relu")(x))
    b = layers.Dense(8, activation="tanh")(y)
    c = layers.Multiply()([a, b])
    joined = layers.Concatenate()(
        [
            layers.Add()([a, b]),
            layers.Subtract()([a, b]),
            c,
            layers.Maximum()([a, b]),
            layers.Average()([a, b]),
        ]
    )
    return keras.Model(
        [x, y],
        [
            layers.Dense(3, activation="softmax", name="kind")(joined),
            layers.Dense(1, activation="sigmoid", name="score")(c),
        ],
    )


def _squeezed(x: Any, channels: int) -> Any:
    s = layers.GlobalAveragePooling2D(keepdims=True)(x)
    s = layers.Conv2D(max(4, channels // 4), 1, activation="relu")(s)
    return layers.Multiply()([x, layers.Conv2D(channels, 1, activation="hard_sigmoid")(s)])


@network
def mobilenet_v3() -> Any:
    x = layers.Input((16, 16, 3), batch_size=1)
    y = layers.Activation("hard_swish")(
        layers.BatchNormalization()(
            layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(x)
        )
    )
    z = layers.Activation("hard_swish")(layers.Conv2D(24, 1)(y))
    z = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(z))
    z = layers.Activation("hard_swish")(z)
    z = layers.Add()([y, layers.Conv2D(8, 1)(_squeezed(z, 24))])
    return keras.Model(x, layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling2D()(z)))


@network
def efficientnet() -> Any:
    x = layers.Input((16, 16, 3), batch_size=1)
    y = layers.Conv2D(8, 3, strides=2, padding="same", activation="swish")(
        layers.Rescaling(1 / 127.5, offset=-1)(x)
    )
    z = layers.DepthwiseConv2D(5, padding="same", activation="swish")(
        layers.Conv2D(24, 1, activation="swish")(y)
    )
    s = layers.Reshape((1, 1, 24))(layers.GlobalAveragePooling2D()(z))
    s = layers.Conv2D(24, 1, activation="sigmoid")(layers.Conv2D(4, 1, activation="swish")(s))
    z = layers.Add()([y, layers.Dropout(0.2)(layers.Conv2D(8, 1)(layers.Multiply()([z, s])))])
    return keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling2D()(z)))


@network
def time_distributed() -> Any:
    return sequential(
        (4, 8, 8, 2), layers.TimeDistributed(layers.Conv2D(4, 3, activation="relu")),
        layers.TimeDistributed(layers.GlobalAveragePooling2D()), layers.TimeDistributed(layers.Dense(6)), layers.LSTM(4),
    )  # fmt: skip


@network
def conv_lstm() -> Any:
    return sequential(
        (4, 6, 6, 2), layers.ConvLSTM2D(4, 3, padding="same"), layers.Flatten(), layers.Dense(2)
    )


@network
def reshapes() -> Any:
    return sequential(
        (8, 6), layers.Permute((2, 1)), layers.Reshape((6, 4, 2)), layers.Conv2D(4, 3, padding="same"),
        layers.Flatten(), layers.RepeatVector(3), layers.Dense(4), layers.Cropping1D(1), layers.ZeroPadding1D(2),
    )  # fmt: skip


@network
def pooling() -> Any:
    x = layers.Input((9, 9, 4), batch_size=1)
    y = layers.Conv2D(4, 3, padding="same")(x)
    parts = [
        layers.AveragePooling2D(3, 2, padding="same"),
        layers.MaxPooling2D(3, 2, padding="same"),
    ]
    z = layers.Concatenate()([part(y) for part in parts])
    return keras.Model(x, [layers.GlobalMaxPooling2D()(z), layers.GlobalAveragePooling2D()(z)])


@network
def streaming() -> Any:
    class Stream(tf.Module):
        """A causal convolution that keeps its last rows, as microWakeWord's."""

        def __init__(self) -> None:
            super().__init__()
            self.conv, self.head = (
                layers.Conv2D(8, (5, 1), activation="relu"),
                layers.Dense(2, activation="sigmoid"),
            )
            self.conv.build((1, 5, 1, 10))
            self.head.build((1, 8))
            self.rows = tf.Variable(tf.zeros((1, 4, 1, 10)), trainable=False)

        @tf.function(input_signature=[tf.TensorSpec((1, 1, 1, 10), tf.float32, "x")])
        def step(self, x: Any) -> Any:
            window = tf.concat([self.rows, x], 1)
            self.rows.assign(window[:, 1:])
            return self.head(tf.reshape(self.conv(window), (1, 8)))

    return Stream()


@network
def log_mel() -> Any:
    class Front(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mel = tf.constant(np.random.RandomState(0).rand(65, 10).astype(np.float32))

        @tf.function(input_signature=[tf.TensorSpec((1, 512), tf.float32, "x")])
        def step(self, x: Any) -> Any:
            spectrum = tf.abs(tf.signal.stft(x, 128, 64, 128))
            return tf.math.log(tf.matmul(spectrum, self.mel) + 1e-6)

    return Front()


@network
def tensor_functions() -> Any:
    class Functions(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.constant(np.random.RandomState(0).randn(6, 6).astype(np.float32))

        @tf.function(input_signature=[tf.TensorSpec((1, 4, 6), tf.float32, "x")])
        def step(self, x: Any) -> Any:
            a = tf.einsum("bij,jk->bik", x, self.w)
            b = tf.where(a > 0, a, tf.square(a))
            mean, variance = tf.nn.moments(b, [1, 2], keepdims=True)
            c = (b - mean) * tf.math.rsqrt(variance + 1e-3)
            d = tf.roll(c, 1, 1) + tf.reverse(c, [2]) + tf.cumsum(c, 1)
            top, places = tf.math.top_k(d[:, 0], 2)
            return {
                "d": tf.clip_by_value(d, -1, 1),
                "top": top,
                "places": places,
                "norm": tf.norm(d, axis=-1),
                "best": tf.argmax(d, -1),
            }

    return Functions()


def examples(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    random = np.random.RandomState(seed)
    if dtype.startswith("int"):
        return random.randint(0, 50, shape).astype(dtype)
    return random.randn(*shape).astype(dtype)


def exported(model: Any, folder: str) -> list[tuple[tuple[int, ...], str]]:
    """Save the model there; shapes and types of its inputs."""
    if isinstance(model, keras.Model):
        model.export(folder, verbose=False)
        return [(tuple(size or 1 for size in x.shape), str(x.dtype)) for x in model.inputs]
    concrete = model.step.get_concrete_function()
    tf.saved_model.save(model, folder, signatures=concrete)
    found = concrete.structured_input_signature[0]
    return [(tuple(x.shape), x.dtype.name) for x in found]


def kinds() -> Mapping[str, Callable[[Any, Callable[[], Iterator[Any]]], None]]:
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


def interpreter(content: bytes) -> Any:
    """With reference kernels; with others where an operator, as ELU, has none."""
    kinds = tf.lite.experimental.OpResolverType
    for kind in (kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        try:
            runtime = tf.lite.Interpreter(model_content=content, experimental_op_resolver_type=kind)
            runtime.allocate_tensors()
            return runtime
        except (RuntimeError, ValueError) as error:
            failed = error
    raise failed


def answers(content: bytes) -> dict[str, Any]:
    """Inputs and results of `RUNS` runs that follow each other, by ``run/in|out/name``."""
    runtime = interpreter(content)
    found: dict[str, Any] = {}
    for run in range(RUNS):
        for number, each in enumerate(runtime.get_input_details()):
            seed, shape, dtype = 100 * run + number, tuple(each["shape"]), each["dtype"]
            scale, zero = each["quantization"]
            if scale:
                bounds = np.iinfo(dtype)
                given = np.rint(examples(shape, "float32", seed) / scale + zero)
                given = np.clip(given, bounds.min, bounds.max).astype(dtype)
            else:
                given = examples(shape, np.dtype(dtype).name, seed)
            runtime.set_tensor(each["index"], given)
            found[f"{run}/in/{each['name']}"] = given
        runtime.invoke()
        for each in runtime.get_output_details():
            found[f"{run}/out/{each['name']}"] = runtime.get_tensor(each["index"])
    return found


def converted(model: Any, saved: str, prepare: Callable[[Any], None]) -> bytes:
    """The file.  Of recurrent layers the converter needs the Keras model, whose sizes are known."""
    converters = [lambda: tf.lite.TFLiteConverter.from_saved_model(saved)]
    if isinstance(model, keras.Model):
        converters.append(lambda: tf.lite.TFLiteConverter.from_keras_model(model))
    for make in converters:
        try:
            converter = make()
            converter.experimental_enable_resource_variables = True
            prepare(converter)
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
                content = converted(model, saved, lambda each: prepare(each, samples))
                np.savez(target.with_suffix(".npz"), **answers(content))
                target.write_bytes(content)
                print(target.name, len(content), flush=True)
            except Exception as error:  # whatever the converter or the interpreter raises
                text = " ".join(str(error).split())[:300]
                with (folder / "refused.txt").open("a") as out:
                    out.write(f"{target.stem}: {text}\n")
                print(target.name, "refused:", text[:150], flush=True)


def main() -> None:
    folder, *names = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names or NETWORKS:
        write(Path(folder), name)


if __name__ == "__main__":
    main()

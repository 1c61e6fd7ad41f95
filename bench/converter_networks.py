"""Small networks as users of Keras and TensorFlow write them: `bench/converter_files.py` has them
converted.  Needs TensorFlow, and no edgeconv."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

Network = Callable[[], Any]  # a Keras model, or a tf.Module with a function `step`
NETWORKS: dict[str, Network] = {}


def network(build: Network) -> Network:
    NETWORKS[build.__name__] = build
    return build


def sequential(shape: tuple[int, ...], *parts: Any, dtype: str | None = None) -> Any:
    return keras.Sequential([layers.Input(shape, batch_size=1, dtype=dtype), *parts])


def tracked(*held: Any) -> list[Any]:
    """The weights of layers, for the tf.Module that holds them: without it the file loses them
    (findings/keras-weights-in-modules.sh)."""
    return [each.value for layer in held for each in layer.variables]


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
        (10,),
        layers.Embedding(50, 8),
        layers.Conv1D(8, 3, activation="relu"),
        layers.GlobalMaxPooling1D(),
        layers.Dense(2, activation="softmax"),
        dtype="int32",
    )


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
            self.kept = tracked(self.cell, self.head)

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
        (8, 8, 8),
        layers.Conv2D(8, 3),
        layers.GroupNormalization(4),
        layers.BatchNormalization(),
        layers.UnitNormalization(),
        layers.LayerNormalization(axis=(1, 2)),
    )


@network
def separable() -> Any:
    return sequential(
        (16, 16, 3),
        layers.SeparableConv2D(8, 3, depth_multiplier=2, activation="relu"),
        layers.DepthwiseConv2D(3, depth_multiplier=2, strides=2, padding="same"),
        layers.BatchNormalization(),
        layers.ReLU(6.0),
        layers.GlobalAveragePooling2D(keepdims=True),
        layers.Conv2D(5, 1),
        layers.Flatten(),
        layers.Softmax(),
    )


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
        (8, 8, 4),
        layers.UpSampling2D(2),
        layers.Conv2D(4, 3, padding="same"),
        layers.UpSampling2D(2, interpolation="bilinear"),
        layers.Cropping2D(2),
        layers.ZeroPadding2D((1, 2)),
        layers.Resizing(20, 20),
    )


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
        (4, 8, 8, 2),
        layers.TimeDistributed(layers.Conv2D(4, 3, activation="relu")),
        layers.TimeDistributed(layers.GlobalAveragePooling2D()),
        layers.TimeDistributed(layers.Dense(6)),
        layers.LSTM(4),
    )


@network
def conv_lstm() -> Any:
    return sequential(
        (4, 6, 6, 2), layers.ConvLSTM2D(4, 3, padding="same"), layers.Flatten(), layers.Dense(2)
    )


@network
def reshapes() -> Any:
    return sequential(
        (8, 6),
        layers.Permute((2, 1)),
        layers.Reshape((6, 4, 2)),
        layers.Conv2D(4, 3, padding="same"),
        layers.Flatten(),
        layers.RepeatVector(3),
        layers.Dense(4),
        layers.Cropping1D(1),
        layers.ZeroPadding1D(2),
    )


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
            self.kept = tracked(self.conv, self.head)
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

#!/usr/bin/env bash
# TensorFlow Lite Micro's int8 DIV: quotients of numbers near 0 are up to 128 steps off.
#
# Tool:      tflite-micro 0.dev20261023182759 (PyPI), on x86-64.
# Behaviour: a / b of int8 tensors, all zero points 0, for a = -1 and the 255 numbers b that are not
#            0. With a result of scale 0.046875 65 quotients are more than a step off; at scale
#            1/128 none is.
# Expected:  within a step. The kernel (reference/div.h, DivElementwise) shifts a dividend left by its
#            headroom, 31 bits of -1 and of 0, and the quotient right by that, by the reciprocal's
#            exponent and by that of the factor: 33 bits at this scale, where C defines shifts by
#            31 at most.
# For users: edgeconv divides the real numbers that the integers stand for, and refuses DIV with
#            --requantise tflite. Where the scale of the result is 1/128 or less, with operands on
#            one grid, the kernel is within a step of that.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> scale 0.046875 wrong: 65 farthest 128
#> scale 0.0078125 wrong: 0 farthest 0
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    tflite-micro==0.dev20261023182759 flatbuffers==25.12.19 numpy==2.4.6 tflite==2.18.0

sed -n 's/^#> //p' "$0" >"$work/seen"
"$work/venv/bin/python" - <<'PY' | tee "$work/found"
import flatbuffers
import numpy as np
import tflite
from tflite_micro.python.tflite_micro import runtime

PAIRS = 255


def table(builder, kind, **members):
    getattr(tflite, kind + "Start")(builder)
    for name, value in members.items():
        getattr(tflite, kind + "Add" + name)(builder, value)
    return getattr(tflite, kind + "End")(builder)


def vector(builder, offsets):
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def tensor(builder, name, scale):
    scales = builder.CreateNumpyVector(np.float32([scale]))
    zeros = builder.CreateNumpyVector(np.int64([0]))
    grid = table(builder, "QuantizationParameters", Scale=scales, ZeroPoint=zeros)
    text, shape = builder.CreateString(name), builder.CreateNumpyVector(np.int32([PAIRS]))
    kind = tflite.TensorType.INT8
    return table(builder, "Tensor", Name=text, Shape=shape, Type=kind, Buffer=0, Quantization=grid)


def quotient(scale):
    """A model of a quotient of two int8 tensors of one scale."""
    b = flatbuffers.Builder(1024)
    tensors = vector(b, [tensor(b, name, 0.03125) for name in "ab"] + [tensor(b, "y", scale)])
    inputs, outputs = b.CreateNumpyVector(np.int32([0, 1])), b.CreateNumpyVector(np.int32([2]))
    node = table(
        b, "Operator", OpcodeIndex=0, Inputs=inputs, Outputs=outputs,
        BuiltinOptionsType=tflite.BuiltinOptions.DivOptions, BuiltinOptions=table(b, "DivOptions"),
    )
    graph = table(
        b, "SubGraph",
        Tensors=tensors, Inputs=inputs, Outputs=outputs, Operators=vector(b, [node]),
    )
    code = tflite.BuiltinOperator.DIV
    operator = table(b, "OperatorCode", BuiltinCode=code, DeprecatedBuiltinCode=code, Version=2)
    codes, graphs = vector(b, [operator]), vector(b, [graph])
    buffers = vector(b, [table(b, "Buffer")])
    model = table(
        b, "Model", Version=3, OperatorCodes=codes, Subgraphs=graphs, Buffers=buffers
    )
    b.Finish(model, b"TFL3")
    return bytes(b.Output())


divisors = np.array([each for each in range(-128, 128) if each], np.int8)
for scale in (0.046875, 1 / 128):
    interpreter = runtime.Interpreter.from_bytes(quotient(scale), arena_size=1 << 16)
    for index, values in enumerate((np.full_like(divisors, -1), divisors)):
        interpreter.set_input(values, index)
    interpreter.invoke()
    found = interpreter.get_output(0).astype(int)
    exact = np.clip(-1 / divisors / scale, -128, 127)
    off = np.abs(found - exact)
    print("scale", scale, "wrong:", np.count_nonzero(off > 1), "farthest", round(off.max()))
PY
diff -u --label seen --label found "$work/seen" "$work/found"

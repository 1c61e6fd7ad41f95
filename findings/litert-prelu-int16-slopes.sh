#!/usr/bin/env bash
# LiteRT: PRELU of int16 with slopes of int16 reads each byte of the slopes as a slope of int8.
#
# Tool:      ai-edge-litert 2.3.0 (PyPI), on x86-64.
# Behaviour: x, slopes and result are int16 tensors with zero points of 0 and scale 1/32768, all x
#            are -16384 and the slopes are .5, that is 16384, bytes 0 and 64. Results are 0 and
#            -32 by turns, as of slopes 0 and 64, with the built-in and the reference kernels. With
#            slopes of int8, 64 at scale 1/128, all are -8192.
# Expected:  -8192 everywhere, or that the types are refused when tensors are allocated.
# For users: edgeconv refuses such a PRELU with --requantise tflite, and says without it what LiteRT
#            makes of it.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> AUTO slopes of int16: [0, -32, 0, -32]
#> AUTO slopes of int8: [-8192, -8192, -8192, -8192]
#> BUILTIN_REF slopes of int16: [0, -32, 0, -32]
#> BUILTIN_REF slopes of int8: [-8192, -8192, -8192, -8192]
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    ai-edge-litert==2.3.0 flatbuffers==25.12.19 numpy==2.4.6 tflite==2.18.0

sed -n 's/^#> //p' "$0" >"$work/seen"
"$work/venv/bin/python" - 2>/dev/null <<'PY' | tee "$work/found"
import flatbuffers
import numpy as np
import tflite
from ai_edge_litert.interpreter import Interpreter, OpResolverType

COUNT = 4
TYPES = {np.int16: tflite.TensorType.INT16, np.int8: tflite.TensorType.INT8}


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


def tensor(builder, name, kind, scale, buffer=0):
    scales = builder.CreateNumpyVector(np.float32([scale]))
    zeros = builder.CreateNumpyVector(np.int64([0]))
    grid = table(builder, "QuantizationParameters", Scale=scales, ZeroPoint=zeros)
    text, shape = builder.CreateString(name), builder.CreateNumpyVector(np.int32([1, COUNT]))
    return table(
        builder, "Tensor",
        Name=text, Shape=shape, Type=TYPES[kind], Buffer=buffer, Quantization=grid,
    )


def model(kind):
    """PRELU of int16 by slopes of a half of ``kind``."""
    b = flatbuffers.Builder(1024)
    scale = 2.0 ** (1 - np.iinfo(kind).bits)
    slopes = np.full(COUNT, 0.5 / scale, kind)
    data = b.CreateNumpyVector(slopes.view(np.uint8))
    buffers = vector(b, [table(b, "Buffer"), table(b, "Buffer", Data=data)])
    made = [tensor(b, name, np.int16, 2.0**-15) for name in "xy"]
    tensors = vector(b, [made[0], tensor(b, "slopes", kind, scale, 1), made[1]])
    inputs, outputs = b.CreateNumpyVector(np.int32([0])), b.CreateNumpyVector(np.int32([2]))
    read = b.CreateNumpyVector(np.int32([0, 1]))
    node = table(b, "Operator", OpcodeIndex=0, Inputs=read, Outputs=outputs)
    graph = table(
        b, "SubGraph",
        Tensors=tensors, Inputs=inputs, Outputs=outputs, Operators=vector(b, [node]),
    )
    code = tflite.BuiltinOperator.PRELU
    operator = table(b, "OperatorCode", BuiltinCode=code, DeprecatedBuiltinCode=code, Version=1)
    codes, graphs = vector(b, [operator]), vector(b, [graph])
    b.Finish(
        table(b, "Model", Version=3, OperatorCodes=codes, Subgraphs=graphs, Buffers=buffers),
        b"TFL3",
    )
    return bytes(b.Output())


for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_REF):
    for kind in (np.int16, np.int8):
        interpreter = Interpreter(
            model_content=model(kind), experimental_op_resolver_type=resolver
        )
        interpreter.allocate_tensors()
        x = np.full((1, COUNT), -16384, np.int16)
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        print(f"{resolver.name} slopes of {np.dtype(kind).name}:", found.ravel().tolist())
PY
diff -u --label seen --label found "$work/seen" "$work/found"

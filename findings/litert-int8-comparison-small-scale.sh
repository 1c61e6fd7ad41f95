#!/usr/bin/env bash
# LiteRT calls different int8 numbers equal where their common scale is below 1/256.
#
# Tool:      ai-edge-litert 2.3.0, its reference kernels and its default ones.
# Behaviour: EQUAL and LESS of int8 tensors, both of zero point 0 and the same scale, for all 255
#            pairs of neighbours k, k + 1. At scale 0.004 none is equal; at 0.002 124 are, at
#            0.0001 249, as if both real numbers were rounded to multiples of 1/256 first. LESS
#            is false where EQUAL is wrongly true.
# Expected:  no pair is equal and all are less. LiteRT's quantisation specification:
#            real_value = (int8_value - zero_point) * scale, so that equal scales and zero points
#            make the order of the reals that of the integers.
# For users: edgeconv compares the real numbers that the integers stand for. A .tflite whose
#            compared tensors have a small range (less than 1 from end to end) may differ there
#            from LiteRT.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> scale 0.004 EQUAL {'BUILTIN_REF': 0, 'AUTO': 0}
#> scale 0.004 LESS {'BUILTIN_REF': 255, 'AUTO': 255}
#> scale 0.002 EQUAL {'BUILTIN_REF': 124, 'AUTO': 124}
#> scale 0.002 LESS {'BUILTIN_REF': 131, 'AUTO': 131}
#> scale 0.001 EQUAL {'BUILTIN_REF': 189, 'AUTO': 189}
#> scale 0.001 LESS {'BUILTIN_REF': 66, 'AUTO': 66}
#> scale 0.0001 EQUAL {'BUILTIN_REF': 249, 'AUTO': 249}
#> scale 0.0001 LESS {'BUILTIN_REF': 6, 'AUTO': 6}
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    ai-edge-litert==2.3.0 flatbuffers==25.12.19 numpy==2.4.6 tflite==2.18.0

sed -n 's/^#> //p' "$0" >"$work/seen"
"$work/venv/bin/python" - <<'PY' | tee "$work/found"
import flatbuffers
import numpy as np
import tflite
from ai_edge_litert.interpreter import Interpreter, OpResolverType

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


def tensor(builder, name, kind, **more):
    text, shape = builder.CreateString(name), builder.CreateNumpyVector(np.int32([PAIRS]))
    return table(builder, "Tensor", Name=text, Shape=shape, Type=kind, Buffer=0, **more)


def comparison(code, scale):
    """A model of one comparison of two int8 tensors."""
    b = flatbuffers.Builder(1024)
    scales, zeros = b.CreateNumpyVector(np.float32([scale])), b.CreateNumpyVector(np.int64([0]))
    quantised = table(b, "QuantizationParameters", Scale=scales, ZeroPoint=zeros)
    operands = [
        tensor(b, name, tflite.TensorType.INT8, Quantization=quantised) for name in ("a", "b")
    ]
    tensors = vector(b, [*operands, tensor(b, "y", tflite.TensorType.BOOL)])
    inputs, outputs = b.CreateNumpyVector(np.int32([0, 1])), b.CreateNumpyVector(np.int32([2]))
    node = table(b, "Operator", OpcodeIndex=0, Inputs=inputs, Outputs=outputs)
    graph = table(
        b, "SubGraph",
        Tensors=tensors, Inputs=inputs, Outputs=outputs, Operators=vector(b, [node]),
    )
    operator = table(b, "OperatorCode", BuiltinCode=code, DeprecatedBuiltinCode=code, Version=2)
    codes, graphs = vector(b, [operator]), vector(b, [graph])
    buffers = vector(b, [table(b, "Buffer")])
    model = table(
        b, "Model", Version=3, OperatorCodes=codes, Subgraphs=graphs, Buffers=buffers
    )
    b.Finish(model, b"TFL3")
    return bytes(b.Output())


smaller = np.arange(-128, 127, dtype=np.int8)
for scale in (0.004, 0.002, 0.001, 0.0001):
    for name in ("EQUAL", "LESS"):
        found = {}
        for resolver in (OpResolverType.BUILTIN_REF, OpResolverType.AUTO):
            interpreter = Interpreter(
                model_content=comparison(getattr(tflite.BuiltinOperator, name), scale),
                experimental_op_resolver_type=resolver,
            )
            interpreter.allocate_tensors()
            for detail, value in zip(interpreter.get_input_details(), (smaller, smaller + 1)):
                interpreter.set_tensor(detail["index"], value)
            interpreter.invoke()
            output = interpreter.get_output_details()[0]["index"]
            found[resolver.name] = int(interpreter.get_tensor(output).sum())
        print("scale", scale, name, found)
PY
diff -u --label seen --label found "$work/seen" "$work/found"

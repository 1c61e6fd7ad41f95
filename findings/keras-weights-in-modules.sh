#!/usr/bin/env bash
# A tf.Module that holds a Keras layer is converted without the layer's weights.
#
# Tool:      TensorFlow 2.21.0 (TFLiteConverter, of concrete functions and of a saved model) with
#            Keras 3.15.1.
# Behaviour: where a function of a tf.Module assigns a tf.Variable, weights become variables of the
#            file, and the graph that CALL_ONCE runs fills those that the module tracks. Variables
#            of Keras 3 are no tf.Variable, so that the module does not track them: nothing fills
#            them, the converter says nothing, and the interpreter multiplies what memory holds.
# Expected:  the numbers of the function that was converted, or an error.
# For users: have the module track them, as by `self.kept = [v.value for v in layer.variables]`:
#            then they are constants of the file. edgeconv refuses a file that reads a variable
#            which it gives no value.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> the function: 3.0
#> layer alone, of functions: 3 variables, 1 filled, the function's number False
#> layer alone, of a saved model: 3 variables, 1 filled, the function's number False
#> weights tracked, of functions: 1 variables, 1 filled, the function's number True
#> weights tracked, of a saved model: 1 variables, 1 filled, the function's number True
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    tensorflow==2.21.0 keras==3.15.1

sed -n 's/^#> //p' "$0" >"$work/seen"
"$work/venv/bin/python" - "$work/saved" 2>"$work/log" <<'PY' | tee "$work/found" || { cat "$work/log" >&2; exit 1; }
import contextlib
import io
import re
import sys

import keras
import numpy as np
import tensorflow as tf

ONES = np.ones((1, 3), np.float32)


class Sums(tf.Module):
    def __init__(self, tracked):
        super().__init__()
        self.layer = keras.layers.Dense(2, kernel_initializer="ones")
        self.layer.build((1, 3))
        if tracked:
            self.kept = [each.value for each in self.layer.variables]
        self.total = tf.Variable(tf.zeros((1, 2)), trainable=False)

    @tf.function(input_signature=[tf.TensorSpec((1, 3), tf.float32)])
    def step(self, x):
        self.total.assign(self.total + self.layer(x))
        return tf.identity(self.total)


def described(converter):
    content = converter.convert()
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        tf.lite.experimental.Analyzer.analyze(model_content=content)
    main, once = written.getvalue().split("Subgraph#1 ", 1)
    variables = len(re.findall(r"^ +Op#\d+ VAR_HANDLE", main, re.MULTILINE))
    filled = len(re.findall(r"^ +Op#\d+ ASSIGN_VARIABLE", once, re.MULTILINE))
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], ONES)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    same = bool((found == 3.0).all())
    return f"{variables} variables, {filled} filled, the function's number {same}"


once = Sums(False)
print("the function:", float(once.step(ONES)[0, 0]))
for words, tracked in (("layer alone", False), ("weights tracked", True)):
    module = Sums(tracked)
    function = module.step.get_concrete_function()
    of_functions = tf.lite.TFLiteConverter.from_concrete_functions([function], module)
    print(f"{words}, of functions: {described(of_functions)}")
    folder = f"{sys.argv[1]}-{tracked}"
    tf.saved_model.save(module, folder, signatures=function)
    print(f"{words}, of a saved model: {described(tf.lite.TFLiteConverter.from_saved_model(folder))}")
PY
diff -u --label seen --label found "$work/seen" "$work/found"

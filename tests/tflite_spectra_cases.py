"""TensorFlow Lite models of Fourier transforms, and of what is computed of complex numbers."""

from __future__ import annotations

from collections.abc import Sequence

from tests.tflite_models import Sketch
from tests.tflite_more_cases import drawn
from tests.tflite_typed_cases import TypedCase


def _spectrum(
    kind: str, shape: Sequence[int], sizes: tuple[int, int], of: str, *, view: bool = False
) -> TypedCase:
    """``of``: what is returned of the spectrum, which nothing but itself can be an output of.
    ``view``: without the row that is one, in between."""
    sketch = Sketch()
    x = sketch.tensor("input_0", shape)
    length = sketch.constant("sizes", sizes, "int32")
    made = (*shape[:-2], sizes[0], sizes[1] // 2 + 1)
    y = sketch.tensor("spectrum", made, "complex64")
    sketch.operator("RFFT2D", [x, length], [y])
    if view:
        made = (*made[:-2], made[-1])
        flat = sketch.tensor("flat", made, "complex64")
        sketch.operator("RESHAPE", [y, sketch.constant("shape", made, "int32")], [flat])
        y = flat
    z = sketch.tensor("output_0", made)
    sketch.operator(of, [y], [z])
    label = f"{sizes[0]}x{sizes[1]} {of}"
    given = {"input_0": drawn("float32", *shape)}
    return TypedCase(kind, [], [made], label=label, data=sketch.bytes([x], [z]), given=given)


SPECTRA_CASES = [
    _spectrum("RFFT2D", (2, 1, 16), (1, 16), "COMPLEX_ABS"),
    _spectrum("RFFT2D", (3, 8), (4, 8), "REAL"),
    _spectrum("COMPLEX_ABS", (1, 3, 1, 20), (1, 16), "COMPLEX_ABS", view=True),
    _spectrum("REAL", (2, 1, 12), (1, 16), "REAL"),
    _spectrum("IMAG", (2, 4, 8), (4, 8), "IMAG"),
]

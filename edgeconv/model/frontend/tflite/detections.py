"""TFLite_Detection_PostProcess: boxes from their encodings, and those that others do not overlap;
NON_MAX_SUPPRESSION_V4 and V5.

What is kept lies in front of zeros in rows of a fixed number, and how many are kept is an output.
Boxes compete whatever their class, as the kernel's fast way has it, which converters ask for
(tensorflow/lite/kernels/detection_postprocess.cc).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.tflite.writing import UnsupportedError, Writing
from edgeconv.model.tflite import Operator
from edgeconv.model.tflite.flexbuffer import numbers

_SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")
_NEEDED = ("max_detections", "num_classes", "nms_score_threshold", "nms_iou_threshold", *_SCALES)


def post_process(out: Writing, operator: Operator) -> None:
    """TFLite_Detection_PostProcess of encodings [1, count, 4], scores [1, count, classes], of which
    a first one may be the background's, and anchors [count, 4]: boxes, classes, scores, count."""
    options = numbers(out.custom_options(operator))
    missing = [name for name in _NEEDED if name not in options]
    if missing or len(operator.outputs) != 4:
        raise UnsupportedError(f"without {', '.join(missing) or 'four results'}")
    if options.get("use_regular_nms") or options.get("max_classes_per_detection", 1) != 1:
        raise UnsupportedError("classes that compete by themselves, or several of a box")
    shapes = [out.tensor(operator, index).shape for index in range(3)]
    most, classes = int(options["max_detections"]), int(options["num_classes"])
    count = shapes[2][0] if shapes[2] else 0
    background = shapes[1][-1] - classes if shapes[1] else 0
    if shapes[0] != (1, count, 4) or shapes[1][:2] != (1, count) or background not in (0, 1):
        raise UnsupportedError(f"operands of shapes {[list(shape) for shape in shapes]}")
    boxes = _boxes(out, operator, options)
    scores = out.real(operator, 1)
    if background:
        scores = out.add("Slice", [scores, *map(out.value, ([1], [classes + 1], [2]))])
    best = out.add("ReduceMax", [scores, out.value([2])], keepdims=0)  # [1, count]
    which = out.add("ArgMax", [scores], axis=2, keepdims=0)
    which = out.add("Cast", [which], to=TensorProto.FLOAT)
    # A score that is the threshold itself is kept here, and not by ONNX.
    least = np.nextafter(np.float32(options["nms_score_threshold"]), np.float32(-np.inf))
    limits = (out.value([options["nms_iou_threshold"]], np.float32), out.value([least], np.float32))
    batched = out.add("Unsqueeze", [best, out.value([1])])
    kept = out.add("NonMaxSuppression", [boxes, batched, out.value([most]), *limits], main=True)
    rows = out.add("Gather", [kept, out.value(2)], axis=1)
    for index, values in enumerate((boxes, which, best)):
        flat = out.add("Squeeze", [values, out.value([0])])
        taken = out.add("Gather", [flat, rows], axis=0)
        behind = out.value(np.zeros((most, 4) if index == 0 else most), np.float32)
        all_rows = out.add("Concat", [taken, behind], axis=0)
        first = out.add("Slice", [all_rows, *map(out.value, ([0], [most], [0]))])
        out.move(operator, out.add("Unsqueeze", [first, out.value([0])]), index)
    number = out.add("Shape", [rows])
    out.move(operator, out.add("Cast", [number], to=TensorProto.FLOAT), 3)


def suppression(out: Writing, operator: Operator) -> None:
    """NON_MAX_SUPPRESSION_V4, and V5 that does not lower scores: places of boxes [count, 4] by
    their scores [count], zeros behind them; V5: the scores of these; how many they are."""
    most = out.number(operator, 2, "how many are kept")
    if operator.kind.endswith("V5") and out.constant(operator, 5, "a width").any():
        raise UnsupportedError("lowers scores of boxes that overlap")
    limits = [out.add("Reshape", [out.real(operator, i), out.value([1])]) for i in (3, 4)]
    boxes = out.add("Unsqueeze", [out.real(operator), out.value([0])])
    scores = out.add("Unsqueeze", [out.real(operator, 1), out.value([0, 1])])
    kept = out.add("NonMaxSuppression", [boxes, scores, out.value([most]), *limits], main=True)
    rows = out.add("Gather", [kept, out.value(2)], axis=1)
    results = [out.add("Cast", [rows], to=TensorProto.INT32)]
    behind = [out.value([0] * most, np.int32), out.value([0] * most, np.float32)]
    if operator.kind.endswith("V5"):
        results.append(out.add("Gather", [out.real(operator, 1), rows], axis=0))
    for index, (name, zeros) in enumerate(zip(results, behind, strict=False)):
        all_rows = out.add("Concat", [name, zeros], axis=0)
        first = out.add("Slice", [all_rows, *map(out.value, ([0], [most], [0]))])
        out.move(operator, first, index)
    number = out.add("Reshape", [out.add("Shape", [rows]), out.value([])])
    out.move(operator, out.add("Cast", [number], to=TensorProto.INT32), len(results))


def _boxes(out: Writing, operator: Operator, options: Mapping[str, float]) -> str:
    """Corners [1, count, 4], in the order y, x, y, x."""
    encoded, anchors = out.real(operator, 0), out.real(operator, 2)

    def columns(name: str, first: int, axis: int) -> str:
        return out.add("Slice", [name, *map(out.value, ([first], [first + 2], [axis]))])

    def over(name: str, scales: tuple[str, str]) -> str:
        return out.add("Div", [name, out.value([options[s] for s in scales], np.float32)])

    size, place = columns(anchors, 2, 1), columns(anchors, 0, 1)
    centre = out.add("Mul", [over(columns(encoded, 0, 2), ("y_scale", "x_scale")), size])
    centre = out.add("Add", [centre, place])
    half = out.add("Exp", [over(columns(encoded, 2, 2), ("h_scale", "w_scale"))])
    half = out.add("Mul", [out.add("Mul", [half, size]), out.value(0.5, np.float32)])
    corners = [out.add(kind, [centre, half]) for kind in ("Sub", "Add")]
    return out.add("Concat", corners, axis=2)

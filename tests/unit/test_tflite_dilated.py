"""Dilated convolutions that TensorFlow spells as blocks, of files whose batch is free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.model.frontend import load
from tests.ir_interpreter import evaluate
from tests.tflite_files import saved
from tests.tflite_models import Sketch

BLOCK, SIZE, CHANNELS = 2, 9, 3


def network(*, images: bool) -> bytes:
    """A convolution of three taps in each direction, dilated by `BLOCK` and padded to the same
    size; or along one dimension, with views as images around it."""
    sketch, random = Sketch(), np.random.default_rng(1)
    sizes = (SIZE,) * (2 if images else 1)
    blocks = -(-(SIZE + 2 * BLOCK) // BLOCK)  # rows of one, padding included
    batch, free = BLOCK ** len(sizes), (-1, *sizes, CHANNELS)
    inner = (batch, *(blocks,) * len(sizes), CHANNELS)
    made = (batch, *(blocks - 2,) * len(sizes), CHANNELS)
    extra = BLOCK * blocks - SIZE - 2 * BLOCK
    x = sketch.tensor("x", (1, *sizes, CHANNELS), signature=free)
    split, joined = sketch.tensor("split", inner), sketch.tensor("joined", made)
    y = sketch.tensor("y", (1, *sizes, CHANNELS), signature=free)
    edges = sketch.constant("edges", [BLOCK] * len(sizes), "int32")
    pads = sketch.constant("pads", [[BLOCK, BLOCK + extra]] * len(sizes), "int32")
    crops = sketch.constant("crops", [[0, extra]] * len(sizes), "int32")
    kernel = (3, 3) if images else (1, 3)
    filters = random.normal(size=(CHANNELS, *kernel, CHANNELS))
    operands = [sketch.constant("w", filters, "float32"), sketch.constant("b", [0] * 3, "float32")]
    options: dict[str, Any] = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    options |= {"dilation_w": 1, "dilation_h": 1}
    sketch.operator("SPACE_TO_BATCH_ND", [x, edges, pads], [split])
    if images:
        sketch.operator("CONV_2D", [split, *operands], [joined], **options)
    else:
        row, back = (each[:1] + (1,) + each[1:] for each in (inner, made))
        wide, narrow = sketch.tensor("wide", row), sketch.tensor("narrow", back)
        for source, target, kind in ((split, wide, "EXPAND_DIMS"), (narrow, joined, "SQUEEZE")):
            if kind == "SQUEEZE":
                sketch.operator("CONV_2D", [wide, *operands], [narrow], **options)
            axis = [sketch.constant("axis", 1, "int32")] if kind == "EXPAND_DIMS" else []
            squeezed: dict[str, Any] = {} if axis else {"squeeze_dims": [1]}
            sketch.operator(kind, [source, *axis], [target], **squeezed)
    sketch.operator("BATCH_TO_SPACE_ND", [joined, edges, crops], [y])
    return sketch.bytes([x], [y])


@pytest.mark.parametrize("images", [True, False])
def test_a_free_batch_is_that_of_the_dilated_convolution(images: bool, tmp_path: Path) -> None:
    path = saved(network(images=images), tmp_path)
    one = load(path)
    (conv,) = (node for node in one.nodes if node.op == "Conv")
    assert conv.attrs["dilations"][-1] == BLOCK
    (name,), shape = one.inputs, one[one.inputs[0]].shape
    x = np.random.default_rng(2).normal(size=(3, *shape[1:])).astype(np.float32)
    three = load(path, input_shapes={name: x.shape})
    alone = [evaluate(one, {name: each[None]})["y"] for each in x]
    np.testing.assert_allclose(evaluate(three, {name: x})["y"], np.concatenate(alone), atol=1e-6)

"""Names of tensors without what TensorFlow and its converters put around them."""

from __future__ import annotations

import re

# A tensor is named after the signature that a SavedModel is served by and the operation that makes
# it, and that one's results are counted: "serving_default_image:0" is the input "image".
_AROUND = re.compile(r"(?:serving_default_)?(?P<name>.+?)(?::0)?", re.DOTALL)
# Scopes of whole models: functions that were called, and what Keras calls a model without a name.
_MODEL = re.compile(
    r"(?:Stateful)?PartitionedCall(?:_[0-9]+)?|(?:model|sequential|functional)(?:_[0-9]+)?",
    re.IGNORECASE,
)
# Operations that a layer ends with, as its last scope.
_OPERATION = re.compile(
    r"(?:BiasAdd|Conv[123]D|DepthwiseConv2dNative|depthwise|MatMul|FusedBatchNorm(?:V[23])?|"
    r"Relu6?|Softmax|Sigmoid|Tanh|LeakyRelu|Elu|AvgPool|MaxPool|Mean|Reshape|ReadVariableOp|"
    r"resource|add|mul|concat|PadV?2?)(?:_[0-9]+)?"
)
# Whatever was fused is listed, that which is computed last in front.
_FUSED = ";"


def without_tensorflow(name: str) -> str:
    """The layer's own name of a tensor that TensorFlow named by its scopes:
    "StatefulPartitionedCall/model/conv1/BiasAdd;..." is "conv1".  Other names as they are."""
    text = name.partition(_FUSED)[0] or name
    found = _AROUND.fullmatch(text)
    plain = found["name"] if found else text
    scopes = plain.split("/")
    is_tensorflow = len(scopes) > 1 and (
        _MODEL.fullmatch(scopes[0]) or _FUSED in name or _OPERATION.fullmatch(scopes[-1])
    )
    if not is_tensorflow:
        return plain if text == name else name
    kept = [scope for scope in scopes if scope and not _MODEL.fullmatch(scope)]
    while len(kept) > 1 and _OPERATION.fullmatch(kept[-1]):
        kept.pop()
    return "/".join(dict.fromkeys(kept)) or plain

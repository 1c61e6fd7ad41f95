"""What C functions are called: after what they do."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.codegen.c_names import identifier
from edgeconv.ir.choice import Layer
from edgeconv.ir.filters import DYNAMIC
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.problem import ConvProblem

# Operators whose algorithms say how, rather than what.
_CONVOLUTIONS = ("Conv", DYNAMIC["Conv"])
_WORDS = {
    "Conv": "conv",
    "Dense": "dense",
    DYNAMIC["Dense"]: "dense",
    "MatMul": "matmul",
    "Softmax": "softmax",
}


def described(layer: Layer) -> str:
    """Operation and window of ``layer`` as the middle of a C name: conv_3x3_s2, winograd_3x3,
    depthwise_9x1, max_pool_2x2_s2."""
    parts = [_operation(layer)]
    if layer.node.op in (*_CONVOLUTIONS, "Pool"):
        parts += _window(layer)
    return "_".join(parts)


def _problem(layer: Layer) -> ConvProblem | None:
    """What a convolution asks for; None of other operators, and of what has no candidates."""
    found = layer.candidate
    return found.problem if isinstance(found, ConvCandidate) else None


def _operation(layer: Layer) -> str:
    node, attrs, problem = layer.node, layer.node.attrs, _problem(layer)
    if node.op in _CONVOLUTIONS and problem:
        if "winograd" in layer.algorithm:
            return "winograd"
        return "depthwise" if problem.groups > 1 == problem.group_in_c else "conv"
    if node.op == "Pool":
        return f"{'max' if attrs['mode'] == 'max' else 'average'}_pool"
    if node.op == "Reduce":
        return identifier(f"reduce_{attrs['kind']}")
    if node.op == "Binary":
        return identifier(str(attrs["kind"])).rstrip("_")
    if node.op == "Unary" and node.epilogue.before.kind != "none":
        return identifier(node.epilogue.before.kind)
    return _WORDS.get(node.op) or identifier(layer.algorithm)


def _window(layer: Layer) -> list[str]:
    """Kernel, and strides and dilations that are not 1."""
    names = (("", "kernel"), ("s", "strides"), ("d", "dilations"))
    problem = _problem(layer)
    sizes = {
        name: getattr(problem, name) if problem else layer.params.get(name) for _, name in names
    }
    if not all(isinstance(each, tuple) for each in sizes.values()):
        return ["global"]
    return [
        f"{letter}{_sizes(each, kernel=not letter)}"
        for letter, name in names
        if isinstance(each := sizes[name], tuple) and (not letter or set(each) != {1})
    ]


def _sizes(each: Sequence[object], *, kernel: bool) -> str:
    """Without a depth of 1; strides and dilations that are equal, once."""
    plane = each[1:] if each[0] == 1 else each
    return "x".join(map(str, plane if kernel or len(set(plane)) > 1 else plane[:1]))

"""One random node each: the operators that compute.

``COMPUTING`` holds functions of a network, each appending nodes of one kind with random attributes
in the spelling of the network's opset.  Attributes need not be valid: ONNX Runtime decides.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.models.random_networks import CHANNELS, Network, Shape, UnfitError

ACTIVATIONS: dict[str, tuple[int, dict[str, Any]]] = {  # since opset, attributes
    "Relu": (7, {}),
    "Sigmoid": (7, {}),
    "Tanh": (7, {}),
    "Softplus": (7, {}),
    "Softsign": (7, {}),
    "Exp": (7, {}),
    "Log": (7, {}),
    "Sqrt": (7, {}),
    "Abs": (7, {}),
    "Neg": (7, {}),
    "Reciprocal": (7, {}),
    "Floor": (7, {}),
    "Ceil": (7, {}),
    "Erf": (9, {}),
    "Round": (11, {}),
    "HardSwish": (14, {}),
    "Mish": (18, {}),
    "Elu": (7, {"alpha": (0.3, 1.0, 2.0)}),
    "Selu": (7, {"alpha": (1.2, 1.7)}),
    "Celu": (12, {"alpha": (0.5, 1.0)}),
    "LeakyRelu": (7, {"alpha": (0.01, 0.2, 1.5, -0.5)}),
    "HardSigmoid": (7, {"alpha": (0.1, 0.2, 1 / 6), "beta": (0.4, 0.5)}),
    "Gelu": (20, {"approximate": ("none", "tanh")}),
    "Swish": (24, {"alpha": (1.0, 1.7)}),
}
REDUCTIONS = (
    *("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"),
    *("ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"),
)


def activation(net: Network) -> None:
    names = [name for name, (since, _) in ACTIVATIONS.items() if since <= net.opset]
    name = net.random.choice(names)
    attrs = {key: net.random.choice(v) for key, v in ACTIVATIONS[name][1].items()}
    net.node(name, net.pick(), **(attrs if net.chance(0.7) else {}))


def clip(net: Network) -> None:
    low, high = net.random.choice([(0.0, 6.0), (-0.5, 0.5), (-1.0, None), (None, 1.0), (0.0, None)])
    if net.opset >= 11:
        bounds = ["" if v is None else net.constant(np.float32(v)) for v in (low, high)]
        net.node("Clip", net.pick(), *(bounds if bounds[1] else bounds[:1]))
    else:
        attrs = {key: v for key, v in (("min", low), ("max", high)) if v is not None}
        net.node("Clip", net.pick(), **attrs)


def _window(net: Network, spatial: Shape, most: int) -> dict[str, Any]:
    """Attributes of a sliding window; kernels are square more often than not."""
    rank, rnd = len(spatial), net.random
    kernel = [rnd.randint(1, most) for _ in spatial]
    if net.chance(0.5):
        kernel = kernel[:1] * rank
    attrs: dict[str, Any] = {"kernel_shape": kernel}
    if net.chance(0.4):
        attrs["strides"] = [rnd.randint(1, 3) for _ in spatial]
    if net.chance(0.2):
        attrs["auto_pad"] = rnd.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif net.chance(0.6):
        same = [k // 2 for k in kernel] * 2
        attrs["pads"] = same if net.chance(0.5) else [rnd.randint(0, k) for k in kernel * 2]
    return attrs


def conv(net: Network) -> None:
    x = net.image()
    _, in_c, *spatial = net.shape(x)
    attrs = _window(net, tuple(spatial), 5 if net.chance(0.3) else 3)
    if net.chance(0.2):
        attrs["dilations"] = [net.random.randint(1, 3) for _ in spatial]
    divisors = [g for g in range(1, in_c + 1) if in_c % g == 0]
    groups = net.random.choice((1, 1, 1, in_c, in_c, net.random.choice(divisors)))
    if groups == in_c and net.chance(0.7):
        out_c = in_c * net.random.choice((1, 1, 1, 2))
    elif groups > 1:
        out_c = groups * net.random.randint(1, 5)
    else:
        out_c = net.random.choice(CHANNELS)
    if groups > 1:
        attrs["group"] = groups
    fan_in = in_c // groups * math.prod(attrs["kernel_shape"])
    w = net.normal(out_c, in_c // groups, *attrs["kernel_shape"], scale=fan_in**-0.5)
    if net.chance(0.3):
        del attrs["kernel_shape"]
    net.node("Conv", x, w, *([net.normal(out_c)] if net.chance(0.6) else []), **attrs)


def pool(net: Network) -> None:
    x = net.image()
    spatial = net.shape(x)[2:]
    if net.chance(0.25):
        net.node(net.random.choice(("GlobalAveragePool", "GlobalMaxPool")), x)
        return
    kind = net.random.choice(("MaxPool", "AveragePool"))
    attrs = _window(net, spatial, 4)
    if kind == "AveragePool" and net.chance(0.4):
        attrs["count_include_pad"] = 1
    if net.opset >= 10 and net.chance(0.35):
        attrs["ceil_mode"] = 1
    # ONNX Runtime dies of a division by zero where a window covers padding only.  It works out SAME
    # without regard to dilation, and crops where that leaves out elements at both ends.
    same = attrs.get("auto_pad", "").startswith("SAME")
    if same:
        steps = zip(attrs.get("strides", []), attrs["kernel_shape"], strict=False)
        if any(step > size + 1 for step, size in steps):
            raise UnfitError
    else:
        rank, pads = len(spatial), attrs.get("pads", [0] * 2 * len(spatial))
        room = [size + a + b for size, a, b in zip(spatial, pads[:rank], pads[rank:], strict=True)]
        if any(k > size for k, size in zip(attrs["kernel_shape"], room, strict=True)):
            raise UnfitError
    dilates = net.opset >= (10 if kind == "MaxPool" else 19) and min(spatial) >= 5
    if dilates and not same and net.chance(0.25):
        attrs["dilations"] = [net.random.randint(1, 2) for _ in spatial]
    net.node(kind, x, **attrs)


def normalisation(net: Network) -> None:
    x = net.pick(lambda shape: len(shape) >= 2)
    c = net.shape(x)[1]
    kind = net.random.choice(("BatchNormalization",) * 5 + ("InstanceNormalization", "LRN", "Lp"))
    if kind == "BatchNormalization":
        net.node(kind, x, net.normal(c), net.normal(c), net.normal(c), net.positive(c))
    elif kind == "InstanceNormalization":
        net.node(kind, net.image(), net.normal(c), net.normal(c))
    elif kind == "LRN":
        size = net.random.choice((1, 2, 3, 4, 5, 9))
        net.node(kind, x, size=size, alpha=net.random.choice((1e-4, 0.5)), beta=0.75)
    else:
        axis = net.random.randrange(-1, len(net.shape(x)))
        net.node("LpNormalization", x, axis=axis, p=net.random.choice((1, 2)))


def modern_normalisation(net: Network) -> None:
    if net.opset >= 21 and net.chance(0.4):
        x = net.image()
        c = net.shape(x)[1]
        groups = net.random.choice([g for g in range(1, c + 1) if c % g == 0])
        net.node("GroupNormalization", x, net.normal(c), net.normal(c), num_groups=groups)
    elif net.opset >= 17:
        x = net.pick(lambda shape: len(shape) >= 1)
        axis = net.random.randrange(len(net.shape(x)))
        shape = net.shape(x)[axis:]
        net.node("LayerNormalization", x, net.normal(*shape), net.normal(*shape), axis=axis)
    elif net.opset >= 9:
        net.node("MeanVarianceNormalization", net.pick(lambda shape: len(shape) == 4))
    else:
        raise UnfitError


def _broadcast_constant(net: Network, shape: Shape) -> str:
    """A constant that broadcasts with ``shape``: a scalar, one per channel, a row, all, wider."""
    kept = [size if net.chance(0.5) else 1 for size in shape]
    if net.chance(0.3) and len(shape) > 1:
        kept = [1, shape[1], *(1 for _ in shape[2:])]
    while net.chance(0.5) and kept and (kept[0] == 1 or net.chance(0.2)):
        kept = kept[1:]
    if net.chance(0.06):
        kept = [2, *([1] * (len(shape) - len(kept))), *kept]
    return net.positive(*kept) if net.chance(0.5) else net.normal(*kept)


def _broadcasts(one: Shape, other: Shape) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(one[::-1], other[::-1], strict=False))


def binary(net: Network) -> None:
    a = net.pick()
    shape = net.shape(a)
    kind = net.random.choice(("Add",) * 5 + ("Mul",) * 4 + ("Sub", "Sub", "Div", "Pow", "PRelu"))
    if net.chance(0.4):
        b = _broadcast_constant(net, shape)
    elif net.chance(0.1):
        b = a
    else:
        b = net.pick(lambda other: _broadcasts(shape, other))
    if kind == "PRelu" and np.broadcast_shapes(shape, net.any_shape(b)) != shape:
        raise UnfitError  # ONNX Runtime widens the output, against the definition
    if kind == "Pow" and net.chance(0.7):
        b = net.constant(np.float32(net.random.choice((2.0, 3.0, 0.5, -1.0, 1.0))))
    elif kind != "PRelu" and net.chance(0.4):
        a, b = b, a
    net.node(kind, a, b)


def variadic(net: Network) -> None:
    a = net.pick()
    shape = net.shape(a)
    if net.opset >= 8:
        more = [net.pick(lambda other: _broadcasts(shape, other))]
        if net.chance(0.3):
            more.append(_broadcast_constant(net, shape))
    else:
        more = [net.pick(lambda other: other == shape)]
    names = [a, *more] if net.chance(0.9) else [a]
    net.random.shuffle(names)
    net.node(net.random.choice(("Sum", "Sum", "Min", "Max", "Mean")), *names)


def dense(net: Network) -> None:
    if net.chance(0.5):
        a = net.pick(lambda shape: len(shape) == 2)
        across = net.chance(0.15)
        rows, k = net.shape(a)[::-1] if across else net.shape(a)
        n = net.random.choice(CHANNELS)
        attrs: dict[str, Any] = {"transA": 1} if across else {}
        turned = net.chance(0.5)
        attrs |= {"transB": 1} if turned else {}
        attrs |= {"alpha": 0.5} if net.chance(0.2) else {}
        attrs |= {"beta": 2.0} if net.chance(0.2) else {}
        b = net.normal(*((n, k) if turned else (k, n)), scale=k**-0.5)
        if net.chance(0.1):
            b = net.pick(lambda s: len(s) == 2 and s[int(turned)] == k)
            n = net.shape(b)[0 if turned else 1]
        c = net.random.choice(((n,), (1, n), (rows, n), (rows, 1), (1,), ()))
        addend = [net.normal(*c)] if net.chance(0.7) or net.opset < 11 else []
        net.node("Gemm", a, b, *addend, **attrs)
        return
    a = net.pick(lambda shape: len(shape) >= 1)
    k = net.shape(a)[-1]
    if net.chance(0.6):
        extra = net.shape(a)[:1] if len(net.shape(a)) == 3 and net.chance(0.2) else ()
        cols = (net.random.choice(CHANNELS),) if net.chance(0.9) else ()
        net.node("MatMul", a, net.normal(*extra, k, *cols, scale=k**-0.5))
    elif net.chance(0.3):
        rows = net.shape(a)[-2] if len(net.shape(a)) > 1 else k
        net.node("MatMul", net.normal(net.random.choice(CHANNELS), rows, scale=rows**-0.5), a)
    else:
        net.node("MatMul", a, net.pick(lambda other: len(other) > 1 and other[-2] == k))


def softmax(net: Network) -> None:
    x = net.pick(lambda shape: len(shape) >= 1)
    rank = len(net.shape(x))
    axis = net.random.randrange(-rank if net.opset >= 11 else 0, rank)
    kind = net.random.choice(("Softmax", "Softmax", "LogSoftmax"))
    net.node(kind, x, **({"axis": axis} if net.chance(0.85) else {}))


def reduce(net: Network) -> None:
    x = net.pick(lambda shape: len(shape) >= 1)
    rank = len(net.shape(x))
    kind = net.random.choice(REDUCTIONS + ("ReduceMean",) * 4)
    axes = net.random.sample(range(rank), net.random.randint(1, rank))
    if net.chance(0.4) and rank > 2:
        axes = list(range(2, rank))
    if net.opset >= 11 and net.chance(0.3):
        axes = [axis - rank for axis in axes]
    keep = {} if net.chance(0.4) else {"keepdims": net.random.randint(0, 1)}
    if net.chance(0.1):
        net.node(kind, x, **keep)
    elif net.opset >= (13 if kind == "ReduceSum" else 18):
        net.node(kind, x, net.ints(*axes), **keep)
    else:
        net.node(kind, x, axes=axes, **keep)


def resize(net: Network) -> None:
    x = net.image()
    shape = net.shape(x)
    mode = net.random.choice(
        ("nearest", "linear", "cubic") if net.opset >= 11 else ("nearest", "linear")
    )
    factors = (2.0, 2.0, 3.0, 0.5, 1.5, 1.0, 0.7)
    scales = [1.0, 1.0, *(net.random.choice(factors) for _ in shape[2:])]
    given = net.constant(np.array(scales, np.float32))
    if net.opset < 11 and min(scales) < 1 < max(scales):
        raise UnfitError  # ambiguous, and refused
    if net.opset < 9:
        net.node("Upsample", x, mode=mode, scales=scales)
        return
    if net.opset < 11:
        net.node("Upsample" if net.opset == 9 else "Resize", x, given, mode=mode)
        return
    names = ["half_pixel", "pytorch_half_pixel", "asymmetric"]
    whole = all((size * scale).is_integer() for size, scale in zip(shape, scales, strict=True))
    names += ["align_corners"] if whole else []  # ambiguous elsewhere, and refused
    # ONNX Runtime's float32 takes some positions that are whole for less with this one.
    names += ["half_pixel_symmetric"] if net.opset >= 19 and mode != "nearest" else []
    names += ["tf_half_pixel_for_nn"] if net.opset < 13 and mode == "nearest" else []
    attrs: dict[str, Any] = {"coordinate_transformation_mode": net.random.choice(names)}
    if mode == "nearest":
        rounding = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        attrs["nearest_mode"] = net.random.choice(rounding)
    elif mode == "cubic":
        attrs |= {"cubic_coeff_a": net.random.choice((-0.5, -0.75))}
        attrs |= {"exclude_outside": net.random.randint(0, 1)}
    if net.chance(0.4):
        sizes = [max(1, int(size * scale)) for size, scale in zip(shape, scales, strict=True)]
        none = net.constant(np.zeros(0, np.float32)) if net.opset < 13 else ""
        net.node("Resize", x, none, none, net.ints(*sizes), mode=mode, **attrs)
    else:
        none = net.constant(np.zeros(0, np.float32)) if net.opset < 13 else ""
        net.node("Resize", x, none, given, mode=mode, **attrs)


COMPUTING = {  # with how often they are tried
    activation: 7,
    clip: 1,
    conv: 10,
    pool: 4,
    normalisation: 3,
    modern_normalisation: 1,
    binary: 8,
    variadic: 2,
    dense: 3,
    softmax: 1,
    reduce: 2,
    resize: 1,
}

"""One random node each: the operators that move data; as ``random_operators``."""

from __future__ import annotations

import math

import numpy as np

from tests.models.random_networks import Network, Shape, UnfitError


def concat(net: Network) -> None:
    a = net.pick(lambda shape: len(shape) >= 1)
    shape = net.shape(a)
    axis = 1 if len(shape) > 1 and net.chance(0.6) else net.random.randrange(len(shape))

    def fits(other: Shape) -> bool:
        return len(other) == len(shape) and all(
            i == axis or one == two for i, (one, two) in enumerate(zip(shape, other, strict=True))
        )

    names = [a, *(net.pick(fits) for _ in range(net.random.choice((0, 1, 1, 1, 2, 3))))]
    if net.chance(0.15):
        extra = list(shape)
        extra[axis] = net.random.randint(1, 4)
        names.append(net.normal(*extra))
    net.random.shuffle(names)
    net.node("Concat", *names, axis=axis - len(shape) if _negative_axes(net) else axis)


def _negative_axes(net: Network) -> bool:
    return net.opset >= 11 and net.chance(0.3)


def split(net: Network) -> None:
    x = net.pick(lambda shape: max(shape, default=1) > 1)
    shape = net.shape(x)
    axis = net.random.choice([i for i, size in enumerate(shape) if size > 1])
    parts = net.random.randint(2, min(4, shape[axis]))
    cuts = sorted(net.random.sample(range(1, shape[axis]), parts - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, shape[axis]], strict=True)]
    if net.chance(0.4):
        even = {"num_outputs": parts} if net.opset >= 18 else {}
        net.nodes_of("Split", [x], parts, axis=axis, **even)
    elif net.opset >= 13:
        net.nodes_of("Split", [x, net.ints(*sizes)], parts, axis=axis)
    else:
        net.nodes_of("Split", [x], parts, axis=axis, split=sizes)


def slice_(net: Network) -> None:
    x = net.pick(lambda shape: len(shape) >= 1)
    shape = net.shape(x)
    axes = net.random.sample(range(len(shape)), net.random.randint(1, min(2, len(shape))))
    starts, ends, steps = [], [], []
    for axis in axes:
        size = shape[axis]
        begin, end = (
            net.random.randint(-size, size),
            net.random.choice((size, -1, 2**31 - 1, size // 2)),
        )
        step = net.random.choice((1, 1, 1, 2, 3)) if net.opset >= 10 else 1
        if net.opset >= 10 and net.chance(0.3):
            begin, end, step = net.random.choice((-1, size)), -(2**31), -step
        starts.append(begin)
        ends.append(end)
        steps.append(step)
    if net.opset < 10:
        net.node("Slice", x, starts=starts, ends=ends, axes=axes)
        return
    more = [net.ints(*steps)] if net.chance(0.5) or set(steps) != {1} else []
    net.node("Slice", x, net.ints(*starts), net.ints(*ends), net.ints(*axes), *more)


def transpose(net: Network) -> None:
    x = net.pick(lambda shape: len(shape) >= 2)
    perm = list(range(len(net.shape(x))))
    if net.chance(0.3):
        perm = [0, *perm[2:], 1]
    elif net.chance(0.3):
        perm = [0, perm[-1], *perm[1:-1]]
    else:
        net.random.shuffle(perm)
    net.node("Transpose", x, **({"perm": perm} if net.chance(0.9) else {}))


def reshape(net: Network) -> None:
    x = net.pick()
    shape = net.shape(x)
    kind = net.random.choice(("Reshape", "Reshape", "Flatten", "Squeeze", "Unsqueeze"))
    if kind == "Reshape":
        net.node(kind, x, net.ints(*_new_shape(net, shape)))
    elif kind == "Flatten":
        net.node(
            kind, x, **({} if net.chance(0.5) else {"axis": net.random.randint(0, len(shape))})
        )
    elif kind == "Squeeze" and net.chance(0.2):
        net.node(kind, x)
    else:
        ones = [i for i, size in enumerate(shape) if size == 1]
        axes = ones if kind == "Squeeze" else [net.random.randint(0, len(shape))]
        axes = net.random.sample(axes, min(len(axes), net.random.randint(1, 2)))
        if not axes:
            raise UnfitError
        if net.opset >= 13:
            net.node(kind, x, net.ints(*axes))
        else:
            net.node(kind, x, axes=sorted(axes))


def _new_shape(net: Network, shape: Shape) -> list[int]:
    """Some dimensions of ``shape`` merged, some cut in two; with zeros and -1 now and then."""
    new: list[int] = []
    for size in shape:
        factors = [f for f in range(1, size + 1) if size % f == 0]
        if new and net.chance(0.35):
            new[-1] *= size
        elif net.chance(0.3):
            factor = net.random.choice(factors)
            new += [factor, size // factor]
        else:
            new.append(size)
    if net.chance(0.3) and new:
        new[net.random.randrange(len(new))] = -1
    if net.chance(0.2) and new and shape and new[0] == shape[0]:
        new[0] = 0
    return new[:6] if math.prod(new[6:]) == 1 else list(shape)


def pad(net: Network) -> None:
    x = net.pick(lambda shape: len(shape) >= 1)
    shape = net.shape(x)
    low = -1 if net.chance(0.2) else 0
    pads = [net.random.randint(low, 2) if net.chance(0.5) else 0 for _ in shape * 2]
    if len(shape) > 2 and net.chance(0.7):
        pads[:2] = pads[len(shape) : len(shape) + 2] = [0, 0]
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if net.opset >= 19 else [])
    mode = net.random.choice(modes)
    if mode == "wrap" and max(pads) > min(shape) - (min(pads) < 0):
        raise UnfitError  # by more than there is: refused
    value = net.random.choice((0.0, 0.0, 1.5)) if mode == "constant" else 0.0
    if net.opset < 11:
        net.node("Pad", x, pads=pads, mode=mode, value=value)
    else:
        more = [net.constant(np.float32(value))] if value or net.chance(0.3) else []
        net.node("Pad", x, net.ints(*pads), *more, mode=mode)


def gather(net: Network) -> None:
    x = net.pick(lambda shape: len(shape) >= 1)
    shape = net.shape(x)
    axis = net.random.randrange(len(shape))
    low = -shape[axis] if net.opset >= 11 else 0
    count = net.random.choice((None, 1, shape[axis], net.random.randint(1, 20)))
    draw = [net.random.randrange(low, shape[axis]) for _ in range(count or 1)]
    if net.chance(0.3) and count == shape[axis]:
        draw = net.random.sample(range(shape[axis]), shape[axis])
    indices = np.array(draw, np.int64) if count else np.int64(draw[0])
    if net.chance(0.1) and count and count % 2 == 0:
        indices = indices.reshape(2, -1)
    net.node("Gather", x, net.constant(indices), axis=axis)


def repeat(net: Network) -> None:
    x = net.pick()
    shape = net.shape(x)
    if net.opset >= 8 and net.chance(0.5):
        wide = [net.random.choice((1, 2, 3)) if size == 1 else size for size in shape]
        wide = [2, *wide] if net.chance(0.1) else wide
        net.node("Expand", x, net.ints(*wide))
    else:
        net.node("Tile", x, net.ints(*(net.random.choice((1, 1, 2, 3)) for _ in shape)))


def copy(net: Network) -> None:
    if net.chance(0.3):
        net.node("Dropout", net.pick(), **({"ratio": 0.3} if net.opset < 12 else {}))
    elif net.chance(0.2):
        net.node("Cast", net.pick(), to=1)
    else:
        net.node("Identity", net.pick())


def depth(net: Network) -> None:
    x = net.pick(lambda shape: len(shape) == 4)
    block = net.random.choice((2, 2, 3))
    if net.chance(0.5):
        net.node("SpaceToDepth", x, blocksize=block)
    else:
        modes = {"mode": net.random.choice(("DCR", "CRD"))} if net.opset >= 11 else {}
        net.node("DepthToSpace", x, blocksize=block, **modes)


MOVING = {  # with how often they are tried
    concat: 4,
    split: 2,
    slice_: 2,
    transpose: 2,
    reshape: 3,
    pad: 2,
    gather: 1,
    repeat: 1,
    copy: 1,
    depth: 1,
}

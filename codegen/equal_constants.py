"""Constants that several layers have in common, as a recurrent layer that arrives unrolled has its
weights in every step: which of them lie in the weight image once.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Blob, Choice, Layer
from edgeconv.ir.graph import Graph
from edgeconv.kernels.storage import format_of

Array = npt.NDArray[np.generic]
Key = tuple[int, str]  # index of the layer, name of its blob
_AT_ONCE = 1 << 18  # elements that are encoded together: whole bytes in every format
_SAMPLED = 64  # elements of a constant by which those that cannot be equal are told apart


def encoded(blob: Blob) -> bytes:
    """The constant as its kernel reads it."""
    return b"".join(encoded_pieces(blob))


def encoded_pieces(blob: Blob) -> Iterator[bytes]:
    """`encoded` in pieces, so that no copy of a large constant is made."""
    encode = format_of(blob.format).encode
    for piece in blob.pieces() if blob.pieces else _cut(blob.pack()):
        yield encode(piece)


def _cut(values: Array) -> Iterable[Array]:
    flat = values.reshape(-1)
    return (flat[at : at + _AT_ONCE] for at in range(0, flat.size, _AT_ONCE))


def originals(choice: Choice, order: Sequence[int]) -> dict[Key, Key]:
    """Blobs that repeat an earlier one, in execution order -> the first that is equal.

    Equal are the bytes of the image, the memory that they are to lie in, and the largest constant
    that the nodes read; of nodes that read none (their blobs are tables), the operator.  Bytes
    alone would not do: two layers of an untrained model may have equal biases, which will differ in
    the trained one, whose image is to fit the program.  For the same reason a constant of one value
    throughout equals itself alone.
    """
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index in order:
        layer = choice.layers[index]
        source = _source(layer, choice.graph) if layer.blobs else None
        memory = choice.placement.of_layer(layer.node.name)
        for blob in layer.blobs:
            alike[blob.name, blob.elements, str(blob.format), source, memory].append(index)
    found: dict[Key, Key] = {}
    for (name, *_), layers in alike.items():
        assert isinstance(name, str)
        first: dict[bytes, int] = {}
        for index in layers if len(layers) > 1 else ():
            blob = next(each for each in choice.layers[index].blobs if each.name == name)
            total = hashlib.sha256()
            for data in encoded_pieces(blob):
                total.update(data)
            same = first.setdefault(total.digest(), index)
            if same != index:
                found[index, name] = same, name
    return found


def _source(layer: Layer, graph: Graph) -> object:
    """What tells apart layers whose blobs cannot be equal but by chance."""
    read = (graph[name] for name in layer.node.reads() if name in graph.tensors)
    constants = [tensor.constant() for tensor in read if tensor.is_constant]
    largest = max(constants, key=np.size, default=None)
    return layer.node.op if largest is None else sample(largest)


def sample(values: Array) -> object:
    """Equal for equal arrays, and for few others; of one value throughout, for the array itself."""
    flat = values.reshape(-1)
    if (flat == flat[:1]).all():
        return id(values)
    some = flat[:: max(1, flat.size // _SAMPLED)]
    return values.shape, values.dtype.str, some.tobytes()

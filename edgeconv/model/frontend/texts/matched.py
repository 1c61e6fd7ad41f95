"""RegexFullMatch: an automaton, run on all bytes of a text at once.

What a byte does to the states is a vector, by each state the next one.  Neighbouring bytes together
do what one vector gathers of the other, and so pairs of pairs, until one vector is left (Hillis and
Steele, Data parallel algorithms, 1986).
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.data_dependent.node import RefusedError
from edgeconv.model.frontend.texts.automaton import automaton
from edgeconv.model.frontend.texts.text import TextWork


def match(work: TextWork) -> None:
    """Whether a pattern matches a text as a whole."""
    name, output = work.node.input[0], work.node.output[0]
    pattern = work.attrs.get("pattern")
    if pattern is None:
        raise RefusedError("no pattern")
    found = automaton(pattern.decode())
    shape, text = work.shape(name), work.stored(name)
    count, states = int(np.prod(shape, dtype=np.int64)), len(found.accepting)
    size = 1 << max(text.room - 1, 0).bit_length()
    stored = work.stored(name, size).stored
    kinds, which = np.unique(found.following, axis=1, return_inverse=True)
    kind_of_byte = work.work.constant(which.reshape(-1), np.uint8)
    wide = work.add("Cast", stored, to=TensorProto.INT32)
    kind = work.add("Cast", work.add("Gather", kind_of_byte, wide), to=TensorProto.INT32)
    does = work.add("Gather", work.work.constant(kinds.T, np.int32), kind, axis=0)
    while size > 1:
        size //= 2
        pairs = work.add("Reshape", does, work.work.constant([count, size, 2, states]))
        first, second = (work.add("Gather", pairs, work.work.constant(i), axis=2) for i in range(2))
        does = work.add("GatherElements", second, first, axis=2)
    last = work.add("Reshape", does, work.work.constant([count, states]))
    end = work.add("Gather", last, work.work.constant(0), axis=1)
    accepted = work.add("Gather", work.work.constant(found.accepting, np.bool_), end)
    work.add("Reshape", accepted, work.work.constant(shape), output=output)

"""TfIdfVectorizer of strings: of the whole numbers that its pool has for them."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

from edgeconv.model.frontend.data_dependent.node import RefusedError
from edgeconv.model.frontend.texts.text import Labels, TextWork


def vectorise(work: TextWork) -> None:
    """Words of the pool are numbered; others have a number that no gram has."""
    pool = [each.decode() for each in work.attrs.get("pool_strings", ())]
    if not pool:
        raise RefusedError("a pool of numbers for strings")
    words = list(dict.fromkeys(pool))
    numbers = _numbers(work, work.node.input[0], words)
    node = onnx.NodeProto()
    node.CopyFrom(work.node)
    del node.attribute[:]
    node.attribute.extend(a for a in work.node.attribute if a.name != "pool_strings")
    places = {word: i for i, word in enumerate(words)}
    node.attribute.append(helper.make_attribute("pool_int64s", [places[word] for word in pool]))
    node.input[:] = [numbers]
    walk, visit = work.work.walk, work.work.visit
    inside = walk.run_inside(visit, [node], visit.scope.opsets, [*node.output])
    if inside:
        raise RefusedError("; ".join(inside.operators or inside.lines()))


def _numbers(work: TextWork, name: str, words: Sequence[str]) -> str:
    """The place of each string in ``words``, -1 where it is not there: int64, of their shape."""
    constant, text = work.work.constant, work.kept.get(name)
    at = {word: i for i, word in enumerate(words)}
    if isinstance(text, Labels):
        return work.add("Gather", constant([at.get(each, -1) for each in text.table]), text.index)
    room = work.stored(name).room
    short = [word for word in words if len(word.encode()) <= room]
    shape = work.shape(name)
    if not short:
        return work.add("Expand", constant(-1), constant(shape))
    table = work.rows(short, room)
    each = work.add("Unsqueeze", work.stored(name).stored, constant([len(shape)]))
    same = work.all_of(work.add("Equal", each, table))
    number = constant([at[word] for word in short])
    found = work.add("Where", same, number, constant(-1))
    return work.add("ReduceMax", found, constant([-1]), keepdims=0)

"""ONNX models: read, optimised, planned and emitted, and compared with ONNX Runtime."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from edgeconv.app.deciding import Decider
from edgeconv.base import limits
from edgeconv.codegen.emit import EmitOptions, emit
from edgeconv.search.options import CompileOptions
from tests.fuzz.model_check import compared
from tests.fuzz.model_corpus import chosen
from tests.fuzz.mutate_model import MUTATORS
from tests.fuzz.subject import Subject

BOARDS = ("generic-c", "stm32h743", "x86-64-v3", "odroid-xu3")

# What a worker has room for.
LIMITS = {
    "tensor-elements": 1 << 24,
    "window-elements": 1 << 14,
    "folded-bytes": 64 << 20,
    "model-nodes": 2000,
    "model-seconds": 10,
}


def make(source: random.Random, folder: Path) -> Path:
    """One to four changes of a sound model, or damage to its bytes."""
    model = chosen(source)
    path = folder / f"{source.choice(BOARDS)}.onnx"
    if source.random() < 0.1:
        path.write_bytes(_damaged(source, model.SerializeToString()))
        return path
    for _ in range(source.choice((1, 1, 2, 4))):
        source.choice(MUTATORS)(source, model, folder)
    path.write_bytes(model.SerializeToString())
    return path


def _damaged(source: random.Random, data: bytes) -> bytes:
    if source.random() < 0.3:
        return data[: source.randrange(len(data))]
    found = bytearray(data)
    for _ in range(source.choice((1, 2, 8))):
        place = source.randrange(len(found))
        if source.random() < 0.5:
            found[place] ^= 1 << source.randrange(8)
        else:
            found[place] = source.randrange(256)
    return bytes(found)


def read(path: Path) -> Callable[[], str]:
    """Everything that `edgeconv compile` does before it writes, for the board that the file's name
    begins with."""
    board = next((name for name in BOARDS if path.stem.startswith(name)), BOARDS[0])
    options = CompileOptions(path, board, name="fuzzed")
    with limits.given(LIMITS), Decider(options) as decider:
        decided = decider.plain()
        emit(
            decided.choice,
            decided.memory,
            EmitOptions(
                name="fuzzed",
                board=board,
                command=options.command(),
                flags=decided.board.flags,
                weights_as_c=False,
            ),
            "{}",
        )
        return partial(compared, path, decider.graph)


SUBJECT = Subject("models", make, read)

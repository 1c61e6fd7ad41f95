"""What TensorFlow Lite's own kernels make of one-operator models, kept in two files.

``python -m tests.tflite_engines`` writes them anew, of LiteRT's reference kernels where
``ai-edge-litert`` is installed, and of TensorFlow Lite Micro where ``tflite-micro`` is; with
``--new`` what is in them stays, and models that neither has are added.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tflite_cases import CASES, EXPECTED, Case
from tests.tflite_graph_cases import GRAPH_CASES
from tests.tflite_integer_cases import INTEGER_CASES
from tests.tflite_more_cases import MORE_CASES
from tests.tflite_spectra_cases import SPECTRA_CASES
from tests.tflite_typed_cases import TYPED_CASES

Values = npt.NDArray[Any]
Outputs = dict[str, Values]
ALL_CASES: tuple[Case, ...] = (
    *(*CASES, *TYPED_CASES, *MORE_CASES, *GRAPH_CASES, *INTEGER_CASES, *SPECTRA_CASES),
)
MICRO = EXPECTED.with_name("tflite_micro_expected.npz")
_ARENA = 1 << 20
# Which the reference kernels do not have, or have wrong of int8.
# What is not the same from run to run: in LiteRT 2.3.0 states of both directions side by side, in
# Micro what is padded.
UNSTABLE = frozenset({"BIDIRECTIONAL_SEQUENCE_LSTM float32 float32 1"})
_UNSTABLE_IN_MICRO = ("SPACE_TO_BATCH_ND", "CONV_2D float32 dilated ")
_OPTIMISED = ("CEIL", "ELU", "ROUND", "SUM")


def litert(case: Case) -> Outputs:
    """The outputs of LiteRT's reference kernels, where an operator has them.  Raises RuntimeError
    or ValueError where it refuses the model."""
    from ai_edge_litert.interpreter import (  # noqa: PLC0415 - optional
        Interpreter,
        OpResolverType,
    )

    kernels = OpResolverType.BUILTIN_REF
    if case.kind in _OPTIMISED:
        kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.tflite"
        path.write_bytes(case.write())
        runtime = Interpreter(str(path), experimental_op_resolver_type=kernels)
        runtime.allocate_tensors()
        given = case.inputs()
        for each in runtime.get_input_details():
            runtime.set_tensor(each["index"], given[each["name"]])
        runtime.invoke()
        outputs = runtime.get_output_details()
        return {each["name"]: runtime.get_tensor(each["index"]) for each in outputs}


def micro(case: Case) -> Outputs:
    """The outputs of TensorFlow Lite Micro.  Raises RuntimeError or ValueError where it refuses
    the model."""
    from tflite_micro.python.tflite_micro import runtime  # noqa: PLC0415 - optional

    interpreter = runtime.Interpreter.from_bytes(case.write(), arena_size=_ARENA)
    for index, values in enumerate(case.inputs().values()):
        interpreter.set_input(np.ascontiguousarray(values), index)
    interpreter.invoke()
    return {
        f"output_{index}": interpreter.get_output(index).reshape(shape)
        for index, shape in enumerate(case.shapes)
    }


def _apart(engine: Callable[[Case], Outputs], case: Case) -> Outputs:
    """What ``engine`` makes in a process of its own, which it may crash: then RuntimeError."""
    with ProcessPoolExecutor(1) as process:
        return process.submit(engine, case).result()


def _found(
    engine: Callable[[Case], Outputs], unstable: tuple[str, ...], known: frozenset[str]
) -> Mapping[str, Values]:
    """By case and output, but for cases that begin with ``unstable`` or are ``known``; what is
    refused is told."""
    found: Outputs = {}
    for case in ALL_CASES:
        if case.name.startswith(unstable) or case.name in known:
            continue
        try:
            outputs = _apart(engine, case)
        except (RuntimeError, ValueError) as error:
            print(f"{engine.__name__}: {case.name}: {str(error).strip().splitlines()[-1]}")
            continue
        found |= {f"{case.name}:{name}": value for name, value in outputs.items()}
    return found


def main() -> int:
    """Write what the engines make."""
    parser = argparse.ArgumentParser(prog="python -m tests.tflite_engines", description=__doc__)
    parser.add_argument("--new", action="store_true", help="models that neither file has")
    kept: dict[Path, Outputs] = {EXPECTED: {}, MICRO: {}}
    if parser.parse_args().new:
        for path in kept:
            with np.load(path) as file:
                kept[path] = dict(file)
    names = {name.rpartition(":")[0] for outputs in kept.values() for name in outputs}
    for path, engine, unstable in (
        (EXPECTED, litert, tuple(UNSTABLE)),
        (MICRO, micro, _UNSTABLE_IN_MICRO),
    ):
        found = {**kept[path], **_found(engine, unstable, frozenset(names))}
        np.savez_compressed(path, allow_pickle=False, **found)
    return 0


if __name__ == "__main__":
    sys.exit(main())

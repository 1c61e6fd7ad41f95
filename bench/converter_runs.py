"""What LiteRT makes of a file of TensorFlow Lite on seeded inputs, for `bench/converters.py`, and
how programs end that write such files: what is refused, the command line.

Needs numpy, and no edgeconv: it runs where converters are installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

RUNS = 3
SAMPLES = 20
_LARGEST = 50  # integer inputs are below: of networks that look up words


def examples(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Random numbers of that shape and type."""
    random = np.random.RandomState(seed)
    if dtype.startswith("int"):
        return random.randint(0, _LARGEST, shape).astype(dtype)
    return random.randn(*shape).astype(dtype)


def interpreter(content: bytes, runtime: Any, kinds: Any) -> Any:
    """An interpreter ``runtime`` with reference kernels; with others where an operator, as ELU, has
    none.  ``kinds``: the runtime's OpResolverType.  Raises what the last of them raises."""
    for kind in (kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        try:
            made = runtime(model_content=content, experimental_op_resolver_type=kind)
            made.allocate_tensors()
            return made
        except (RuntimeError, ValueError) as error:
            failed = error
    raise failed


def answers(made: Any) -> dict[str, Any]:
    """Inputs and results of `RUNS` runs of an interpreter that follow each other, by
    ``run/in|out/name``."""
    found: dict[str, Any] = {}
    for run in range(RUNS):
        for number, each in enumerate(made.get_input_details()):
            seed, shape, dtype = 100 * run + number, tuple(each["shape"]), each["dtype"]
            scale, zero = each["quantization"]
            if scale:
                bounds = np.iinfo(dtype)
                given = np.rint(examples(shape, "float32", seed) / scale + zero)
                given = np.clip(given, bounds.min, bounds.max).astype(dtype)
            else:
                given = examples(shape, np.dtype(dtype).name, seed)
            made.set_tensor(each["index"], given)
            found[f"{run}/in/{each['name']}"] = given
        made.invoke()
        for each in made.get_output_details():
            found[f"{run}/out/{each['name']}"] = made.get_tensor(each["index"])
    return found


def refused(target: Path, error: Exception) -> None:
    """Note in refused.txt beside ``target`` why a converter, a quantiser or an interpreter did not
    make it."""
    text = " ".join(str(error).split())[:300]
    with target.with_name("refused.txt").open("a") as out:
        out.write(f"{target.stem}: {type(error).__name__} {text}\n")
    print(target.name, "refused:", text[:150], flush=True)


def main(write: Callable[[Path, str], None], networks: Iterable[str]) -> None:
    """Call ``write`` with the folder that the command line names, which is made, and each network
    behind it; all ``networks`` where it names none."""
    folder, *names = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names or networks:
        write(Path(folder), name)

"""What LiteRT makes of a file of TensorFlow Lite on seeded inputs, for `bench/converters.py`.

Needs numpy, and no edgeconv: it runs where converters are installed.
"""

from __future__ import annotations

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

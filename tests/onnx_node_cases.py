"""The cases that the ``onnx`` package makes for its operators, made once in a test run.

Making them takes seconds, since all that they compute is computed in numpy: whichever process comes
first keeps them in the folder that ``STORE`` names, for the others.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import warnings
from functools import cache
from pathlib import Path
from typing import Any

STORE = "EDGECONV_TEST_STORE"  # an environment variable, which programs that tests start have, too


@cache
def node_cases() -> list[Any]:
    """``onnx.backend.test.case.test_case.TestCase`` each: name, model, data sets, tolerances."""
    folder = os.environ.get(STORE)
    if not folder:
        return _made()
    kept = Path(folder) / "onnx_node_cases.pickle"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            part = kept.with_suffix(".part")
            part.write_bytes(pickle.dumps(_made()))
            part.rename(kept)
    found: list[Any] = pickle.loads(kept.read_bytes())
    return found


def _made() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests  # noqa: PLC0415 - takes seconds

        return list(load_model_tests(kind="node"))

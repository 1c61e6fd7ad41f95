"""Kernels that are compiled once: what one process compiled another finds."""

from __future__ import annotations

import os
import subprocess
import sys

from edgeconv.target.backends import TARGETS
from tests.kernels import once

_PRINTED = """\
from edgeconv.target.backends import TARGETS
from tests.kernels import once
print([list(once._everywhere(target)) for target in TARGETS.values()])
"""


def test_headers_have_one_order() -> None:
    """However a process orders its sets of names: the workers of a test run do it differently."""
    command = [sys.executable, "-c", _PRINTED]
    own = os.environ.get("PYTHONHASHSEED")
    known = {**os.environ, "PYTHONHASHSEED": "2" if own == "1" else "1"}
    done = subprocess.run(command, env=known, capture_output=True, text=True, check=True)
    here = [list(once._everywhere(target)) for target in TARGETS.values()]
    assert done.stdout.strip() == str(here)


def test_every_isa_has_the_same_kernels_in_one_object() -> None:
    """One that a single ISA left out would be compiled for every program by itself."""
    kernels = {name: set(once._everywhere(target)) for name, target in TARGETS.items()}
    assert all(found == kernels["avx512"] for found in kernels.values())
    assert {"ec_conv_direct.h", "ec_gemm.h"} <= kernels["avx512"]


def test_what_is_asked_for_inside_of_another_question_goes_with_it() -> None:
    text = "a\n#ifdef A\nb\n#ifdef B\nc\n#endif\nd\n#endif\ne\n"
    assert once._without(text) == once._without(text, {"A"}) == "a\ne\n"
    assert once._without(text, {"B"}) == "a\n#ifdef A\nb\nd\n#endif\ne\n"

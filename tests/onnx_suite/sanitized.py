"""The cases with every access and every operation checked: AddressSanitizer has to be the first
library of the process that loads what was built."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

_LIBRARIES = ("libasan.so", "libubsan.so")
_PRELOAD = "LD_PRELOAD"
_STARTED = "EDGECONV_SANITIZED"
# AddressSanitizer refuses libraries that prefer their own symbols, as the disassembler asks for.
_START = "import os, runpy, sys; del os.RTLD_DEEPBIND; runpy.run_module({!r}, run_name='__main__')"
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=8:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=0",
}


def under_sanitizers(module: str, arguments: Sequence[str]) -> None:
    """Start ``python -m module`` in place of this process where the libraries are not loaded
    first, and keep them from the compilers that it starts."""
    if os.environ.pop(_STARTED, ""):
        del os.environ[_PRELOAD]
        return
    paths = [_path(library) for library in _LIBRARIES]
    environment = os.environ | _OPTIONS
    environment |= {_PRELOAD: " ".join(paths), _STARTED: "1"}
    words = [sys.executable, "-c", _START.format(module), *arguments]
    os.execve(sys.executable, words, environment)


def _path(library: str) -> str:
    words = ["gcc", f"-print-file-name={library}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

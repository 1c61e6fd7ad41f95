"""Layers that stream rows to a result whose channels come first."""

from __future__ import annotations

import subprocess
from pathlib import Path

from edgeconv.kernels.headers import include_flags
from tests.compilers import SANITIZERS

PROGRAM = Path(__file__).parent / "convert_rows.c"


def test_rows_and_columns_lie_where_a_whole_image_has_them(tmp_path: Path) -> None:
    strict = ("-std=c11", "-Wall", "-Wextra", "-Werror", *include_flags())
    binary = tmp_path / "rows"
    subprocess.run(["gcc", *SANITIZERS, "-O1", *strict, PROGRAM, "-o", binary, "-lm"], check=True)
    printed = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    different, compared = map(int, printed.split())
    assert different == 0
    assert compared > 1000

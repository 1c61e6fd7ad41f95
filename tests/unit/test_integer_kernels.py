"""The table of kernels in integers: each names a function that its headers have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import edgeconv
from edgeconv.kernels.algorithms.integer import kernels
from edgeconv.kernels.algorithms.integer.kernels import IntegerKernel

HEADERS = Path(edgeconv.__file__).parent / "kernels" / "runtime_c" / "kernels"
ROWS = [row for row in vars(kernels).values() if isinstance(row, IntegerKernel)]
ADDING = [row.with_residual(added=True) for row in ROWS if row.adds]


def functions(row: IntegerKernel) -> set[str]:
    texts = ((HEADERS / name).read_text(encoding="utf-8") for name in row.headers)
    return {name for text in texts for name in re.findall(r"\bec_int8_(\w+)\(", text)}


@pytest.mark.parametrize("row", [*ROWS, *ADDING], ids=lambda row: str(row.name))
def test_headers_have_its_function(row: IntegerKernel) -> None:
    assert row.name in functions(row)


def test_names_are_told_apart() -> None:
    names = [(row.name, row.reads_beyond) for row in (*ROWS, *ADDING)]
    assert len(set(names)) == len(names) > len(ROWS) > 10


@pytest.mark.parametrize("row", [row for row in ROWS if not row.adds], ids=lambda row: row.name)
def test_only_rows_that_add_have_a_residual(row: IntegerKernel) -> None:
    """Nothing adds one to the results of the others."""
    assert f"{row.name}_add" not in functions(row)
    assert row.with_residual(added=False) is row

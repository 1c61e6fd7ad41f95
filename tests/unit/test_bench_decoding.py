"""What decoding costs on a model of a CPU: of one format here, of all by ``bench/decoding.py``."""

from __future__ import annotations

import statistics

import pytest
from decoding import machines
from innerloop.mca import VERSION, find_mca

from edgeconv.kernels.storage import formats
from edgeconv.target.backends import TARGETS


@pytest.mark.slow
def test_the_table_has_what_the_model_has() -> None:
    mca = find_mca()
    machine = next(machines(mca, "neon", "cortex-a57", "gcc"), None) if mca else None
    if machine is None:
        pytest.skip(f"llvm-mca of LLVM {VERSION} is not installed, or no GCC for AArch64")
    row = next(machine.rows())
    target = TARGETS["neon"]
    assert len(row.slots) == len(target.tiles)
    assert row.unit == "vector"
    assert row.table == target.decoding(formats()[row.storage].encoding).vector
    assert all(slots > 0 for slots in row.slots)
    assert statistics.median(row.slots) == pytest.approx(row.table, abs=0.25)

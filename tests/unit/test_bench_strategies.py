"""The table of strategies: what a file of measured times is read as."""

from __future__ import annotations

import pytest
from strategies import kind_of, known, measurements, strategy, table

from edgeconv.base.errors import EdgeconvError
from edgeconv.search.measured.store import Key, Row

POINTWISE = (
    "Conv 1x64x56x56 256x64x1x1 256 1x256x56x56 to 1x256x56x56 {'strides': (1, 1), 'groups': 1}"
)


def conv(channels: int, filters: str, output: str, stride: int, groups: int = 1) -> str:
    attributes = f"{{'strides': ({stride}, {stride}), 'pads': (0, 0, 0, 0), 'groups': {groups}}}"
    return (
        f"Conv 1x{channels}x32x32 {filters} {filters.partition('x')[0]} to 1x{output} {attributes}"
    )


def row(workload: str, candidate: str, ms: float, predicted: float, version: str = "v") -> Row:
    key = Key(f"{workload} {candidate}", "zen4: Zen 4", "board", "cc 12", version)
    return Row(key, 1e-3 * ms, 9, 1e-3 * predicted, workload, candidate)


@pytest.mark.parametrize(
    ("workload", "kind", "macs"),
    [
        (conv(3, "8x3x3x3", "8x16x16", 2), "first layer (up to 4 channels)", 8 * 27 * 256),
        (conv(16, "16x1x3x3", "16x30x30", 1, 16), "depthwise, stride 1", 16 * 9 * 900),
        (conv(16, "32x8x3x3", "32x30x30", 1, 2), "in groups", 32 * 72 * 900),
        (conv(16, "32x16x5x5", "32x14x14", 2), "other kernels, strided", 32 * 400 * 196),
        (POINTWISE, "1x1, larger", 64 * 256 * 56 * 56),
    ],
)
def test_a_workload_is_read_as_it_is_written(workload: str, kind: str, macs: int) -> None:
    assert kind_of(known(workload)) == kind
    assert known(workload).macs == macs


def test_the_fastest_layout_that_is_written_counts_and_prediction_is_held_to_it() -> None:
    rows = [
        row(POINTWISE, "direct NCHW16c/NCHW/NCHW/NCHW16c (mr 14)", 1.0, 0.9),
        row(POINTWISE, "direct NCHW16c/NCHW/NCHW/NHWC (mr 14)", 3.0, 0.5),
        row(POINTWISE, "direct NHWC/NCHW/NCHW/NHWC (mr 14)", 1.5, 0.8),
        row(POINTWISE, "sconv NCHW/NCHW/NCHW/NCHW (nc 3)", 0.5, 0.1, "of other kernels"),
        row("Pool 1x8x8x8 to 1x8x4x4 {'strides': (2, 2)}", "pool_lanes NHWC/NHWC", 1.0, 1.0),
    ]
    found = measurements(rows, "zen4")
    assert set(found) == {POINTWISE}
    assert {name: timed.seconds for name, timed in found[POINTWISE].items()} == {
        "direct NCHW16c": 1e-3,
        "direct NHWC": 1.5e-3,
    }
    head, _, line = table(found, peak=1e-9 * 2 * known(POINTWISE).macs / 2e-3)
    assert (
        head == "| convolutions | | direct NCHW16c | direct NHWC | of the peak | predicted first |"
    )
    cells = ["1x1, larger", "1", "1 of 1, 1.00", "0 of 1, 1.50", "200% (200% to 200%)"]
    assert line == f"| {' | '.join(cells)} | 1.50, at most 1.50 |"


def test_a_strategy_is_an_algorithm_and_the_layout_that_it_reads() -> None:
    assert strategy("winograd NCHW/NCHW/NCHW/NCHW16c (form F(4x4, 3x3))") == "winograd NCHW"


def test_a_board_that_was_not_measured_is_named() -> None:
    with pytest.raises(EdgeconvError, match="raspberry-pi-4"):
        measurements([row(POINTWISE, "direct NHWC/NHWC", 1.0, 1.0)], "raspberry-pi-4")

"""What programs print is read to its end, within bounds, and held to the form that it has."""

from __future__ import annotations

import subprocess
from time import monotonic

import pytest

from edgeconv.run.build import output, times
from edgeconv.run.build.output import PrintedTooMuchError, printed


def test_both_streams_and_the_status() -> None:
    done = printed(["sh", "-c", r"printf 'a\n\377'; echo b >&2; exit 3"])
    assert (done.status, done.stdout, done.stderr) == (3, "a\n\ufffd", "b\n")
    assert printed(["sh", "-c", "kill -9 $$"]).status == -9


def test_what_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that prints for ever; one that left another behind, which holds its streams."""
    monkeypatch.setattr(output, "_MOST_BYTES", 1 << 20)
    with pytest.raises(PrintedTooMuchError, match="printed more than 1 MiB"):
        printed(["yes"], timeout=60)
    begun = monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        printed(["sh", "-c", "sleep 60 & echo begun"], timeout=0.5)
    assert monotonic() - begun < 30


def test_times_among_other_lines() -> None:
    right = "layer 0 0.000000100\nlayer 1 0.000000200\nrun 0.000000400\n"
    assert times.of_runs(f"hello\n{right}{right}") == [4e-7, 4e-7]
    assert times.of_layers(right) == [[(0, 1e-7), (1, 2e-7)]]
    for line in (
        *("run .", "run 1.2.3", "run 0.0", f"run {'9' * 400}.000000000", "a run 0.000000100"),
        *(f"layer {'9' * 5000} 0.000000100", "layer 0 ..", "layer 0 1", "layer -1 0.000000100"),
    ):
        assert not times.of_runs(f"{line}\n")
        assert times.of_layers(f"{line}\nrun 0.000000400\n") == [[]]

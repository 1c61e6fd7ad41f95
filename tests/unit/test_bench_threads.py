"""The benchmark of threads: what is taken of its rounds, and the rates that cores have at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cores import Cores, Rates, rates
from threads import Round, best_of, given, ratio_lines

from edgeconv.base.errors import EdgeconvError
from edgeconv.target import board as boards

WHOLE, HALVES = Rates(100.0, (99.0, 98.0)), Rates(100.0, (50.0, 51.0))
DISTURBED = Rates(60.0, (60.0, 60.0))  # by somebody else, alone too


def round_of(several: float, before: Rates, after: Rates = WHOLE) -> Round:
    return Round(10.0, several, (9.0, several - 0.5), before, after)


def test_rates_are_medians_of_samples() -> None:
    printed = "alone 1\ntogether 4 5\nalone 3\ntogether 6 1\nalone 2\ntogether 5 3\n"
    assert rates(printed) == Rates(2.0, (5.0, 3.0))


def test_rounds_without_their_cores_do_not_count() -> None:
    rounds = [
        round_of(5.0, WHOLE),
        round_of(9.0, HALVES),
        round_of(8.0, WHOLE, HALVES),
        round_of(7.0, DISTURBED),
        round_of(5.5, WHOLE),
    ]
    assert best_of(rounds) == 100.0
    assert given(rounds, 0.95) == [rounds[0], rounds[4]]
    first, second = ratio_lines(rounds, 0.95)
    assert first.startswith("2 of 5 rounds gave 95% of the cores: medians 10.000 and 5.250 ms")
    assert second == "least 9.000 and 4.500 ms, 2.000"
    assert ratio_lines(rounds[1:3], 0.95) == ["0 of 2 rounds gave 95% of the cores"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_cores_do_something_and_there_are_not_more_than_there_are(tmp_path: Path) -> None:
    board = boards.load("host")
    allowed = len(os.sched_getaffinity(0))
    cores = Cores(board, min(2, allowed), tmp_path)
    for found in (cores.measure(), cores.reading(1 << 20)):
        assert found.alone > 0
        assert len(found.together) == min(2, allowed)
        assert min(found.together) > 0
    cores.threads = allowed + 1
    with pytest.raises(EdgeconvError, match=f"may use {allowed} cores"):
        cores.measure()

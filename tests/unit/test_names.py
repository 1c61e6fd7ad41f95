from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgeconv.names import did_you_mean, shortened


@given(st.text(), st.integers(20, 80))
def test_shortened(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short) <= most
    assert short == text or " ... " in short


def test_close_names_are_given_in_full() -> None:
    name = "block/" * 30 + "conv"
    assert did_you_mean(name[:-1], [name, "stem"]) == f"did you mean {name}?"


def test_far_names_list_all_that_are_known() -> None:
    assert did_you_mean("qqqq", ["b", "a"]) == "known: a, b"


def test_long_lists_are_cut() -> None:
    hint = did_you_mean("qqqq", [f"{'layer' * 40}{i}" for i in range(37)])
    assert hint.endswith(" and 27 more")
    assert len(hint) < 10 * 75 + 30

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgeconv.base.names import did_you_mean, path_ends, shortened, told_apart
from edgeconv.base.visible import visible


@given(st.text(), st.integers(20, 80))
def test_shortened(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short) <= most
    assert short == visible(text) or " ... " in short


@given(st.lists(st.text("ab/", max_size=60), unique=True), st.integers(20, 40))
def test_names_told_apart(names: list[str], most: int) -> None:
    told = told_apart(names, most)
    assert list(told) == names
    assert len(set(told.values())) == len(names)
    for name, short in told.items():
        assert len(short) <= max(most, len(name))


def test_what_tells_names_apart_is_shown() -> None:
    names = [
        f"/features/dense/block{i}/layer{j}/conv/Conv_output_0" for i in (3, 4) for j in (8, 19)
    ]
    assert len({shortened(name, 40) for name in names}) == 1
    told = told_apart([*names, "stem", "/classifier"], 40)
    assert told[names[0]] == ".../dense/block3/layer8/conv/Conv_out..."
    assert told["stem"] == "stem"
    assert max(map(len, told.values())) <= 40
    assert told_apart(names[:1], 40) == {names[0]: shortened(names[0], 40)}


def test_close_names_are_given_in_full() -> None:
    name = "block/" * 30 + "conv"
    assert did_you_mean(name[:-1], [name, "stem"]) == f"did you mean {name}?"


def test_far_names_list_all_that_are_known() -> None:
    assert did_you_mean("qqqq", ["b", "a"]) == "known: a, b"


def test_long_lists_are_cut() -> None:
    hint = did_you_mean("qqqq", [f"{'layer' * 40}{i}" for i in range(37)])
    assert hint.endswith(" and 27 more")
    assert len(hint) < 10 * 75 + 30


def test_last_parts_of_names_that_keras_joins() -> None:
    """Each is the end of its path that tells it from the others; short names stay whole."""
    joined = "model/act_{0}/Relu;model/norm_{0}/FusedBatchNormV3;model/conv2d_{0}/Conv2D"
    names = [joined.format(number) for number in range(3)]
    assert path_ends([*names, "conv"], 40) == {
        **{name: f"conv2d_{number}/Conv2D" for number, name in enumerate(names)},
        "conv": "conv",
    }
    alone = f"{'m' * 80}/Softmax"
    assert path_ends([alone], 40) == {alone: "Softmax"}
    same = [f"{letter * 80}/a/b" for letter in "xy"]
    found = path_ends(same, 40)
    assert len(set(found.values())) == 2, "where no end tells them apart"

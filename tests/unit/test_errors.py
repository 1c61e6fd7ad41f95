from __future__ import annotations

from edgeconv.base.errors import EdgeconvError, Exit


def test_one_line_names_every_part_in_order() -> None:
    error = EdgeconvError(
        "cannot import",
        where="node 'conv1'",
        got="3 groups",
        rule="groups divide the channels",
        hint="export again",
    )
    expected = "cannot import: node 'conv1': got 3 groups; groups divide the channels; export again"
    assert error.one_line() == expected
    assert str(error) == expected


def test_empty_parts_leave_no_punctuation() -> None:
    assert EdgeconvError("no compiler").one_line() == "no compiler"
    assert EdgeconvError("no compiler", hint="install gcc").one_line() == "no compiler: install gcc"
    assert EdgeconvError("not ONNX", where="m.txt").one_line() == "not ONNX: m.txt"


def test_exit_codes_are_the_documented_ones() -> None:
    assert [int(code) for code in Exit] == [0, 1, 2, 3]
    assert EdgeconvError("x").code is Exit.UNSATISFIED
    assert EdgeconvError("x", code=Exit.MISSING_TOOL).code == 3


def test_details_stay_out_of_the_line() -> None:
    error = EdgeconvError("unsupported operators", details=("Foo x 2", "Bar x 1"))
    assert error.details == ("Foo x 2", "Bar x 1")
    assert "\n" not in str(error)

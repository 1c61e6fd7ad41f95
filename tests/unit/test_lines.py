"""Long lines of emitted C."""

from __future__ import annotations

from edgeconv.codegen.lines import COLUMNS, broken, remarks

SHORT = "    f(a, b);"


def test_lines_that_fit_stay() -> None:
    assert broken(SHORT) == SHORT
    exact = f"    f({'a' * (COLUMNS - 8)});"
    assert len(exact) == COLUMNS
    assert broken(exact) == exact


def test_arguments_stand_side_by_side_behind_the_bracket() -> None:
    names = [letter * 20 for letter in "abcdef"]
    assert broken(f"    call({', '.join(names)});").split("\n") == [
        f"    call({', '.join(names[:4])},",
        f"         {', '.join(names[4:])});",
    ]


def test_arguments_that_do_not_fit_there_begin_four_columns_in() -> None:
    call = "f" * 60
    text = broken(f"    {call}({'a' * 40}, (const char *)g({'b' * 10}, {'c' * 10}));")
    assert text.split("\n") == [
        f"    {call}(",
        f"        {'a' * 40}, (const char *)g({'b' * 10}, {'c' * 10}));",
    ]


def test_conditions_are_broken_behind_their_operators() -> None:
    text = broken(f"    if (!{' || !'.join(letter * 40 for letter in 'abc')})")
    assert text == f"    if (!{'a' * 40} || !{'b' * 40} ||\n        !{'c' * 40})"


def test_what_is_no_call_or_declaration_stays() -> None:
    for text in (f"x = {'a' * COLUMNS};", f"static const t v = {{{'a, ' * COLUMNS}(b)}};"):
        assert broken(text) == text


def test_remarks() -> None:
    words = " ".join(["word"] * 30)
    text = remarks([words, "next"], 7)
    assert all(len(line) <= COLUMNS for line in text.split("\n"))
    assert text.endswith("\n       next")
    assert text.split() == [*words.split(), "next"]

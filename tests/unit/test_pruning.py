"""A program's runtime has what the program comes to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edgeconv.codegen.pruning import pruned
from edgeconv.kernels.headers import folders

HEADERS = [path for folder in folders() for path in sorted(folder.glob("*.h"))]

RUNTIME = """\
/*** Begin ec_one.h ***/
enum { EC_A, EC_B, EC_C, EC_D = EC_LAST };
#define EC_LAST 7
#define EC_MOST 8
#define EC_TWICE(x) (ec_add(x, x))
#define EC_ROW(row) ec_##row##_sum(1)
#define ec_s8_sum ec_f32_sum

/* About both. */
EC_INLINE int ec_add(int a, int b) { return a + b; }
EC_INLINE int ec_sub(int a, int b)
{
    return a - b;
}

/* By kind. */
EC_INLINE int ec_by_kind(int kind, int x)
{
    switch (kind) {
    case EC_B:
    case EC_C: return ec_first(x);
#ifdef EC_MORE
    case EC_D: {
        return ec_second(x);
    }
#endif
    default: return kind == EC_D ? 0 : x;
    }
}

#if defined(EC_X)
/* One of two. */
EC_INLINE int ec_first(int x) { return x; }
#else
EC_INLINE int ec_first(int x)
{
    return -x;
}
#endif

#ifdef EC_Y
EC_NEST int ec_second(int x) { return x; }
#endif

EC_SHARED int ec_f32_sum(int x) { return x; }

/* What two functions have in common. */
#define EC_LIKE_CASES(x)   \\
    case EC_A: return x;   \\
    case EC_D: return -x;
EC_INLINE int ec_like(int kind, int x)
{
    switch (kind) { EC_LIKE_CASES(x) }
    return 0;
}

/* What a few count. */
#define EC_FEW 4
#if defined(EC_Z)
#define EC_MANY 5
#else
#define EC_MANY 6
#endif
/*** End ec_one.h ***/

/*** Begin ec_two.h ***/
/* A header of one function. */
#ifndef EC_TWO_H
#define EC_TWO_H

/* By many. */
EC_INLINE int ec_more(int x) { return x < EC_MOST ? EC_MANY * x : 0; }

#endif
/*** End ec_two.h ***/
"""


def test_functions_that_nothing_calls_are_left_out_with_their_remarks() -> None:
    text = pruned(RUNTIME, "int f(void) { return ec_sub(1, 2); }")
    assert "ec_sub" in text
    assert "About both" in text
    assert "ec_add(int" not in text
    assert "By kind" not in text
    assert "_first" not in text
    assert "#if" not in text


def test_a_case_stays_if_its_enumerator_is_named() -> None:
    text = pruned(RUNTIME, "const int k = EC_C; int f(int x) { return ec_by_kind(k, x); }")
    assert "    case EC_C: return ec_first(x);\n" in text
    assert "case EC_B" not in text
    assert "case EC_D" not in text
    assert "ec_second" not in text
    assert text.count("ec_first(int x)") == 2  # of both branches


def test_of_labels_with_one_body_those_in_use_stay_with_it() -> None:
    text = pruned(RUNTIME, "int f(int x) { return ec_by_kind(EC_B, x); }")
    assert "    case EC_B: return ec_first(x);\n" in text
    assert "case EC_C" not in text


def test_cases_of_a_macro_stay_with_it() -> None:
    text = pruned(RUNTIME, "int f(int x) { return ec_like(EC_A, x); }")
    assert "    case EC_A: return x;   \\\n    case EC_D: return -x;\n" in text
    assert "LIKE_CASES" not in pruned(RUNTIME, "int f(void) { return ec_sub(1, 2); }")


def test_what_is_compared_with_an_enumerator_does_not_name_it() -> None:
    assert "ec_second" not in pruned(
        RUNTIME, "int f(int x) { return x == EC_D && ec_by_kind(x, x); }"
    )
    text = pruned(RUNTIME, "int f(int x) { return ec_by_kind(EC_D, x); } /* EC_B */")
    assert "        return ec_second(x);\n    }\n#endif\n    default" in text
    assert "EC_NEST int ec_second" in text
    assert "case EC_B" not in text


def test_macros_call_what_they_name_and_what_they_paste() -> None:
    assert "ec_add(int" in pruned(RUNTIME, "int f(void) { return EC_TWICE(1); }")
    text = pruned(RUNTIME, "int f(void) { return EC_ROW(f32); }")
    assert "ec_f32_sum(int" in text
    assert "#define ec_s8_sum" in text  # which it may paste, too
    assert "ec_f32_sum(int" not in pruned(RUNTIME, "int f(void) { return 1; }")


def test_macros_that_nothing_expands_are_left_out_with_their_remarks_and_branches() -> None:
    text = pruned(RUNTIME, "int f(void) { return ec_sub(1, 2); }")
    assert "EC_FEW" not in text
    assert "What a few count" not in text
    assert "EC_MANY" not in text
    assert "#if" not in text


def test_a_macro_that_a_function_in_use_expands_stays_in_every_branch() -> None:
    text = pruned(RUNTIME, "int f(void) { return ec_more(1); }")
    assert "#define EC_MANY 5\n#else\n#define EC_MANY 6\n" in text
    assert "EC_FEW" not in text
    assert "#define EC_MOST 8\n" in text
    assert "#define EC_LAST 7\n" in text  # of an enumeration


def test_of_a_header_without_anything_in_use_nothing_is_left() -> None:
    assert "ec_two.h" in pruned(RUNTIME, "int f(void) { return ec_more(1); }")
    text = pruned(RUNTIME, "int f(void) { return ec_sub(1, 2); }")
    assert "ec_one.h" in text
    assert "ec_two.h" not in text
    assert "EC_TWO_H" not in text


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.name)
def test_remarks_of_headers_do_not_lean_on_the_function_before(path: Path) -> None:
    """It may be left out."""
    leaning = r"^/\* (The same|Likewise|Ditto|As (above|before)|Those of)\b.*"
    assert re.findall(leaning, path.read_text(encoding="utf-8"), re.MULTILINE) == []

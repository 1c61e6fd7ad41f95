"""Strings and numbers as C."""

from __future__ import annotations

import math
import re
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.codegen.c_names import (
    MOST_NAME,
    c_comment,
    c_float,
    c_list,
    identifier,
    prefix,
    unique_identifiers,
)
from edgeconv.codegen.reserved_names import KEYWORDS


def as_float32(number: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_read_back_as_the_same_float32(number: float) -> None:
    text = c_float(number)
    assert re.fullmatch(r"-?\d[\d.]*(e[+-]\d+)?f", text), text
    assert as_float32(float(text[:-1])) == number
    assert math.copysign(1, float(text[:-1])) == math.copysign(1, number)


def test_infinities_are_constant_expressions() -> None:
    assert c_float(math.inf) == "(1.0f / 0.0f)"
    assert c_float(-math.inf) == "(-1.0f / 0.0f)"
    assert c_float(math.nan) == "(0.0f / 0.0f)"


def test_what_float32_does_not_hold_is_infinite() -> None:
    assert c_float(3.5e38) == c_float(1e300) == c_float(math.inf)
    assert c_float(-3.5e38) == c_float(-math.inf)


@given(st.text())
def test_identifiers_are_identifiers(name: str) -> None:
    text = identifier(name)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", text)
    assert text not in KEYWORDS
    assert len(text) <= MOST_NAME + 2


def test_long_names_keep_their_end() -> None:
    text = identifier(
        "model/activation/Relu;model/batch_norm/FusedBatchNormV3;model/conv2d_9/Conv2D"
    )
    assert text.endswith("conv2d_9_conv2d")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Größe", "grosse"),
        ("entrée:0", "entree_0"),
        ("画像", "u753b_u50cf"),
        ("βeta", "u3b2_eta"),
        ("x²", "x2"),
        ("459", "n459"),
    ],
)
def test_names_that_c_cannot_take_stay_recognisable(name: str, found: str) -> None:
    assert identifier(name) == found


@given(st.lists(st.text(max_size=60), unique=True))
def test_unique_identifiers_differ(names: list[str]) -> None:
    found = unique_identifiers(names)
    assert list(found) == names
    assert len(set(found.values())) == len(names)


@given(st.text())
def test_comments_cannot_end_themselves(text: str) -> None:
    comment = c_comment(text)
    assert "*/" not in comment
    assert "/*" not in comment
    assert comment.isascii()
    assert "\n" not in comment


def test_comments_keep_letters_that_ascii_lacks() -> None:
    assert c_comment("画像 \n\U0001f642") == "\\u753b\\u50cf ?\\U0001f642"


def test_lists_wrap() -> None:
    text = c_list(tuple(range(200)))
    assert max(map(len, text.splitlines())) <= 100
    numbers = [int(n) for n in text.strip("{}").replace("\n", " ").split(",")]
    assert numbers == list(np.arange(200))


@pytest.mark.parametrize("name", ["startup", "Firmware", "main", "app"])
def test_a_prefix_is_no_file_of_every_project(name: str) -> None:
    assert prefix(name) == f"{name.lower()}_"
    assert prefix(f"{name} 2") == f"{name.lower()}_2"

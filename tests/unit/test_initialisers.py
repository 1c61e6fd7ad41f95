"""Constants of kernel calls as C."""

from __future__ import annotations

from edgeconv.codegen.initialisers import EpilogueInC, Numbers, dims, nest, struct
from edgeconv.ir.activation import Activation
from edgeconv.ir.choice import KernelEpilogue, Number, Whole

CLIP = KernelEpilogue(before=Activation("clip", -0.5, 6.0), residual=True)


def test_members_are_named_and_zeros_left_out() -> None:
    text = struct({"a": 0, "b": 3, "as": "EC_F32"}, dims("stride", (1, 2, 0)), {"steps": (0, 0)})
    assert text == "{\n    .b = 3,\n    .stride_d = 1, .stride_h = 2\n}"


def test_one_row_stays_on_one_line_and_none_is_still_an_initialiser() -> None:
    assert struct({"outer": nest((2, 3))}) == "{.outer = {.dims = 2, .size = {2, 3}}}"
    assert struct({"in_as": "EC_F32"}, {"scale": 0.0}) == "{0}"


def test_negative_zero_is_said() -> None:
    assert struct({"value": -0.0}) == "{.value = -0.0f}"


def test_a_long_row_breaks_between_members() -> None:
    text = struct({f"member_{i}": 1.5 + i for i in range(12)})
    lines = text.removeprefix("{\n").removesuffix("\n}").splitlines()
    assert len(lines) > 1
    assert all(line.startswith("    .member_") and len(line) < 100 for line in lines)
    assert [line.endswith("f,") for line in lines] == [True] * (len(lines) - 1) + [False]


def test_an_epilogue_is_a_constant_where_its_numbers_are_literals() -> None:
    got = Numbers(gathered=False).in_c("epilogue", CLIP)
    assert isinstance(got, EpilogueInC)
    assert got.source == "residual"
    assert got.declaration == (
        "static const ec_epilogue epilogue = {.before = EC_ACT_CLIP, .before_alpha = -0.5f, "
        ".before_beta = 6.0f, .has_residual = 1};"
    )


def test_gathered_numbers_are_parameters_but_zero() -> None:
    numbers = Numbers(gathered=True)
    assert numbers.in_c("scale", Number(0.25)) == "scale"
    assert numbers.in_c("zero", Number(0.0)) == "0.0f"
    got = numbers.in_c("epilogue", CLIP)
    assert isinstance(got, EpilogueInC)
    assert got.declaration.startswith("const ec_epilogue epilogue = {")
    assert ".before_alpha = before_alpha, .before_beta = before_beta," in got.declaration
    assert numbers.declared == ["float scale", "float before_alpha", "float before_beta"]
    assert numbers.passed == {"scale": "0.25f", "before_alpha": "-0.5f", "before_beta": "6.0f"}


def test_whole_numbers_are_gathered_too_but_zero() -> None:
    numbers = Numbers(gathered=True)
    assert numbers.in_c("offset", Whole(-7)) == "offset"
    assert numbers.in_c("start", Whole(0)) == 0
    assert (numbers.passed, numbers.declared) == ({"offset": "-7"}, ["int offset"])
    assert numbers.in_c("right", 3) == 3
    assert Numbers(gathered=False).in_c("offset", Whole(-7)) == -7
    assert repr(Whole(-7)) == "-7"  # in hashes of weight images and keys of measured times

"""Which cases are tried where layouts take turns."""

from __future__ import annotations

from edgeconv.target.backends import TARGETS
from tests.kernels import by_turns
from tests.kernels.test_conv import conv

AVX2 = TARGETS["avx2"]


def test_every_third_operation_and_every_layout_is_tried() -> None:
    specs = [conv((1, 9, 3, n), 16, (3, 3), (1, 1, 1, 1), residual=True) for n in (4, 5, 6, 7)]
    cases = [case for spec in specs for case in spec.cases(AVX2)]
    some = by_turns.taken(cases)
    tried = {id(case.expected) for case in some}
    assert {id(case.expected) for case in (cases[0], cases[-1])} <= tried
    assert {by_turns._way(case) for case in some} == {by_turns._way(case) for case in cases}
    assert len(some) <= len(cases) / 3
    assert len({id(case) for case in some}) == len(some)


def test_an_operation_with_one_layout_is_tried() -> None:
    case = conv((1, 9, 3, 4), 16, (3, 3)).cases(AVX2)[0]
    assert by_turns.taken([case]) == [case]

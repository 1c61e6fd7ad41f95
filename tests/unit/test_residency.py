"""Ages of operands: as found by walking back byte by byte, and quickly in a long network."""

from __future__ import annotations

import time
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from edgeconv.ir.choice import ArgKind
from edgeconv.search.predict.residency import _History, _Operand, _Step
from edgeconv.target.price.operands import Touched

ARENA = 40
REGIONS = ("arena 0", "input 0")


@st.composite
def operands(draw: st.DrawFn) -> _Operand:
    cuts = draw(st.lists(st.integers(0, ARENA), min_size=2, max_size=4, unique=True).map(sorted))
    spans = tuple(zip(cuts[::2], cuts[1::2], strict=False))
    kind = draw(st.sampled_from((ArgKind.INPUT, ArgKind.OUTPUT, ArgKind.WORKSPACE)))
    return _Operand(kind, "t", draw(st.sampled_from(REGIONS)), None, spans)


STEPS = st.lists(
    st.builds(_Step, st.lists(operands(), max_size=3).map(tuple), st.integers(0, 9)), max_size=8
)


def _bytes(operand: _Operand) -> set[tuple[str, int]]:
    return {(operand.region, at) for begin, end in operand.spans for at in range(begin, end)}


def ages(
    steps: list[_Step], number: int, operand: _Operand, during: list[float]
) -> tuple[Touched, ...]:
    """Byte by byte, back in time through the run before; ``during`` each step others bring so many
    bytes into the last cache."""
    met: Counter[int] = Counter()
    for byte in _bytes(operand):
        backs = range(1, len(steps) + 1)
        touched = (b for b in backs if any(byte in _bytes(o) for o in steps[number - b].operands))
        met[next(touched)] += 1
    found = []
    for back in sorted(met):
        between = [steps[number - nearer] for nearer in range(1, back)]
        last = steps[number - back]
        shared = sum(step.shared for step in between) + last.shared / 2
        weights = sum(step.weights for step in between) + last.weights / 2
        others = sum(during[number - nearer] for nearer in range(1, back))
        others += (during[number - back] + during[number]) / 2
        found.append(Touched(met[back], weights + min(ARENA, shared), others))
    return tuple(found)


@given(STEPS, st.data())
def test_ages_are_those_of_a_walk_back(steps: list[_Step], data: st.DataObject) -> None:
    count = len(steps)
    some = st.lists(st.integers(0, 64).map(float), min_size=count, max_size=count)
    during = data.draw(st.just([]) | some)
    for number, uses in enumerate(_History(steps, ARENA, during).uses()):
        tensors = [use for use in uses if use.kind is not ArgKind.WEIGHTS]
        for operand, use in zip(steps[number].operands, tensors, strict=True):
            assert use.ages == ages(steps, number, operand, during or [0.0] * count)
        for use in uses:
            if use.kind is ArgKind.WEIGHTS:
                assert [age.others for age in use.ages] == [sum(during)]


def test_a_wide_network_takes_no_longer_per_step() -> None:
    """Every tensor is read thousands of steps after it was made: a walk back took minutes."""
    spans = [((i, i + 1),) for i in range(4000)]
    made = [_Operand(ArgKind.OUTPUT, "t", REGIONS[0], None, span) for span in spans]
    steps = [_Step((operand,), 0) for operand in (*made, *made[::-1])]
    start = time.process_time()
    assert len(list(_History(steps, len(made)).uses())) == len(steps)
    assert time.process_time() - start < 2  # 0.1 alone on a machine

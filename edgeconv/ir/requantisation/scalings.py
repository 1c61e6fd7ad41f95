"""Which constants of a channel the kernels of a program read, the same of all its layers.

A scaling is what its headers are called by (``codegen.amalgamate``): kernels are compiled for one.
Every form can be put into the words of a scaling that has as many or more of the same kind.
That of `Fixed` whose results are all shifted by as much is one for every such number, `shifted`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from edgeconv.ir.requantisation.arithmetic import Form
from edgeconv.ir.requantisation.double_rounding import Twice
from edgeconv.ir.requantisation.forms import Fixed
from edgeconv.ir.requantisation.per_channel import PerChannel

FIXED, OFFSETS, TIES, TWICE = "fixed", "offsets", "ties", "twice"
# Words of a channel, from the fewest on where one has all of those before.
WORDS: Mapping[str, int] = {FIXED: 2, OFFSETS: 3, TIES: 4, TWICE: 3}
_EXACT = (FIXED, OFFSETS, TIES)
OWN_SHIFT = "fixed, with a shift of its own"  # of a layer where others are `shifted` alike
_SHIFTED = f"{FIXED}, shifted by "


def shifted(right: int) -> str:
    """The scaling of sums all of whose words are shifted by ``right`` bits."""
    return f"{_SHIFTED}{right}"


def right_of(scaling: str) -> int:
    """The bits that words of all sums are shifted by; 0 where each layer has its own."""
    return int(scaling.removeprefix(_SHIFTED)) if scaling.startswith(_SHIFTED) else 0


def kind_of(scaling: str) -> str:
    """``scaling`` as one that leaves shifts to layers."""
    return FIXED if right_of(scaling) else scaling


def words_of(scaling: str) -> int:
    """How many words of a channel kernels read."""
    return WORDS[kind_of(scaling)]


def scaling_for(forms: Iterable[Form]) -> str:
    """The one with the fewest words that has all of ``forms``."""
    return widest(_needed(form) for form in forms) or FIXED


def widest(scalings: Iterable[str]) -> str:
    """The one of ``scalings`` that has the words of all; "" of none."""
    known = set(scalings)
    if len(known) == 1:
        return known.pop()
    kinds = {kind_of(each) for each in known}
    return TWICE if TWICE in kinds else max(kinds, key=_EXACT.index, default="")


def scaled_as(form: Form, scaling: str) -> Form:
    """``form`` with the words of ``scaling``."""
    if kind_of(scaling) in (FIXED, TWICE):
        return form
    if isinstance(form, Fixed):
        return PerChannel.of_fixed(form, with_ties=scaling == TIES)
    assert isinstance(form, PerChannel)
    return form.told(with_ties=scaling == TIES)


def _needed(form: Form) -> str:
    if isinstance(form, Twice):
        return TWICE
    if isinstance(form, PerChannel):
        return TIES if form.with_ties else OFFSETS
    return FIXED

"""Which constants of a channel the kernels of a program read, the same of all its layers.

A scaling is what its headers are called by (``codegen.amalgamate``): kernels are compiled for one.
Every form can be put into the words of a scaling that has as many or more of the same kind.
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


def scaling_for(forms: Iterable[Form]) -> str:
    """The one with the fewest words that has all of ``forms``."""
    return widest(_needed(form) for form in forms) or FIXED


def widest(scalings: Iterable[str]) -> str:
    """The one of ``scalings`` that has the words of all; "" of none."""
    known = set(scalings)
    return TWICE if TWICE in known else max(known, key=_EXACT.index, default="")


def scaled_as(form: Form, scaling: str) -> Form:
    """``form`` with the words of ``scaling``."""
    if scaling in (FIXED, TWICE):
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

"""A second opinion, where the program and the reference differ: the model in float64.

Both compute in float32, and either may be the one that is off: an approximation of a function whose
values are small, a conversion that an optimiser dropped, sums whose rounding the network enlarges.
Of each output three distances tell these apart, as the largest over its elements,

    program - reference,    program - float64,    reference - float64,

the first two in parts of the output's largest magnitude, held to the tolerance.  Where neither is
within it, rounding has been enlarged or there is a defect.  What float32 can do at best is measured
then: by the reference, and by onnx's evaluator with the types that the model states, of which the
nearer to float64 counts, since the other one may be off for another reason.  A right program's
distance from float64 is of the same order.

An engine that is off by more than any rounding reads the model otherwise than onnx's evaluator
does, and which of them is right no number tells: then the reference is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import FLOAT32, FLOAT64, element_type
from edgeconv.model.frontend import AS_WRITTEN, IN_FLOAT64, ReferenceRun
from edgeconv.run.build.project import Port
from edgeconv.run.verify.compare import Difference, compare
from edgeconv.run.verify.data_dependent import filled
from edgeconv.run.verify.detections import in_order_of

Values = npt.NDArray[Any]
SAME_ORDER = 10  # times the reference's error: the largest of a right program
# Of the largest magnitude that is computed: what a result's roundings to bfloat16, the widest steps
# there are, make of it, 2^-9 each.  Two readings of a model are mostly farther apart.
_ROUNDINGS = 1e-2


@dataclass(frozen=True, slots=True)
class Opinion:
    """The second opinion on outputs.  ``engine``: what computed in float64; "" where nothing did,
    and ``absent`` says why.  ``program``, ``reference``: by name the distances of the program's
    outputs and of the reference's from it; ``written``: those of onnx's evaluator with the model's
    own types.  ``largest``: the largest magnitude of all that float64 has computed, inputs
    included."""

    engine: str = ""
    absent: str = ""
    program: Mapping[str, Difference] = field(default_factory=dict)
    reference: Mapping[str, Difference] = field(default_factory=dict)
    written: Mapping[str, Difference] = field(default_factory=dict)
    largest: float = 0.0

    def agrees(self, name: str, tolerance: float) -> bool:
        """Whether an output of the program is what float64 makes of it, and the reference is off by
        rounding."""
        return self.near(name, tolerance) and not self.reads_otherwise(name)

    def near(self, name: str, tolerance: float) -> bool:
        """Whether an output of the program is what float64 makes of it."""
        return name in self.program and self.program[name].within(tolerance)

    def reads_otherwise(self, name: str) -> bool:
        """Whether the reference is off by more than rounding explains."""
        written = [self.written[name]] if name in self.written else []
        return not is_rounding(self.reference[name], self.largest, written)

    def same_order(self, name: str) -> bool:
        """Whether the program's output is as near to float64 as float32 is known to come."""
        measured = [each[name] for each in (self.reference, self.written) if name in each]
        return name in self.program and same_order(self.program[name], measured)


def second_opinion(
    ask: Callable[[str], ReferenceRun],
    feeds: Mapping[str, Values],
    got: Mapping[str, Values],
    reference: Mapping[str, Values],
    outputs: Sequence[Port],
    tolerance: float,
) -> tuple[Opinion, dict[str, Values]]:
    """What float64 says of the program's outputs and of the ``reference``'s, and all its values.

    ``ask``: has an engine of `model.frontend.reference_outputs` run the model on ``feeds``.
    """
    try:
        found = ask(IN_FLOAT64)
    except EdgeconvError as error:
        return Opinion(absent=error.got), {}
    values = dict(found.values)
    mine, theirs = (distances(each, values, outputs, tolerance) for each in (got, reference))
    largest = largest_of((*feeds.values(), *values.values()))
    opinion = Opinion(found.engine, "", mine, theirs, largest=largest)
    with suppress(EdgeconvError):
        written = filled(ask(AS_WRITTEN).values, outputs)
        return replace(opinion, written=distances(written, values, outputs, tolerance)), values
    return opinion, values


def largest_of(values: Iterable[Values]) -> float:
    """The largest finite magnitude among floats."""
    floats = (each[np.isfinite(each)] for each in values if each.dtype.kind == "f")
    return max((float(np.abs(each).max(initial=0)) for each in floats), default=0.0)


def is_rounding(theirs: Difference, largest: float, written: Sequence[Difference]) -> bool:
    """Whether rounding explains how far a reference is from float64: small beside what is computed
    on the way there, ``largest``, or of the order of what another float32 result, the evaluator's
    as the model is ``written``, is off by."""
    small = theirs.max_abs <= _ROUNDINGS * largest and not theirs.whole
    return small or (bool(written) and same_order(theirs, written))


def same_order(mine: Difference, measured: Sequence[Difference]) -> bool:
    """Whether a distance from float64 is of the order of the smallest of those that were
    ``measured`` of other float32 results; of finite ones, and no integers."""
    least = min((each.max_abs for each in measured), default=0.0)
    finite = mine.max_abs < math.inf and least < math.inf
    return finite and not mine.whole and mine.max_abs <= SAME_ORDER * least


def distances(
    values: Mapping[str, Values],
    from_values: Mapping[str, Values],
    outputs: Sequence[Port],
    tolerance: float,
) -> dict[str, Difference]:
    """By name those of the outputs in ``values`` from what float64 makes of them."""
    wanted = stated(filled(from_values, outputs), outputs)
    named = [port.name for port in outputs if port.name in wanted and port.name in values]
    some = {**wanted, **{name: values[name] for name in named}}
    mine, _ = in_order_of(wanted, some, outputs, tolerance)
    return {name: compare(name, mine[name], wanted[name]) for name in named}


def stated(values: Mapping[str, Values], outputs: Sequence[Port]) -> dict[str, Values]:
    """``values`` of float64, those of outputs narrower than float32 rounded to what they are."""
    found = dict(values)
    for port in outputs:
        real = element_type(port.dtype).is_real and port.dtype not in (FLOAT32, FLOAT64)
        if real and port.name in found:
            found[port.name] = found[port.name].astype(array_type(port.dtype))
    return found

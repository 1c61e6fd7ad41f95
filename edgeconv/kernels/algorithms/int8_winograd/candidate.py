"""The candidates of a Winograd convolution in integers: plans of `winograd`, on pairs of int16."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.int8_packed.candidate import requantise_slots
from edgeconv.kernels.algorithms.int8_winograd.forms import FORMS, fits, shift_of
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.winograd.candidate import WinogradCandidate, candidate_of
from edgeconv.kernels.algorithms.winograd.plan import each_group, make_plans
from edgeconv.target.micro_kernel import MicroKernel
from edgeconv.target.targets import Target


def candidates(problem: ConvProblem, target: Target) -> tuple[WinogradCandidate, ...]:
    """The cheapest plan, in a form that is exact for this layer, and others of less workspace."""
    kernels, forms = _rows(target), _forms(problem)
    if not kernels or not forms or not target.workspaces:
        return ()
    words = in_words(problem, kernels[0], forms)
    finishing = requantise_slots(problem, target)
    found = []
    for plan in make_plans(each_group(words), target, kernels=kernels):
        made = candidate_of(words, plan, target)
        work = replace(made.work, slots=plan.slots + finishing, decoding=finishing)
        whole = replace(made, algorithm="int8_winograd", compute=INTEGERS, problem=problem)
        found.append(replace(whole, work=work))
    return tuple(found)


def in_words(
    problem: ConvProblem, kernel: MicroKernel, forms: tuple[Nested, ...] = ()
) -> ConvProblem:
    """``problem`` with words of channels, as ``kernel`` takes them at once, in place of channels;
    in these forms."""
    words = problem.groups * -(-problem.group_in_c // kernel.k)
    return replace(problem, in_c=words, winograd_forms=forms)


def _rows(target: Target) -> tuple[MicroKernel, ...]:
    """The rows of int16, for any number of channels: pairs, each of them."""
    rows = (row for row in target.micro_kernels if row.any_int16)
    return tuple(row for row in rows if row.k_multiple == 1)


def _forms(problem: ConvProblem) -> tuple[Nested, ...]:
    """The forms of its kernel whose results fit 32 bits; none where the layer is not one of whole
    numbers, or there is nothing to sum."""
    depth, *window = problem.kernel
    whole = problem.whole_sums and problem.in_ring == problem.out_ring == 0
    whole = whole and not problem.asymmetric
    flat = depth == 1 and problem.in_size[0] == problem.out_size[0] == 1
    still = problem.strides[1:] == problem.dilations[1:] == (1, 1)
    if not (whole and flat and still and problem.group_in_c > 1):
        return ()
    return tuple(
        form
        for form in FORMS
        if [form.down.taps, form.across.taps] == window
        and fits(form)
        and shift_of(form) <= problem.sum_facts.spare_bits
    )

"""Lower bounds on the words that a convolution moves: Theorems 2.1, 2.2 and 2.3.

The model of Section 2.1: a fast memory of M words in front of a slow one of any size, or P
processors with M words each.  An update ``output += input * filter`` happens in fast memory; the
updates come in any order; a sum that is put aside is stored and loaded again.  M is all that is
near, registers included.  Bias and residual are left out.

The proofs cut an execution into segments of T words moved.  The elements that a segment accesses
take at most M + T words, and the Hoelder-Brascamp-Lieb inequalities turn that into a limit on its
updates.  What the statements of the theorems leave open, and how it is settled here:

* **Outputs that begin as zeros** in fast memory are not loaded, so that a segment may access more
  than M + T.  Charge every output for one load when it is created, and count loads only: the
  charge is no more than the stores of finished outputs, which are not counted.  Both memory
  dependent terms therefore hold as they stand.
* **Padding.** Updates on padding can be skipped.  The inequalities hold for any set of updates:
  G counts those on input elements.  Likewise the first term counts the elements touched.
* **Groups.** The group is one more loop, which indexes all three arrays.  It adds the constraints
  1 <= s_I + s_F + s_O, which the exponents (they sum to 2 and to 3/2) satisfy.  So the terms hold
  with the updates of all groups and one M.
* **Dilation.** The input index s o + d t is as good a homomorphism as s o + t: its kernel has the
  same rank and meets the others in zero, so that the second term is unchanged.
* **Stride and filter split.** The third term holds the tap's quotient q fixed.  Taps t and t' can
  be told apart by q alone when s divides d (t - t'); this makes residue classes r of n_r taps, on
  disjoint input.  Within a segment the proof's sum over q of (u v w)^(1/2) then becomes one over q
  and r, and by Cauchy-Schwarz the updates of class r divided by n_r^(1/2) add up to no more than
  (u v w)^(1/2).  The term thus counts updates weighted with n_r^(-1/2).  Where s divides w_F that
  is the paper's (s / w_F)^(1/2) G; where it does not, the paper's factor is too large (a 1x1
  filter with stride 2 is a matrix product, and s / w_F would double its bound).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeconv.base.errors import EdgeconvError
from edgeconv.target.bounds.shape import ConvShape, Precision

COMPULSORY = "compulsory"
LARGE_FILTER = "large filter"
SMALL_FILTER = "small filter"
LARGE_FILTER_ANY_MEMORY = "large filter, any memory"
SMALL_FILTER_ANY_MEMORY = "small filter, any memory"


@dataclass(frozen=True, slots=True)
class Term:
    """One of the bounds whose maximum holds; without effect when negative."""

    name: str
    words: float


@dataclass(frozen=True, slots=True)
class Bound:
    """The words that have to move, and the terms that say so."""

    terms: tuple[Term, ...]

    @property
    def binding(self) -> Term:
        """The largest term, the first of equal ones."""
        return max(self.terms, key=lambda term: term.words)

    @property
    def words(self) -> float:
        """The bound."""
        return max(0.0, self.binding.words)


def sequential_bound(shape: ConvShape, precision: Precision, memory_words: float) -> Bound:
    """Words between a fast memory of ``memory_words`` and the slow one (Theorem 2.1).

    Raises EdgeconvError unless ``memory_words`` is positive.
    """
    compulsory = (
        precision.input * shape.input_touched
        + precision.filter * shape.filter_touched
        + precision.output * shape.output_elements
    )
    return Bound((Term(COMPULSORY, compulsory), *_by_memory(shape, precision, memory_words, 1)))


def parallel_bounds(
    shape: ConvShape, precision: Precision, memory_words: float, processors: int
) -> Bound:
    """Words that some one of ``processors`` sends and receives, each with ``memory_words``.

    The terms of Theorem 2.2 hold for processors that write their results to a memory they share.
    Those of Theorem 2.3 ("any memory") hold for arrays that begin and end in the memories in
    equal shares.  The last one keeps the Cauchy-Schwarz step of Lemma 3.4, which makes it
    ((s / w)^(1/2) G / P)^(2/3) where the paper prints the smaller (s G / (w P))^(2/3).

    Raises EdgeconvError unless ``memory_words`` and ``processors`` are positive.
    """
    if processors < 1:
        raise EdgeconvError(
            "invalid number of processors", got=str(processors), rule="there is at least one"
        )
    largest_array = max(
        precision.input * shape.input_elements,
        precision.filter * shape.filter_touched,
        precision.output * shape.output_elements,
    )
    scale = precision.product ** (1 / 3)
    large = scale * math.sqrt(shape.updates / processors)
    small = scale * (shape.weighted_updates / processors) ** (2 / 3)
    share = largest_array / processors
    return Bound(
        (
            *_by_memory(shape, precision, memory_words, processors),
            Term(LARGE_FILTER_ANY_MEMORY, large - share),
            Term(SMALL_FILTER_ANY_MEMORY, small - share),
        )
    )


def _by_memory(
    shape: ConvShape, precision: Precision, memory_words: float, processors: int
) -> tuple[Term, Term]:
    """The two terms that fall with the size of the memory, for a share of the updates."""
    if memory_words <= 0:
        raise EdgeconvError(
            "invalid fast memory", got=f"{memory_words} words", rule="its size is positive"
        )
    large = precision.triangle * shape.updates / (processors * memory_words)
    small = math.sqrt(precision.product / memory_words) * shape.weighted_updates / processors
    return (
        Term(LARGE_FILTER, large - memory_words),
        Term(SMALL_FILTER, 2 * small - 2 * memory_words),
    )

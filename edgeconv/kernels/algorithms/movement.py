"""A convolution as the bounds on data movement see it, and the memory that is near on a target."""

from __future__ import annotations

from functools import lru_cache

from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.bounds import Blocking, ConvShape, Precision, lp_blocking, refined_blocking
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target

WORD_BYTES = 4


def conv_shape(problem: ConvProblem) -> ConvShape:
    """The loops of ``problem``; layouts do not matter."""
    return ConvShape.of(
        batch=problem.batch,
        in_c=problem.in_c,
        out_c=problem.out_c,
        in_size=problem.in_size,
        out_size=problem.out_size,
        kernel=problem.kernel,
        strides=problem.strides,
        dilations=problem.dilations,
        pads=problem.pads,
        groups=problem.groups,
    )


def fast_words(target: Target, cache: Cache) -> int:
    """Words in front of what lies behind ``cache``: in it, in nearer caches, in registers."""
    near = sum(other.size for other in target.caches if other.level <= cache.level)
    return near // WORD_BYTES + target.registers * target.lanes


@lru_cache(maxsize=4096)
def best_blocking(shape: ConvShape, precision: Precision, memory_words: float) -> Blocking:
    """The linear program's blocking, refined.  Raises EdgeconvError as `lp_blocking` does."""
    blocking = lp_blocking(shape, precision, memory_words)
    return refined_blocking(blocking, shape, precision, memory_words)

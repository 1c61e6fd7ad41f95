"""How few words any order of a convolution's updates can move, and a blocking that comes close.

Pure analysis after Chen, Demmel, Dinh, Haberle, Holtz, "Communication Bounds for Convolutional
Neural Networks", PASC 2022.  A word is 32 bit.
"""

from edgeconv.target.bounds.blocking import Blocking, Moved, footprint, words_moved
from edgeconv.target.bounds.linear_program import lp_blocking
from edgeconv.target.bounds.local_search import refined_blocking
from edgeconv.target.bounds.lower_bound import Bound, Term, parallel_bounds, sequential_bound
from edgeconv.target.bounds.patches import AxisBlock
from edgeconv.target.bounds.shape import Axis, ConvShape, Precision

__all__ = [
    "Axis",
    "AxisBlock",
    "Blocking",
    "Bound",
    "ConvShape",
    "Moved",
    "Precision",
    "Term",
    "footprint",
    "lp_blocking",
    "parallel_bounds",
    "refined_blocking",
    "sequential_bound",
    "words_moved",
]

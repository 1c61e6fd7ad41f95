"""From a model to every decision about it: kernels, memory and, where needed, storage formats."""

from edgeconv.deciding.decider import Decider, decide
from edgeconv.deciding.planning import Decided

__all__ = ["Decided", "Decider", "decide"]

"""From a model to every decision about it: kernels, memory and, where needed, storage formats."""

from edgeconv.app.deciding.decider import Decider, decide
from edgeconv.app.deciding.planning import Decided

__all__ = ["Decided", "Decider", "decide"]

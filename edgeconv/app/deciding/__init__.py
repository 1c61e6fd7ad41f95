"""From a model to every decision about it: kernels, memory and, where needed, storage formats."""

from edgeconv.app.deciding.decider import Decider, decide
from edgeconv.app.deciding.planning import Decision

__all__ = ["Decider", "Decision", "decide"]

"""The memory planner: order of execution, sharing of bytes, and one static arena to the byte."""

from edgeconv.memory.plan import plan

__all__ = ["plan"]

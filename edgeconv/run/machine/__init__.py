"""A board file for the running machine: what the kernel tells of it, and what programs measure."""

from edgeconv.run.machine.new import NewBoard, new_board

__all__ = ["NewBoard", "new_board"]

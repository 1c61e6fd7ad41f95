"""The memory planner: order of execution, sharing of bytes, and a static arena to the byte."""

from edgeconv.memory.addressable import check_objects, check_tensors
from edgeconv.memory.banks import Bank
from edgeconv.memory.fit import fit
from edgeconv.memory.plan import plan
from edgeconv.memory.room import room_for_workspaces

__all__ = ["Bank", "check_objects", "check_tensors", "fit", "plan", "room_for_workspaces"]

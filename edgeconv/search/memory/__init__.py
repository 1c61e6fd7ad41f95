"""The memory planner: order of execution, sharing of bytes, and a static arena to the byte."""

from edgeconv.search.memory.addressable import check_objects, check_tensors
from edgeconv.search.memory.banks import Bank
from edgeconv.search.memory.fit import fit
from edgeconv.search.memory.plan import plan
from edgeconv.search.memory.workspace_limits import room_for_workspaces

__all__ = ["Bank", "check_objects", "check_tensors", "fit", "plan", "room_for_workspaces"]

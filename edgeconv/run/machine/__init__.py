"""A board file for the running machine: what the kernel tells of it, and what programs measure; and
for a microcontroller, of what a CMSIS-Pack says."""

from edgeconv.run.machine.new import NewBoard, new_board
from edgeconv.run.machine.pack_board import board_of_device

__all__ = ["NewBoard", "board_of_device", "new_board"]

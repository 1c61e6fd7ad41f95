"""Where the parts of a firmware image lie on a sibling: a board that an emulator boots, whose core
runs the machine code of this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from edgeconv.ir.link import LinkPlan
from edgeconv.search.memory.link import unusable
from edgeconv.target.board import Board, Memory

# What is kept beside what is known before the program is built: code and constants; variables, and
# a stack that is deeper than the board's file says.
CODE_BYTES, DATA_BYTES = 256 << 10, 16 << 10
_ALIGN = 1024


def sibling_plan(plan: LinkPlan, needs: Mapping[str, int], sibling: Board) -> LinkPlan | None:
    """``plan`` with its regions at addresses of ``sibling``, and what starts that board; None where
    they find no room there.

    ``needs``: bytes by region of the plan, of weights, arena, inputs and outputs.  A region is no
    larger than on the board itself, so that what does not fit there does not fit here.
    """
    if sibling.firmware is None:
        return None
    free = {
        True: [_Free(region) for region in sibling.flash],
        False: [_Free(region) for region in sibling.ram],
    }
    code = next(section for section in plan.regions if section.name == plan.code)
    used = {*plan.weights.values(), plan.data, plan.io, *plan.banks.values()}
    others = [each for each in plan.regions if each.name in used and each is not code]
    placed = []
    for section in (code, *others):
        beside = CODE_BYTES if section is code else DATA_BYTES if section.name == plan.data else 0
        wanted = min(section.size, needs.get(section.name, 0) + beside + _ALIGN)
        rooms = free[section.is_flash]
        at = next((room.take(wanted) for room in rooms if wanted <= room.left), None)
        if at is None:
            return None
        placed.append(replace(section, base=at, size=wanted))
    firmware = sibling.firmware
    return replace(
        plan,
        regions=tuple(placed),
        interrupts=firmware.interrupts,
        setup=tuple((s.register, s.address, s.bits) for s in firmware.setup),
        clock_hz=sibling.clock_hz,
        offset=0,
        fixed=(),
    )


class _Free:
    """What is left of a region."""

    def __init__(self, region: Memory) -> None:
        self.at = (region.base or 0) + unusable(region)
        self.end = (region.base or 0) + region.size

    @property
    def left(self) -> int:
        return self.end - self.at

    def take(self, size: int) -> int:
        """The address of so many bytes."""
        taken = self.at
        self.at = min(self.end, taken + -(-size // _ALIGN) * _ALIGN)
        return taken

"""What the stack analysis knows of each architecture, by machine and width of the ELF header.

An architecture is one module that defines ``MACHINE``, or ``MACHINES`` of several widths: which
instructions branch, and what they do to the stack pointer, as an ordered table of patterns over the
disassembler's text.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from edgeconv.run.build.instructions.aarch64 import MACHINE as _AARCH64
from edgeconv.run.build.instructions.arm import MACHINE as _ARM
from edgeconv.run.build.instructions.base import Effect, Flow, Instruction, Machine, Meaning, Move
from edgeconv.run.build.instructions.ppc64 import MACHINE as _PPC64
from edgeconv.run.build.instructions.riscv import MACHINES as _RISCV
from edgeconv.run.build.instructions.x86_64 import MACHINE as _X86_64

MACHINES: Mapping[tuple[str, int], Machine] = MappingProxyType(
    {
        (machine.elf_name, machine.bits): machine
        for machine in (_AARCH64, _ARM, _PPC64, *_RISCV, _X86_64)
    }
)

__all__ = ["MACHINES", "Effect", "Flow", "Instruction", "Machine", "Meaning", "Move"]

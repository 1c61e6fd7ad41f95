"""Compilers, linkers and emulators: from a project directory to a program that has run.

``find_compiler`` -> ``compile_project`` -> ``run_binary``; ``read_sections`` and
``undefined_symbols`` look into what was built.
"""

from __future__ import annotations

from edgeconv.run.build.compile import Binary, compile_project
from edgeconv.run.build.elf import Sections, read_sections, undefined_symbols
from edgeconv.run.build.output import Completed
from edgeconv.run.build.program_files import InputFile, OutputFile
from edgeconv.run.build.run import find_emulator, run_binary, run_command
from edgeconv.run.build.toolchain import Compiler, find_compiler

__all__ = [
    "Binary",
    "Compiler",
    "Completed",
    "InputFile",
    "OutputFile",
    "Sections",
    "compile_project",
    "find_compiler",
    "find_emulator",
    "read_sections",
    "run_binary",
    "run_command",
    "undefined_symbols",
]

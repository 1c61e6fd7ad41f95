"""Link firmware: what is reached and nothing else, and a stack of the size that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.elf import identity
from edgeconv.run.build.instructions import MACHINES
from edgeconv.run.build.stack import StackBound, stack_bound
from edgeconv.run.build.usage import LINK_ANYWAY, does_not_fit

# What is not reached is left out.  Freestanding: the compiler's own <stdint.h>, also where a C
# library is expected and none is installed; and yet it may expand memcpy in place.
FIRMWARE_FLAGS = ("-ffreestanding", "-fbuiltin", "-ffunction-sections", "-fdata-sections")
# The start-up code and the memory functions are emitted; the compiler's own arithmetic (software
# floating point) is all that comes from a library.
FIRMWARE_LINK = ("-nostdlib", "-nostartfiles", "-Wl,--gc-sections", "-Wl,-z,noexecstack")
FIRMWARE_LIBRARIES = ("-lgcc",)
RESET, FAULT = "Reset_Handler", "firmware_report_fault"
# The reset handler is assembly without a frame: it sets the stack pointer to the top of the stack
# and enters this function, with which the stack that counts begins.
START = "firmware_start"


def link_firmware(
    link: Callable[[Sequence[str]], None],
    directory: Path,
    script: str,
    image: Path,
    objects: Iterable[Path],
) -> None:
    """Link ``image`` twice: to see how much stack it needs, and with that much.

    ``link`` runs the linker with further arguments; ``script`` is relative to ``directory``.  Where
    there is no bound the linker script's own size stands.  Raises EdgeconvError for a link that
    fails; one that lacks room says in its details who takes what.
    """
    frames = usage_files(objects)
    with suppress(EdgeconvError):  # the second time it counts
        link([*_arguments(script, 0), *LINK_ANYWAY])
    arguments = _arguments(script, _stack(image, frames) if image.exists() else None)
    log = image.with_name(f"{image.name}.log")
    before = log.stat().st_size
    try:
        link(arguments)
    except EdgeconvError as error:
        printed = log.read_bytes()[before:].decode(errors="replace")
        path = directory / script
        raise (
            does_not_fit(lambda more: link([*arguments, *more]), image, path, printed) or error
        ) from error


def _stack(image: Path, frames: Iterable[Path]) -> int | None:
    """What the deepest path takes and, at its end, an exception.

    The report of a fault starts with an empty stack.
    """
    frames = list(frames)
    try:
        deepest = stack_bound(image, (START,), usage=frames).bytes
        handler = stack_bound(image, (FAULT,), usage=frames).bytes
    except EdgeconvError:
        return None
    header = identity(image)
    return max(deepest + MACHINES[header.machine, header.bits].exception_bytes, handler)


def worst_stack(
    image: Path, entries: tuple[str, ...], objects: Iterable[Path]
) -> tuple[int | None, str]:
    """The bound on the stack of ``entries`` and how it comes about; None and why without one."""
    try:
        bound: StackBound = stack_bound(image, entries, usage=usage_files(objects))
    except EdgeconvError as error:
        return None, error.one_line()
    return bound.bytes, str(bound)


def usage_files(objects: Iterable[Path]) -> list[Path]:
    """The frame sizes that the compiler wrote beside ``objects``; assembly has none."""
    frames = (path.with_suffix(".su") for path in objects)
    return [path for path in frames if path.exists()]


def _arguments(script: str, stack: int | None) -> list[str]:
    # In front of the script, which asks whether it is defined.
    sized = [] if stack is None else [f"-Wl,--defsym=firmware_stack_size={stack}"]
    return [*FIRMWARE_LINK, *sized, f"-Wl,-T,{script}", *FIRMWARE_LIBRARIES]

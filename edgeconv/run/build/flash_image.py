"""What a programmer writes to flash: the image of a firmware ELF as .bin, .hex and .uf2."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.run.build.elf import open_elf
from edgeconv.run.build.output import output_of
from edgeconv.run.build.toolchain import Compiler
from edgeconv.run.build.uf2 import uf2_of
from edgeconv.target.board import Board, Memory

ERASED = b"\xff"  # what flash holds where nothing is written


def write_images(elf: Path, board: Board, compiler: Compiler) -> tuple[Path, ...]:
    """Write ``<name>.hex``, and one .bin for each flash region that holds something; for boards
    whose boot loader takes one, ``<name>.uf2``.

    The .bin of the first region is ``<name>.bin``, of others ``<name>-<region>.bin``; each starts
    at the first byte of its region.  Raises EdgeconvError (exit status 3) without ``objcopy``.
    """
    written = [elf.with_suffix(".hex")]
    _objcopy(compiler, "-O", "ihex", str(elf), str(written[0]))
    parts = list(_loaded(elf))
    images = []
    for number, region in enumerate(board.flash):
        image = _image(region, parts)
        if image:
            title = region.name.lower().replace(" ", "-")
            written.append(elf.with_name(f"{elf.stem}{f'-{title}' if number else ''}.bin"))
            written[-1].write_bytes(image)
            images.append((region.base or 0, image))
    if board.firmware and board.firmware.uf2 is not None:
        written.append(elf.with_suffix(".uf2"))
        written[-1].write_bytes(uf2_of(images, board.firmware.uf2))
    return tuple(written)


def _loaded(elf: Path) -> Iterator[tuple[int, bytes]]:
    """(address in flash, bytes) of every segment that is loaded from the file."""
    with open_elf(elf) as file:
        for segment in file.iter_segments("PT_LOAD"):
            if segment["p_filesz"]:
                yield segment["p_paddr"], segment.data()


def _image(region: Memory, loaded: list[tuple[int, bytes]]) -> bytes:
    image = bytearray()
    base = region.base or 0
    for address, data in sorted(loaded):
        if base <= address < base + region.size:
            image += ERASED * (address - base - len(image)) + data
    return bytes(image)


def _objcopy(compiler: Compiler, *arguments: str) -> None:
    """The objcopy that belongs to ``compiler``."""
    program = output_of((*compiler.command, "-print-prog-name=objcopy")).stdout.strip() or "objcopy"
    if shutil.which(program) is None:
        raise EdgeconvError(
            "no objcopy",
            where=str(compiler),
            rule=f"{program} cannot be started",
            hint="install the binutils of this compiler",
            code=Exit.MISSING_TOOL,
        )
    done = output_of((program, *arguments))
    if done.status != 0:
        raise EdgeconvError("cannot make the flash image", got=done.stderr.strip())

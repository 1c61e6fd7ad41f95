"""What a built network takes: code, constants, variables and stack, by region for firmware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgeconv.run.build.allocation import parts_by_region
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.firmware import START, worst_stack
from edgeconv.run.build.project import Project


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes.  ``data``: variables, neither arena nor inputs and outputs.  ``stack``: None where it
    has no bound, for the reason in ``stack_words``, which else names the calls that take it.

    ``regions``: of firmware, by region and part.  A program under an operating system is not
    looked at as a whole: all is of the network alone.
    """

    code: int
    rodata: int
    data: int
    stack: int | None
    stack_words: str
    regions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def footprint(project: Project, binary: Binary) -> Footprint:
    """The footprint of the program ``binary`` of ``project``."""
    if not project.is_firmware:
        network = project.sources[0]
        sections = binary.sections([network])
        entries = f"{project.name}_init", f"{project.name}_run"
        bound, words = worst_stack(binary.objects[network], entries, binary.objects.values())
        rodata, data = sections.rodata + sections.data, sections.data + sections.bss
        return Footprint(sections.text, rodata, data, bound, words)
    regions = parts_by_region(binary.path, binary.board, project.name)
    bound, words = worst_stack(binary.path, (START,), binary.objects.values())
    code, rodata, data = (
        sum(parts.get(part, 0) for parts in regions.values()) for part in ("code", "rodata", "data")
    )
    return Footprint(code, rodata, data, bound, words, regions)

"""The files of an emitted project, and how they reach the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgeconv.base.output_folder.folder import Contents, put_project
from edgeconv.base.output_folder.manifest import digest
from edgeconv.codegen.image_parts import NamedPart
from edgeconv.codegen.sbom import Bill
from edgeconv.codegen.weights import WeightImage, write
from edgeconv.codegen.weights_as_c import write_c

REPORT = "report.json"


@dataclass(frozen=True, slots=True)
class SourceTree:
    """Text files by name, and the weight image by the name it is written under; ``others``: what
    is written as it is.

    ``image_as_c``: write the image as C arrays (``--weights c``), one for each of its ``parts``;
    ``placed``: into sections that a linker script of ours knows.
    ``bill``: a bill of materials that is written beside.
    ``once``: files for the user's own code, which are never replaced once he has written into them.
    ``report``: the text of report.json, told from the folder that has all other files.
    """

    name: str
    texts: Mapping[str, str]
    image: WeightImage
    image_file: str
    parts: tuple[NamedPart, ...]
    image_as_c: bool = False
    placed: bool = False
    once: frozenset[str] = frozenset()
    bill: Bill | None = None
    others: Mapping[str, bytes] = field(default_factory=dict)
    report: Callable[[Path], str] | None = None

    def write(
        self, directory: Path, finish: Callable[[Path], None] = lambda _: None
    ) -> tuple[str, ...]:
        """Make ``directory`` this project, replacing one that stands there already.

        All of it or nothing, and nothing that is not ours: see `edgeconv.base.output_folder`.
        ``finish`` is called with the folder in which the project is made, before it takes its
        place; what it raises counts as a failure.  Returns what the user should know of files that
        were kept. Raises EdgeconvError where the target is something else than an edgeconv project,
        where a file that must be replaced was changed, or when it cannot be written.
        """
        vital = frozenset((REPORT, *self._network()))
        return put_project(directory, Contents(self.name, self._fill, vital, self.once, finish))

    def _network(self) -> Iterator[str]:
        """The files that the network is made of."""
        ours = tuple(f"{self.name}{part}." for part in ("", "_runtime", "_weights"))
        for name in (*self.texts, self.image_file):
            if name.startswith(ours):
                yield name

    def _write_bill(self, directory: Path, bill: Bill) -> dict[str, str]:
        """The files that it names, with their SHA-256."""
        files = {name: digest(directory / name) for name in self._network()}
        (directory / bill.file).write_text(bill.render(files), encoding="utf-8", newline="\n")
        return files

    def _fill(self, directory: Path) -> dict[str, str]:
        for name, text in self.texts.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        for name, data in self.others.items():
            (directory / name).write_bytes(data)
        if self.image_as_c:
            self._write_c(directory / self.image_file)
        else:
            self._write_binary(directory / self.image_file)
        if self.report:
            text = self.report(directory)
            (directory / REPORT).write_text(text, encoding="utf-8", newline="\n")
        return self._write_bill(directory, self.bill) if self.bill else {}

    def _write_binary(self, path: Path) -> None:
        with path.open("wb") as out:
            write(self.image, out)

    def _write_c(self, path: Path) -> None:
        """Writes the image as C; staged as binary first, since the header comes last."""
        binary = path.with_suffix(".staged")
        self._write_binary(binary)
        write_c(binary, path, self.parts, placed=self.placed)
        binary.unlink()

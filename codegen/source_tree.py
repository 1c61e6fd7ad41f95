"""The files of an emitted project, and how they reach the disk: all of them or none."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from edgeconv.codegen.weights import WeightImage, write
from edgeconv.errors import EdgeconvError
from edgeconv.whole_file import umask


@dataclass(frozen=True, slots=True)
class SourceTree:
    """Text files by name, and the weight image by the name it is written under.

    ``image_as_c``: write the image as a C array (``--weights c``) called ``image_symbol``.
    """

    name: str
    texts: Mapping[str, str]
    image: WeightImage
    image_file: str
    image_symbol: str
    image_as_c: bool = False

    def write(self, directory: Path, finish: Callable[[Path], None] = lambda _: None) -> None:
        """Create ``directory`` with every file, replacing a project that stands there already.

        Written to a folder of its own and renamed at the end, so that a failure leaves nothing
        behind; that folder is in the target where this exists, which may be a mount point or the
        working directory.  ``finish`` is called with the folder before it is renamed; what it
        raises counts as a failure.  Raises EdgeconvError when the target is something else than an
        edgeconv project, or when it cannot be written.
        """
        self._check_target(directory)
        replaced = directory.is_dir()
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            beside = directory if replaced else directory.parent
            staging = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=beside))
        except OSError as error:
            raise _cannot_write(directory, error) from error
        try:
            self._fill(staging)
            finish(staging)
            if replaced:
                _replace_contents(directory, staging)
            else:
                staging.chmod(0o777 & ~umask())
                staging.rename(directory)
        except OSError as error:
            raise _cannot_write(directory, error) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    @staticmethod
    def _check_target(directory: Path) -> None:
        if not directory.exists():
            return
        ours = directory.is_dir() and (
            (directory / "report.json").is_file() or not any(directory.iterdir())
        )
        if not ours:
            raise EdgeconvError(
                "will not replace",
                where=str(directory),
                rule="it exists and is not an edgeconv project",
                hint="give another directory with -o",
            )

    def _fill(self, directory: Path) -> None:
        for name, text in self.texts.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        if self.image_as_c:
            self._write_c(directory / self.image_file)
        else:
            self._write_binary(directory / self.image_file)

    def _write_binary(self, path: Path) -> None:
        with path.open("wb") as out:
            write(self.image, out)

    def _write_c(self, path: Path) -> None:
        """The same bytes as a C array; staged as binary first, since the header comes last."""
        binary = path.with_suffix(".staged")
        self._write_binary(binary)
        with binary.open("rb") as source, path.open("w", encoding="ascii", newline="\n") as out:
            out.write(
                "/* The weight image; generated together with the program that reads it. */\n"
                f"extern const unsigned char {self.image_symbol}[];\n"
                f"_Alignas(64) const unsigned char {self.image_symbol}[{self.image.bytes}] = {{\n"
            )
            while data := source.read(1 << 16):
                for at in range(0, len(data), 24):
                    out.write(",".join(map(str, data[at : at + 24])) + ",\n")
            out.write("};\n")
        binary.unlink()


def _replace_contents(directory: Path, staging: Path) -> None:
    """Everything in ``directory`` gives way to what is in ``staging``, one of its folders."""
    for old in directory.iterdir():
        if old == staging:
            continue
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
    for new in staging.iterdir():
        new.rename(directory / new.name)


def _cannot_write(directory: Path, error: OSError) -> EdgeconvError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return EdgeconvError(
        "cannot write the project",
        where=str(directory),
        got=error.strerror or str(error),
        hint="free some space or give another directory with -o"
        if full
        else "give a writable directory with -o",
    )

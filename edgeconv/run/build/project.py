"""An emitted project on disk: what it holds, and its program, built anew when sources change."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import UsageError
from edgeconv.base.output_folder.folder import claim, put
from edgeconv.base.output_folder.journal import recover
from edgeconv.base.visible import json_text
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import FLOAT32, element_type
from edgeconv.ir.layout import ROW_MAJOR, Layout
from edgeconv.ir.link import SIBLING
from edgeconv.ir.requantisation import EXACT, TFLITE
from edgeconv.model.frontend.cut import WHOLE, Cut
from edgeconv.model.recurrences.form import Form
from edgeconv.run.build import report_file
from edgeconv.run.build.compile import (
    BASE_FLAGS,
    MEASURE_FLAGS,
    Binary,
    compile_project,
    optimised_for,
)
from edgeconv.run.build.firmware import FIRMWARE_FLAGS, FIRMWARE_LINK
from edgeconv.run.build.flash_image import write_images
from edgeconv.run.build.sibling import place_of, sibling_in
from edgeconv.run.build.toolchain import Compiler, find_compiler
from edgeconv.run.build.weights_file import image_of
from edgeconv.target import board as boards
from edgeconv.target.board import Board

COMPILE_FLAGS = (*BASE_FLAGS, *MEASURE_FLAGS, *FIRMWARE_FLAGS, *FIRMWARE_LINK)
REPORT = "report.json"
STARTUP = "startup.c"  # of firmware
APP = "app.c"  # of firmware: the user's, who may do without
# Of a weight image only the header is hashed: it holds the CRC of the rest.
IMAGE_HEADER_BYTES = 64
_SLOWEST_MACS = 2e5  # per second, of an emulated core without FPU on a busy machine
_PATIENCE_S = 600.0  # to copy files, load an image, and for layers without multiply-accumulates


@dataclass(frozen=True, slots=True)
class Text:
    """Strings of the model, in a program: indices of ``table``, or, without one, bytes of UTF-8 in
    the last dimension.  ``examples``: strings that the model compares an input with."""

    table: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Port:
    """A graph input or output: name in the model, logical shape and element type.

    ``spacing``: the distance between neighbouring values of one that is quantised, else 0.
    ``layout``: the order of its elements in the program's memory and files.
    ``data_dependent``: the dimension that is data-dependent and the output that says how much of it
    there is, if any.  ``integers``: element type, scale and zero point of the integers that a state
    is, where the model has the real numbers of ``dtype``.  ``text``: what its strings are, where
    the model has strings.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    spacing: float = 0.0
    layout: Layout = ROW_MAJOR
    data_dependent: tuple[int, str] | None = None
    integers: tuple[str, float, int] | None = None
    text: Text | None = None

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * element_type(self.stored).bytes

    @property
    def model_shape(self) -> tuple[int, ...]:
        """The shape that the model has: of strings without the dimension of their bytes."""
        in_bytes = self.text is not None and not self.text.table
        return self.shape[:-1] if in_bytes else self.shape

    @property
    def stored(self) -> str:
        """The type of its elements in the program's memory and files."""
        return self.integers[0] if self.integers else self.dtype

    def real(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Elements as the model has them: of integers that stand for real numbers, those."""
        if self.integers is None:
            return values
        _, scale, zero = self.integers
        return (values.astype(np.int32) - zero).astype(np.float32) * np.float32(scale)


@dataclass(frozen=True, slots=True)
class KeptState:
    """A state as the input ``given`` and the output ``made`` of the model, and its value before the
    first run."""

    given: Port
    made: Port
    initial: npt.NDArray[Any] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Project:
    """A directory that ``edgeconv compile`` wrote.

    ``name`` prefixes its files and symbols, ``report`` is the document in its report.json.
    ``ssh``: where the board is, "" for what its file says.
    """

    directory: Path
    name: str
    report: Mapping[str, Any]
    ssh: str = ""

    @classmethod
    def open(cls, directory: Path, *, ssh: str = "") -> Project:
        """The project in ``directory``.

        What a killed run began in it is undone first.  Raises EdgeconvError (exit status 2) when
        there is none, or as ``report_file.read``.
        """
        recover(directory)
        report = report_file.read(directory / REPORT)
        return cls(directory, report["program"]["name"], report, ssh)

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The graph inputs in the model's order."""
        return _ports(self.report["inputs"])

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The graph outputs in the model's order."""
        return _ports(self.report["outputs"])

    @property
    def states(self) -> tuple[KeptState, ...]:
        """What every run leaves in the arena for the next one."""
        entries = self.report.get("states", [])
        made = _ports([{**entry, "name": entry["output"]} for entry in entries])
        return tuple(
            KeptState(given, output, _initial(entry, given))
            for entry, given, output in zip(entries, _ports(entries), made, strict=True)
        )

    def with_states_as_ports(self) -> Project:
        """The project as it would be if its states were inputs and outputs behind the others."""
        given = self.report.get("states", [])
        made = [{**entry, "name": entry["output"]} for entry in given]
        inputs, outputs = [*self.report["inputs"], *given], [*self.report["outputs"], *made]
        return replace(self, report={**self.report, "inputs": inputs, "outputs": outputs})

    @property
    def input_file(self) -> Path:
        """What the program reads unless told otherwise: the inputs one after the other."""
        return self.directory / f"{self.name}_input.bin"

    @property
    def expected_file(self) -> Path:
        """What the program compares its outputs with unless told otherwise."""
        return self.directory / f"{self.name}_expected.bin"

    @property
    def run_file(self) -> Path:
        """Inputs of a run that are of no interest afterwards."""
        return self.build_directory / f"{self.name}_input.bin"

    @property
    def build_directory(self) -> Path:
        """Where programs, objects and results go."""
        return self.directory / "build"

    @property
    def sources(self) -> tuple[str, ...]:
        """What is compiled; the network itself is the first."""
        kind = "c" if self.report["program"]["weights"] == "c" else "S"
        startup = (STARTUP,) if self.is_firmware else ()
        application = (APP,) if (self.directory / APP).is_file() else ()
        application = application if self.is_firmware else ()
        return f"{self.name}.c", f"{self.name}_weights.{kind}", "main.c", *startup, *application

    @property
    def has_threads(self) -> bool:
        """Several share a run."""
        return int(self.report["threads"]) > 1

    def patience(self, runs: int = 1) -> float:
        """Seconds in which any machine, emulated or on a board, has done so many ``runs``: what
        takes longer hangs."""
        return _PATIENCE_S + runs * (1 + float(self.report["model"]["macs"]) / _SLOWEST_MACS)

    @property
    def is_firmware(self) -> bool:
        """It starts from reset rather than under an operating system."""
        return bool(self.report["program"].get("firmware"))

    @property
    def linker_script(self) -> str:
        """The linker script of firmware; relative to the directory."""
        return f"{self.report['board']}.ld"

    @property
    def max_sizes(self) -> Mapping[str, int]:
        """The most that is kept of what the model finds at run time, where the user stated it."""
        found: Mapping[str, int] = self.report["model"].get("max_sizes", {})
        return found

    @property
    def cut(self) -> Cut:
        """The part that it is of the model that its layers are held to; of a network of new rows
        or with pre-processing all of it."""
        own = {"stream", "preprocess"} & self.report["model"].keys()
        return WHOLE if own else self.original_cut

    @property
    def original_cut(self) -> Cut:
        """The part that it is of the model that it was compiled from, read as it was then."""
        noted = Cut.of(self.report["model"].get("cut"))
        return replace(noted, dynamic_quantisation=self.requantise == TFLITE)

    @property
    def window_cut(self) -> Cut:
        """The part that it is of the model of the whole window; all of one that was quantised to
        int8 by samples, which is the project's own."""
        return WHOLE if "int8" in self.report["model"] else self.original_cut

    @property
    def recurrences(self) -> Form:
        """How those of the model were read."""
        return Form.from_json(self.report["program"].get("recurrences", {}))

    @property
    def requantise(self) -> str:
        """Whose arithmetic its results in integers follow."""
        return str(self.report["program"].get("requantise", EXACT))

    def board(self) -> Board:
        """The board it was compiled for, as seen from this machine; raises as
        ``target.board.load``."""
        return boards.load(self.report["board"], ssh=self.ssh)

    def place(self) -> Board:
        """Where its program runs: the board, or a sibling; raises as `sibling.place_of`."""
        return place_of(self.directory, self.board())

    def build(self, *, trace: bool = False, times: bool = False, run_here: bool = False) -> Binary:
        """The program of main.c; compiled only when sources, compiler or flags have changed.

        ``trace``: the one that reports every layer.  ``times``: for the time that each takes, so
        that threads share layers that stream rows there, too.  ``run_here``: firmware that
        exchanges files with this machine, through the emulator.  Raises as ``compile_project``, and
        EdgeconvError where the weight image is damaged or another one.
        """
        board = self.board()
        compiler = find_compiler(board)
        hosted = run_here and self.is_firmware
        sibling = sibling_in(self.directory, board) if hosted else None
        flags: tuple[str, ...] = (f"-D{self.name.upper()}_TRACE",) if trace else ()
        times = times and self.has_threads
        flags += (f"-D{self.name.upper()}_TIMES",) if times else ()
        flags += ("-DFIRMWARE_SEMIHOSTING",) if hosted else ()
        flags += ("-pthread",) if self.has_threads else ()
        variant = ("_semihosting" if hosted else "") + ("_trace" if trace else "")
        variant += "_times" if times else ""
        out = self.build_directory / f"{self.name}{variant}{'.elf' if self.is_firmware else ''}"
        out = out.resolve()
        stamp = out.with_name(f"{out.name}.stamp")
        # What the user adds to the firmware may need more than is here; the network does not.
        sources = tuple(name for name in self.sources if not (hosted and name == APP))
        script = self.linker_script if self.is_firmware else ""
        if sibling:
            there = f"{SIBLING}/{STARTUP}"
            sources = tuple(there if name == STARTUP else name for name in sources)
            script = f"{SIBLING}/{sibling.name}.ld"
        state = self._state(board, compiler, flags, sources, script)
        if out.exists() and stamp.exists() and stamp.read_text() == state:
            objects = out.with_name(f"{out.name}.objects")
            files = {s: objects / f"{s.replace('/', '_')}.o" for s in sources}
            return Binary(out, sibling or board, compiler, files)
        claim(self.directory, self._products(out, board))
        stamp.unlink(missing_ok=True)
        image_of(self.directory, self.report["program"])  # damaged ones are refused
        binary = compile_project(
            self.directory,
            board,
            sources=sources,
            out=out,
            extra_flags=flags,
            compiler=compiler,
            code=optimised_for(self.report["program"]),
            linker_script=script,
        )
        if self.is_firmware and not flags:  # what is flashed, not what tests it
            write_images(out, board, compiler)
        stamp.write_text(state)
        return replace(binary, board=sibling or board)

    def _products(self, out: Path, board: Board) -> Iterator[str]:
        """What building ``out`` and running it leaves, as names in the project."""
        images = [region.name.lower().replace(" ", "-") for region in board.flash]
        yield from (f"build/{out.name}{suffix}" for suffix in ("", ".stamp", ".log"))
        yield from ("build/output.bin", "build/layers.bin")
        yield from (f"build/{self.name}_{what}.bin" for what in ("input", "output", "layers"))
        for source in (*self.sources, f"{SIBLING}/{STARTUP}"):
            stem = f"build/{out.name}.objects/{source.replace('/', '_')}"
            yield from (f"{stem}.o", f"{stem}.su")
        if self.is_firmware:
            yield from (f"build/{self.name}.{kind}" for kind in ("hex", "uf2"))
            yield from (f"build/{self.name}{part}.bin" for part in ("", *(f"-{i}" for i in images)))

    def _state(
        self,
        board: Board,
        compiler: Compiler,
        flags: tuple[str, ...],
        sources: tuple[str, ...],
        script: str,
    ) -> str:
        """A hash of everything that the program is made of."""
        digest = hashlib.sha256(
            repr(
                (
                    *(compiler, COMPILE_FLAGS, optimised_for(self.report["program"])),
                    *(board.flags, board.toolchain.static, flags),
                )
            ).encode()
        )
        for path in self._inputs_of_build(sources, script):
            digest.update(path.name.encode())
            if path.suffix == ".bin":
                with path.open("rb") as image:
                    digest.update(image.read(IMAGE_HEADER_BYTES))
                status = path.stat()
                digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
            else:
                with path.open("rb") as source:
                    digest.update(hashlib.file_digest(source, "sha256").digest())
        return digest.hexdigest()

    def _inputs_of_build(self, sources: tuple[str, ...], script: str) -> Iterator[Path]:
        names = [*sources, f"{self.name}.h", f"{self.name}_runtime.h"]
        if self.has_threads:
            names.append(f"{self.name}_threads.h")
        if self.is_firmware:
            names += [script, "firmware.h"]
        if self.sources[1].endswith(".S"):
            names.append(f"{self.name}_weights.bin")
        for name in names:
            path = self.directory / name
            if not path.is_file():
                raise UsageError(
                    "incomplete project",
                    where=str(path),
                    rule="is missing",
                    hint="compile the model again",
                )
            yield path

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files by name; raises EdgeconvError where one is there that is not edgeconv's."""
        put(self.directory, files)

    def write_report(self, report: Mapping[str, Any]) -> Project:
        """Replace report.json, at once; the project with the new report."""
        text = render(report)
        self.put({REPORT: text.encode()})
        report_file.note_sound(text)
        return replace(self, report=report)


def render(report: Mapping[str, Any]) -> str:
    """A report as the text of report.json."""
    return json_text(report) + "\n"


def _initial(entry: Mapping[str, Any], port: Port) -> npt.NDArray[Any]:
    """The value of a state before the first run."""
    values = np.array(entry.get("initial", [0] * port.elements), array_type(port.stored))
    return port.real(values.reshape(port.shape))


def _ports(entries: list[dict[str, Any]]) -> tuple[Port, ...]:
    return tuple(
        Port(
            entry["name"],
            tuple(entry["shape"]),
            FLOAT32 if entry.get("real") else entry["dtype"],
            entry["scale"][0] if entry.get("real") else entry.get("step") or 0.0,
            Layout.parse(entry.get("layout", str(ROW_MAJOR))),
            (data_dependent["axis"], data_dependent["count"])
            if (data_dependent := entry.get("data_dependent"))
            else None,
            (entry["dtype"], entry["scale"][0], entry["zero_point"][0])
            if entry.get("real")
            else None,
            Text(tuple(text.get("table", ())), tuple(text.get("examples", ())))
            if (text := entry.get("text")) is not None
            else None,
        )
        for entry in entries
    )

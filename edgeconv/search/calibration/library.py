"""The emitted network as a shared library inside this process."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.codegen.emit import EmitOptions, emit
from edgeconv.codegen.weights import WeightImage, write
from edgeconv.ir.choice import Choice
from edgeconv.ir.encoding import FLOAT16
from edgeconv.ir.memory import MemoryMap
from edgeconv.kernels.storage import formats
from edgeconv.run.build.compile import compile_project
from edgeconv.run.build.toolchain import find_compiler
from edgeconv.search.calibration.codebook import Codebook
from edgeconv.target.board import Board

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
NAME = "calibrated"
HALF = -3  # of ``Library.formats``: float16, which the runtime's formats are not
GRID = -2  # of ``Library.formats``: as the layer's row of ``Library.grids`` has it
FLAGS = ("-fPIC", f"-D{NAME.upper()}_TRACE", f"-D{NAME.upper()}_NO_CRC")


def rounding_formats() -> tuple[str, ...]:
    """The formats that results can be rounded to while the network runs."""
    stored = {name: form for name, form in formats().items() if form.enumerator and form.offered}
    return tuple(
        name for name, form in stored.items() if name != "float32" and not Codebook(form).is_even
    )


class _Model(ctypes.Structure):
    """name_model of an emitted header with one bank; ``states``: where they may lie apart."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("weights", "arena", "states"))


class Library:
    """``image`` and ``arena`` are what the program reads and writes; whoever changes bytes of the
    image changes the network.  ``formats`` has one number per layer: see ``format_numbers``; where
    that is GRID, ``grids`` has spacing, lowest and highest multiple."""

    def __init__(
        self, choice: Choice, memory: MemoryMap, board: Board, *, truncate: bool = False
    ) -> None:
        """Emit, compile, load; with ``truncate`` formats round results toward zero.

        Raises EdgeconvError as ``compile_project`` does.
        """
        options = EmitOptions(NAME, board.name, "", board.flags, constants_apart=True)
        tree = emit(choice, memory, options, report="")
        self.places: WeightImage = tree.image
        self.formats = np.full(max(len(choice.layers), 1), -1, np.intc)
        self.grids = np.ones((len(self.formats), 3), np.float32)
        self._folder = TemporaryDirectory(prefix="edgeconv-calibration-")
        try:
            folder = Path(self._folder.name)
            for file in (f"{NAME}.c", f"{NAME}.h", f"{NAME}_runtime.h"):
                (folder / file).write_text(tree.texts[file], encoding="utf-8")
            (folder / "hook.c").write_text(_hook(truncate), encoding="utf-8")
            self._library = ctypes.CDLL(str(_build(folder, board)))
        except BaseException:
            self._folder.cleanup()
            raise
        self.image = _aligned(tree.image.bytes, choice.align)
        stream = io.BytesIO()
        write(tree.image, stream)
        self.image[:] = np.frombuffer(stream.getbuffer(), np.uint8)
        self.arena = _aligned(max(memory.arena_bytes, 1), choice.align)
        self._model = _Model()
        self._start(memory.arena_bytes)

    def _start(self, arena_bytes: int) -> None:
        init = getattr(self._library, f"{NAME}_init")
        init.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t) + (
            ctypes.c_void_p,
            ctypes.c_size_t,
        )
        self._run = getattr(self._library, f"{NAME}_run")
        self._library.hook_set.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self._library.hook_set(self.formats.ctypes.data, self.grids.ctypes.data)
        status = init(
            ctypes.addressof(self._model),
            self.image.ctypes.data,
            self.image.nbytes,
            self.arena.ctypes.data,
            arena_bytes,
        )
        if status:
            raise ValueError(f"{NAME}_init: {status}")  # a defect of this package

    def run(self, inputs: Sequence[Floats], outputs: Sequence[Floats]) -> None:
        """One inference between contiguous arrays, one per graph input and output."""
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*inputs, *outputs)]
        status = self._run(ctypes.byref(self._model), *pointers)
        if status:
            raise ValueError(f"{NAME}_run: {status}")

    def run_beside(
        self,
        inputs: Sequence[Floats],
        outputs: Sequence[Floats],
        given: Mapping[int, Floats],
        own: Mapping[int, Floats],
    ) -> None:
        """`run`, but that results of the layers in ``given`` are replaced as soon as they are
        written, those in ``own`` are kept there first."""
        pointers = []
        for arrays in (own, given):
            table = (ctypes.c_void_p * len(self.formats))()
            for layer, array in arrays.items():
                table[layer] = array.ctypes.data
            pointers.append(table)
        self._library.hook_compare.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self._library.hook_compare(*pointers)
        try:
            self.run(inputs, outputs)
        finally:
            self._library.hook_compare(None, None)

    def close(self) -> None:
        """Remove the files; the code stays loaded, as processes cannot unload safely."""
        self._folder.cleanup()


def format_numbers() -> Mapping[str, int]:
    """What ``Library.formats`` holds, by format name."""
    return {"float32": -1, str(FLOAT16): HALF} | {
        name: i for i, name in enumerate(rounding_formats())
    }


def _hook(truncate: bool) -> str:
    """The source of the hook: the runtime's scalar formats, and hook.c behind them."""
    names = [formats()[name].enumerator for name in rounding_formats()]
    cases = " ".join(f"f({number}, {name})" for number, name in enumerate(names))
    return "".join(
        [
            "#include <math.h>\n",
            f"#define HOOK_TRACE {NAME}_trace\n#define HOOK_FORMATS(f) {cases}\n",
            f"#define HOOK_GRID {GRID}\n#define HOOK_HALF {HALF}\n",
            *amalgamate("ec_isa_portable.h", (), stored=True, truncate=truncate),
            (resources.files("edgeconv.search.calibration") / "hook.c").read_text(encoding="utf-8"),
        ]
    )


def _build(folder: Path, board: Board) -> Path:
    out = folder / f"lib{NAME}.so"
    compiler = find_compiler(board)
    try:
        flags = (*FLAGS, "-shared")
        sources = (f"{NAME}.c", "hook.c")
        compile_project(
            folder, board, sources=sources, out=out, extra_flags=flags, compiler=compiler
        )
    except EdgeconvError as error:  # the log goes with the folder
        raise EdgeconvError(error.what, got=error.got, code=error.code) from error
    return out


def _aligned(size: int, align: int) -> Bytes:
    memory = np.zeros(size + align, np.uint8)
    start = -memory.ctypes.data % align
    return memory[start : start + size]

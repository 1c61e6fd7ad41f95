"""All candidates of a model as one C program, built with the board's compiler and flags."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable, Sequence
from pathlib import Path

import jinja2
import numpy as np
import numpy.typing as npt

from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.codegen.functions import FunctionTable, environment
from edgeconv.codegen.routines import routines_header
from edgeconv.ir.choice import Layer
from edgeconv.ir.encoding import FLOAT32, INT32, Encoding
from edgeconv.ir.straight_line import Routine
from edgeconv.kernels.lowering.calls import merge_headers
from edgeconv.run.build import Compiler, compile_project
from edgeconv.target.board import Board

HERE = Path(__file__).parent
MULTIPLY_ADDS = HERE / "multiply_adds.h"
LINE_BYTES = 64
Floats = npt.NDArray[np.float32]


def _environment() -> jinja2.Environment:
    """The emitter's templates and those of this folder."""
    env = environment()
    own = jinja2.FileSystemLoader(HERE)
    env.loader = jinja2.ChoiceLoader([loader for loader in (env.loader, own) if loader])
    return env


class Program:
    """Collects kernel calls; each becomes a function of one array of pointers."""

    def __init__(self, board: Board, scaled: Sequence[Encoding] = ()) -> None:
        """``scaled``: the encodings of int8 tensors, each once."""
        self._board, self._scaled = board, scaled
        self._table = FunctionTable(_environment(), "bench", board.target.lanes)
        self._entries: dict[str, str] = {}
        self._headers: list[tuple[str, ...]] = []
        self._routines: list[Routine] = []
        self._own: set[str] = {MULTIPLY_ADDS.name, "timing.c"}
        self._stored = False

    def add(self, layer: Layer) -> str:
        """The name of the C function that computes ``layer``; equal layers share one."""
        name = self._table.call_of(layer, (True,) * len(layer.aliases))[0].name
        passed = ", ".join(f"p[{i}]" for i in range(len(layer.args)))
        self._entries[f"call_{name}"] = (
            f"void call_{name}(void *const *p)\n{{\n    {name}({passed});\n}}\n"
        )
        self._headers.append(layer.headers)
        self._routines += layer.routines
        self._stored |= any(blob.format not in (FLOAT32, INT32) for blob in layer.blobs)
        self._stored |= any(arg.c_type == "unsigned char" for arg in layer.args)
        own = Path(layer.template).name.removesuffix(".c.j2") + ".h"
        if (HERE / own).is_file():
            self._own.add(own)
        return f"call_{name}"

    def source(self) -> str:
        """The complete C source."""
        own = sorted(self._own, key=lambda name: name.endswith(".c"))
        return "\n".join(
            [
                "#define _POSIX_C_SOURCE 200809L\n#include <time.h>",
                *amalgamate(
                    self._board.target.header,
                    merge_headers(self._headers),
                    stored=self._stored,
                    scaled=self._scaled,
                    routines=routines_header(environment(), self._routines),
                    integer_routines=routines_header(environment(), self._routines, integers=True),
                ),
                *((HERE / name).read_text(encoding="utf-8") for name in own),
                *(function.text for function in self._table.functions.values()),
                *self._entries.values(),
            ]
        )

    def build(self, folder: Path, compiler: Compiler) -> Library:
        """Compile and load; raises EdgeconvError when the C does not compile."""
        (folder / "bench.c").write_text(self.source(), encoding="utf-8")
        binary = compile_project(
            folder,
            self._board,
            sources=["bench.c"],
            out=folder / "bench.so",
            extra_flags=("-fPIC", "-shared", "-w"),
            compiler=compiler,
        )
        return Library(binary.path)


class Library:
    """The loaded program."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.bench_seconds.restype = ctypes.c_double
        self._library.bench_peak.restype = ctypes.c_double

    def set_sgemm(self, address: int | None) -> None:
        """Where the baseline finds cblas_sgemm."""
        ctypes.c_void_p.in_dll(self._library, "bench_sgemm").value = address

    def peak(self) -> float:
        """GFLOP/s of multiply-adds on registers."""
        return float(self._library.bench_peak())

    def seconds(self, function: str, pointers: Sequence[int], calls: int) -> float:
        """Seconds per call, the mean of ``calls`` after one that is not counted."""
        arguments = (ctypes.c_void_p * len(pointers))(*pointers)
        return float(self._library.bench_seconds(self._library[function], arguments, calls))


class Arena:
    """One block of memory for all operands of a convolution, each aligned as a tensor is."""

    def __init__(self, sizes: Iterable[int], align: int) -> None:
        self._align = max(align, LINE_BYTES)
        total = sum(self._round(size) for size in sizes)
        self._memory = np.frombuffer(mmap.mmap(-1, max(total, 1)), np.uint8)
        self._memory.fill(0)  # memory that is only read would be one page of zeros, many times
        self._used = 0

    def _round(self, size: int) -> int:
        return -(-size // self._align) * self._align

    def take(self, size: int) -> Floats:
        """The next ``size`` bytes as floats."""
        start, self._used = self._used, self._used + self._round(size)
        return self._memory[start : start + size].view(np.float32)

"""What SConv is held against: im2col with a BLAS, and its own parts."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import platform
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.packing import weights_of
from edgeconv.kernels.algorithms.problem import ConvProblem

_ROW_MAJOR, _NO_TRANS = 101, 111  # of cblas.h
_PREFIX = "OPENBLAS_"
_CORE_VARIABLE = "OPENBLAS_CORETYPE"
# Names of kernels that fit many CPUs, by uname -m.
_CORES = {
    "x86_64": ("Haswell", "Zen", "SkylakeX"),
    "aarch64": ("ARMV8", "CORTEXA57", "CORTEXA72", "NEOVERSEN1"),
}
_CLEARLY = 0.03  # faster than the library's own choice by more than noise
_SIZE, _RUNS = 1024, 5


def im2col_gemm(problem: ConvProblem, node: Node, graph: Graph, matrix_bytes: int) -> Layer:
    """The call that lowers one image to a matrix of ``matrix_bytes`` and multiplies it.

    Without a bias: the product stores nothing else than its sums.
    """
    weights = weights_of(node, graph)
    return Layer(
        node=node,
        algorithm="im2col_gemm",
        template="im2col.c.j2",
        params={
            "groups": problem.groups,
            "in_c": problem.group_in_c,
            "out_c": problem.group_out_c,
            "pointwise": problem.is_pointwise,
            **problem.window,
        },
        args=(
            Arg(ArgKind.INPUT, "in", node.inputs[0]),
            Arg(ArgKind.WEIGHTS, "filters", "filters"),
            Arg(ArgKind.OUTPUT, "out", node.output),
            Arg(ArgKind.WORKSPACE, "matrix"),
        ),
        headers=(),
        work=Work(0, 0, 0, 0),  # is timed, not predicted
        blobs=(Blob("filters", weights.size, lambda: weights),),
        workspace_bytes=matrix_bytes,
        macs=problem.macs,
    )


def part_of(sconv: Layer, *, computes: bool) -> Layer:
    """``sconv`` without packing (``computes``), or without the micro-kernel."""
    params = {**sconv.params, "computes": computes}
    return replace(sconv, algorithm="part", template="packing.c.j2", params=params)


class OpenBlas:
    """The system's OpenBLAS on one thread, with the kernels that are the fastest here.

    Variables of the environment that tune OpenBLAS (OPENBLAS_CORETYPE above all) are ``ignored``,
    so that nothing set for another purpose slows the baseline down.  Nor is its own choice taken
    for granted: a release does not know CPUs younger than itself, so each of ``_CORES`` is tried
    in a process of its own.  ``address`` is that of cblas_sgemm, ``core`` the kernels, ``gflops``
    what they reach on square matrices.  Raises EdgeconvError (exit status 3) where OpenBLAS is not
    installed.
    """

    def __init__(self) -> None:
        name = ctypes.util.find_library("openblas")
        if name is None:
            raise EdgeconvError(
                "no OpenBLAS",
                where="--against openblas",
                rule="needs the shared library libopenblas",
                hint="apt-get install libopenblas-dev, or the like",
                code=Exit.MISSING_TOOL,
            )
        self.ignored = tuple(sorted(entry for entry in os.environ if entry.startswith(_PREFIX)))
        for variable in self.ignored:
            del os.environ[variable]
        rates = {core: _rate_of(name, core) for core in ("", *_CORES.get(platform.machine(), ()))}
        fastest = max(rates, key=lambda core: rates[core])
        if rates[fastest] > (1 + _CLEARLY) * rates[""]:
            os.environ[_CORE_VARIABLE] = fastest
        library = _load(name)
        library.openblas_get_config.restype = ctypes.c_char_p
        library.openblas_get_corename.restype = ctypes.c_char_p
        self.version = " ".join(library.openblas_get_config().decode().split()[:2])
        self.core: str = library.openblas_get_corename().decode()
        self.address = ctypes.cast(library.cblas_sgemm, ctypes.c_void_p).value
        self.gflops = _square_rate(library)


def _load(name: str) -> ctypes.CDLL:
    """The library, on one thread."""
    library = ctypes.CDLL(name)
    library.openblas_set_num_threads(1)
    return library


def _square_rate(library: ctypes.CDLL) -> float:
    """GFLOP/s of the product of two square matrices, the best of some runs."""
    a, b = np.ones((2, _SIZE, _SIZE), np.float32)
    c = np.empty((_SIZE, _SIZE), np.float32)
    n, one, zero = ctypes.c_int(_SIZE), ctypes.c_float(1), ctypes.c_float(0)
    p, q, r = (ctypes.c_void_p(matrix.ctypes.data) for matrix in (a, b, c))
    best = float("inf")
    for _ in range(_RUNS):
        start = time.thread_time()
        library.cblas_sgemm(
            *(_ROW_MAJOR, _NO_TRANS, _NO_TRANS, n, n, n), *(one, p, n, q, n, zero, r, n)
        )
        best = min(best, time.thread_time() - start)
    return 2e-9 * _SIZE**3 / best


def _rate_of(name: str, core: str) -> float:
    """GFLOP/s with the kernels for ``core`` ("": its own choice), 0 where they do not run."""
    code = f"from convtime import baseline as b; print(b._square_rate(b._load({name!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), _CORE_VARIABLE: core},
        capture_output=True,
        text=True,
        check=False,
    )
    return float(done.stdout) if done.returncode == 0 else 0.0

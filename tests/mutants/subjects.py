"""Which tests are meant to notice a mistake in which file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tests.mutants.by_unit_tests import MODULES


@dataclass(frozen=True, slots=True)
class Subject:
    """``source`` is mutated; ``tests`` are pytest's arguments.

    ``geometries``: a kind of ``tests.geometry``, drawn before the tests, which take longer.
    """

    source: str
    tests: tuple[str, ...]
    geometries: str = ""


# One ISA without lanes and one with them: the others have the same loops.
GEOMETRY_ISAS = ("portable", "avx2")
_BUILDS = ("-k", "portable-gcc or avx2-clang", "-m", "not slow")
_KERNELS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ec_activation": ("elementwise", ""),
        "ec_affine": ("elementwise", ""),
        "ec_attention": ("attention", ""),
        "ec_binary": ("elementwise", "binary"),
        "ec_conv_depthwise": ("conv", "convolution"),
        "ec_conv_direct": ("conv", "convolution"),
        "ec_convert": ("data_movement", ""),
        "ec_copy": ("data_movement", ""),
        "ec_elementwise": ("elementwise", ""),
        "ec_epilogue": ("conv", "convolution"),
        "ec_erf": ("elementwise", ""),
        "ec_exp": ("softmax", ""),
        "ec_gather": ("data_movement", ""),
        "ec_gemm": ("sconv", "convolution"),
        "ec_int8_average": ("int8_resize", ""),
        "ec_int8_channel_pairs": ("int8_channels", ""),
        "ec_int8_pair": ("int8_binary", ""),
        "ec_int8_resize": ("int8_resize", ""),
        "ec_int8_table": ("int8_table", ""),
        "ec_integer_pool": ("integer_pool", ""),
        "ec_integer_pool_average": ("integer_pool", ""),
        "ec_integer_pool_max": ("integer_pool", ""),
        "ec_log": ("elementwise", ""),
        "ec_lrn": ("lrn", ""),
        "ec_matmul": ("matmul", "product"),
        "ec_move": ("data_movement", ""),
        "ec_nest": ("reduce", "reduction"),
        "ec_pack_columns": ("sconv", "convolution"),
        "ec_pad": ("data_movement", ""),
        "ec_pool_global": ("pool", "pool"),
        "ec_pool_lanes": ("pool", "pool"),
        "ec_pool_op": ("pool", "pool"),
        "ec_pool_rows": ("pool", "pool"),
        "ec_pow": ("elementwise", ""),
        "ec_product": ("matmul", "product"),
        "ec_reduce": ("reduce", "reduction"),
        "ec_resize": ("resize", "resize"),
        "ec_resize_nearest": ("resize", "resize"),
        "ec_sigmoid": ("elementwise", ""),
        "ec_softmax": ("softmax", ""),
        "ec_softplus": ("elementwise", ""),
        "ec_tanh": ("elementwise", ""),
        "ec_transpose": ("data_movement", ""),
        "ec_unary": ("elementwise", ""),
        "ec_window": ("pool", "pool"),
        "ec_winograd": ("winograd", ""),
    }
)
# Random geometries have tensors of all formats.  Kernels without have a test of their own there.
_STORED: Mapping[str, str] = MappingProxyType(
    {
        "data_movement": "test_moves",
        "elementwise": "test_pools_and_elementwise",
        "lrn": "test_others",
        "softmax": "test_others",
    }
)


def _of_kernel(test: str) -> tuple[str, ...]:
    stored = f"tests/kernels/test_stored_tensors.py::{_STORED[test]}" if test in _STORED else ""
    return (f"tests/kernels/test_{test}.py", *filter(None, [stored]), *_BUILDS)


_MEMORY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "alias": ("alias", "alias_views"),
        "banks": ("banks",),
        "check": ("check",),
        "contents": ("check",),
        "offsets": ("offsets",),
        "order": ("order",),
    }
)
_BUDGET = tuple(
    f"tests/unit/test_budget_{name}.py"
    for name in ("derive", "fit", "frontier", "infeasible", "program")
)
_PASSES = (
    *("binary_to_affine", "channel_shuffle", "common_subexpressions", "compose_gathers"),
    *("compose_views", "constant_folding", "fold_batch_norm", "fold_channel_gather"),
    *("fold_dense_bias", "fold_flatten", "fold_pad", "fuse_activation", "fuse_residual"),
    *("recognise_activations", "reduce_to_pool", "remove_identity", "remove_requantisation"),
    *("requantised_movement", "sink_transposes", "slice_of_concat"),
)
_ALL_PASSES = "tests/unit/test_passes.py"
_IMPORT = tuple(
    f"tests/unit/test_ops_import{name}.py" for name in ("", "_backend", "_resize", "_windows")
)


def _own_first(name: str, tests: tuple[str, ...]) -> tuple[str, ...]:
    """A run ends at the first failure."""
    return tuple(sorted(tests, key=lambda test: name not in test))


SUBJECTS = (
    *(
        Subject(f"runtime_c/kernels/{name}.h", _of_kernel(test), kind)
        for name, (test, kind) in _KERNELS.items()
    ),
    Subject(
        "edgeconv/target/backends/avx2/ec_isa_avx2.h",
        ("tests/kernels/test_vector_ops.py", "-k", "avx2"),
    ),
    *(
        Subject(
            f"edgeconv/search/memory/{name}.py",
            tuple(f"tests/unit/test_memory_{t}.py" for t in tests),
        )
        for name, tests in _MEMORY.items()
    ),
    *(
        Subject(f"edgeconv/search/budget/{name}.py", _own_first(name, _BUDGET))
        for name in ("derive", "fit", "rows")
    ),
    *(
        Subject(
            f"edgeconv/model/passes/{name}.py", (f"tests/unit/test_pass_{name}.py", _ALL_PASSES)
        )
        for name in _PASSES
    ),
    *(
        Subject(f"edgeconv/kernels/ops/{name}.py", _own_first(name, _IMPORT))
        for name in ("concat", "conv", "dense", "pad", "pool", "reduce", "resize")
    ),
    Subject("edgeconv/kernels/storage/scaled.py", ("tests/unit/test_grids.py",)),
    *(
        Subject(f"{folder}/{module}.py", tuple(f"tests/unit/test_{name}.py" for name in tests))
        for folder, modules in MODULES.items()
        for module, tests in modules.items()
    ),
)

"""Modules of rescaling, choice, algorithms and emission, and the files of tests/unit that are meant
to notice a mistake in them, the nearest first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_REQUANTISATION: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "averages": ("averages", "tflite_averages"),
        "by_value": ("by_value",),
        "channel_lines": ("channel_lines",),
        "channel_pairs": ("per_channel",),
        "curve": ("wide_functions",),
        "double_rounding": ("tflite_arithmetic",),
        "exact": ("requantisation", "shifted_results", "by_value", "per_channel"),
        "exact_reals": ("exact_reals",),
        "forms": ("shifted_results", "requantisation"),
        "linear": ("wide_requantisation",),
        "pair": ("pair_sum", "averages", "int8_softmax", "per_channel"),
        "per_channel": ("per_channel",),
        "scalings": ("shifted_results", "per_channel"),
        "softmax": ("int8_softmax",),
        "tflite_averages": ("tflite_averages", "tflite_arithmetic"),
        "tflite_lstm": ("tflite_lstm",),
        "tflite_pairs": ("tflite_arithmetic",),
        "tflite_short": ("tflite_arithmetic", "tflite_lstm"),
        "tflite_wide": ("tflite_arithmetic",),
        "wide": ("wide_requantisation", "wide_functions"),
        "wide_pair": ("wide_requantisation",),
    }
)
_CHOOSE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "arena_limit": ("choose_room",),
        "assignment": ("choose_layouts", "choose_room"),
        "attention": ("attention",),
        "cheapest": ("choose_layouts", "choose_encodings"),
        "elimination": ("pbqp",),
        "fused": ("fused", "streaming_cut"),
        "in_float32": ("in_float32", "faster_in_float32"),
        "layouts": ("choose_layouts", "choose_room"),
        "pbqp": ("pbqp", "choose_layouts"),
        "prices": ("choose_prices", "known_prices", "choose_layouts"),
        "program": ("choose_layouts", "choose_prices"),
        "row_streaming": ("fused", "streaming_cut", "patches"),
        "sharing": ("sharing",),
        "storage": ("choose_storage", "choose_stored_tensors", "grids"),
        "streaming_prices": ("fused",),
        "winograd": ("winograd_choice", "winograd"),
    }
)
_ALGORITHMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bfloat16/__init__": ("bfloat16",),
        "direct/band": ("direct_plan",),
        "direct/candidate": ("waits", "direct_plan"),
        "direct/packing": ("direct_plan",),
        "direct/plan": ("direct_plan", "loads", "prefetch"),
        "direct/tiles": ("direct_plan",),
        "direct/traffic": ("direct_plan", "traffic"),
        "int16/overlap": ("int16_overlap",),
        "integer/adjacent_windows": ("integer_overlap",),
        "integer/cycles": ("integer_cycles",),
        "integer/cycles_2x2": ("integer_cycles",),
        "integer/depthwise_2x2": ("integer_overlap", "integer_cycles"),
        "integer/kernels": ("integer_kernels", "integer_cycles"),
        "integer/overlap": ("integer_overlap",),
        "integer/panels": ("integer_cycles",),
        "rows/plan": ("matrix_unit_plans", "matrix_unit"),
        "sconv/levels": ("sconv_slicing",),
        "sconv/plan": ("sconv_slicing", "loads"),
        "sconv/search": ("sconv_constraints", "sconv_slicing", "sconv_traffic"),
        "sconv/shape": ("sconv_constraints", "sconv_slicing"),
        "sconv/slicing": ("sconv_slicing", "sconv_constraints"),
        "sconv/traffic": ("sconv_traffic",),
        "sums": ("padded_integers", "channel_grids", "widened_filters"),
        "wide_functions": ("wide_functions",),
        "widening": ("widened_filters",),
        "winograd/bound": ("winograd",),
        "winograd/equations": ("winograd",),
        "winograd/error": ("winograd",),
        "winograd/forms": ("winograd", "winograd_choice"),
        "winograd/plan": ("winograd", "winograd_sum"),
        "winograd/probable": ("winograd",),
        "winograd/toom_cook": ("winograd",),
    }
)
_CODEGEN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "c_names": ("c_names", "reserved_names"),
        "equal_constants": ("choose_storage",),
        "function_names": ("function_names",),
        "guarded": ("prefetch", "sharing"),
        "image_parts": ("weight_image", "placement"),
        "initialisers": ("initialisers",),
        "lines": ("lines",),
        "port_names": ("port_names", "tensorflow_names"),
        "ports": ("input_layout", "ports"),
        "pruning": ("pruning",),
        "read_back": ("read_back",),
        "reserved_names": ("reserved_names",),
        "results": ("switches",),
        "routines": ("winograd",),
        "sbom": ("sbom",),
        "switches": ("switches",),
        "tensorflow_names": ("tensorflow_names",),
    }
)
# Their folder -> its modules.
MODULES: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "edgeconv/ir/requantisation": _REQUANTISATION,
        "edgeconv/search/choose": _CHOOSE,
        "edgeconv/kernels/algorithms": _ALGORITHMS,
        "codegen": _CODEGEN,
    }
)

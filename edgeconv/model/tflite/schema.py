"""What is read of TensorFlow Lite's schema: operators, element types, and where options lie.

https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# By their number; Python's and numpy's names where they have one.
TYPES = (
    *("float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16", "complex64"),
    *("int8", "float64", "complex128", "uint64", "resource", "variant", "uint32", "uint16", "int4"),
    *("bfloat16", "int2", "uint4", "float8_e4m3fn", "float8_e5m2"),
)
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")

# By their number.
_NAMES = (
    "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE "
    "EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D "
    "LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU "
    "RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH "
    "CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD "
    "UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN "
    "SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN "
    "EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM "
    "ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN "
    "TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT "
    "SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND "
    "LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD "
    "RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V "
    "UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG "
    "QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 "
    "NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL "
    "PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL "
    "COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL "
    "CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS "
    "RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE "
    "RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 "
    "UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT"
)
_STABLEHLO = (
    "LOGISTIC ADD DIVIDE MULTIPLY MAXIMUM RESHAPE CLAMP CONCATENATE BROADCAST_IN_DIM "
    "CONVOLUTION SLICE CUSTOM_CALL REDUCE ABS AND COSINE EXPONENTIAL FLOOR LOG MINIMUM "
    "NEGATE OR POWER REMAINDER RSQRT SELECT SUBTRACT TANH SCATTER COMPARE CONVERT "
    "DYNAMIC_SLICE DYNAMIC_UPDATE_SLICE PAD IOTA DOT_GENERAL REDUCE_WINDOW SORT WHILE "
    "GATHER TRANSPOSE"
)
OPERATORS = (
    *_NAMES.split(),
    *(f"STABLEHLO_{name}" for name in _STABLEHLO.split()),
    *("DILATE", "STABLEHLO_RNG_BIT_GENERATOR", "REDUCE_WINDOW", "STABLEHLO_COMPOSITE"),
)


TEXT = "text"


@dataclass(frozen=True, slots=True)
class Field:
    """One option: its number in the table, its type as `struct` has it, "*" in front for a vector,
    ``TEXT`` for a string, and what it is where it is absent."""

    number: int
    code: str
    default: int | float | str = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """The options of an operator: the number of their table's type, and their fields."""

    kind: int
    fields: Mapping[str, Field]


def _activated(number: int = 0) -> dict[str, Field]:
    return {"activation": Field(number, "b")}


_STRIDES = {"padding": Field(0, "b"), "stride_w": Field(1, "i"), "stride_h": Field(2, "i")}
_CORNERS = ("align_corners", "half_pixel_centers")
_POOL = Layout(
    5, {**_STRIDES, "kernel_w": Field(3, "i"), "kernel_h": Field(4, "i"), **_activated(5)}
)
_CONV_3D = Layout(
    106,
    {
        "padding": Field(0, "b"),
        **{f"stride_{axis}": Field(number, "i") for number, axis in enumerate("dwh", 1)},
        **_activated(4),
        **{f"dilation_{axis}": Field(number, "i", 1) for number, axis in enumerate("dwh", 5)},
    },
)
_SEQUENCE = {"time_major": Field(0, "?"), **_activated(1)}
_CLIPS = {"cell_clip": Field(1, "f", 0.0), "projection_clip": Field(2, "f", 0.0)}
_REDUCE = Layout(27, {"keep_dims": Field(0, "?")})

OPTIONS: Mapping[str, Layout] = MappingProxyType(
    {
        "CONV_2D": Layout(
            1,
            {
                **_STRIDES,
                **_activated(3),
                "dilation_w": Field(4, "i", 1),
                "dilation_h": Field(5, "i", 1),
            },
        ),
        "DEPTHWISE_CONV_2D": Layout(
            2,
            {
                **_STRIDES,
                "depth_multiplier": Field(3, "i"),
                **_activated(4),
                "dilation_w": Field(5, "i", 1),
                "dilation_h": Field(6, "i", 1),
            },
        ),
        "TRANSPOSE_CONV": Layout(49, {**_STRIDES, **_activated(3)}),
        "CONV_3D": _CONV_3D,
        "CONV_3D_TRANSPOSE": _CONV_3D,
        "AVERAGE_POOL_2D": _POOL,
        "L2_POOL_2D": _POOL,
        "MAX_POOL_2D": _POOL,
        "FULLY_CONNECTED": Layout(
            8,
            {
                **_activated(),
                "weights_format": Field(1, "b"),
                "keep_num_dims": Field(2, "?"),
                "asymmetric_quantize_inputs": Field(3, "?"),
            },
        ),
        "SOFTMAX": Layout(9, {"beta": Field(0, "f", 0.0)}),
        "CONCATENATION": Layout(10, {"axis": Field(0, "i"), **_activated(1)}),
        "ADD": Layout(11, _activated()),
        "SUB": Layout(28, _activated()),
        "MUL": Layout(21, _activated()),
        "DIV": Layout(29, _activated()),
        "L2_NORMALIZATION": Layout(12, _activated()),
        "RESIZE_BILINEAR": Layout(15, {n: Field(i, "?") for i, n in enumerate(_CORNERS, 2)}),
        "RESIZE_NEAREST_NEIGHBOR": Layout(74, {n: Field(i, "?") for i, n in enumerate(_CORNERS)}),
        "RESHAPE": Layout(17, {"new_shape": Field(0, "*i")}),
        "SQUEEZE": Layout(30, {"squeeze_dims": Field(0, "*i")}),
        "SPACE_TO_DEPTH": Layout(19, {"block_size": Field(0, "i")}),
        "DEPTH_TO_SPACE": Layout(94, {"block_size": Field(0, "i")}),
        "GATHER": Layout(23, {"axis": Field(0, "i"), "batch_dims": Field(1, "i")}),
        **dict.fromkeys(
            (
                *("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"),
                *("REDUCE_ANY", "REDUCE_ALL"),
            ),
            _REDUCE,
        ),
        "STRIDED_SLICE": Layout(
            32,
            {
                name: Field(number, "i")
                for number, name in enumerate(("begin", "end", "ellipsis", "new_axis", "shrink"))
            }
            | {"offset": Field(5, "?")},
        ),
        **{kind: Layout(number, {}) for kind, number in (("TOPK_V2", 34), ("RANGE", 73))},
        "SHAPE": Layout(55, {"out_type": Field(0, "b")}),
        "ARG_MAX": Layout(40, {"output_type": Field(0, "b")}),
        "ARG_MIN": Layout(57, {"output_type": Field(0, "b")}),
        "CUMSUM": Layout(102, {"exclusive": Field(0, "?"), "reverse": Field(1, "?")}),
        "REVERSE_SEQUENCE": Layout(87, {"seq_dim": Field(0, "i"), "batch_dim": Field(1, "i")}),
        "ONE_HOT": Layout(61, {"axis": Field(0, "i")}),
        "IF": Layout(92, {"then": Field(0, "i"), "else": Field(1, "i")}),
        "WHILE": Layout(93, {"cond": Field(0, "i"), "body": Field(1, "i")}),
        "SPLIT": Layout(35, {"count": Field(0, "i")}),
        "SPLIT_V": Layout(79, {"count": Field(0, "i")}),
        "PACK": Layout(59, {"count": Field(0, "i"), "axis": Field(1, "i")}),
        "UNPACK": Layout(64, {"count": Field(0, "i"), "axis": Field(1, "i")}),
        "LEAKY_RELU": Layout(75, {"alpha": Field(0, "f", 0.0)}),
        "MIRROR_PAD": Layout(77, {"mode": Field(0, "b")}),
        "BATCH_MATMUL": Layout(101, {"adj_x": Field(0, "?"), "adj_y": Field(1, "?")}),
        "CALL_ONCE": Layout(103, {"subgraph": Field(0, "i")}),
        "VAR_HANDLE": Layout(111, {"container": Field(0, TEXT, ""), "name": Field(1, TEXT, "")}),
        "FAKE_QUANT": Layout(
            58,
            {
                "min": Field(0, "f", 0.0),
                "max": Field(1, "f", 0.0),
                "bits": Field(2, "i"),
                "narrow": Field(3, "?"),
            },
        ),
        "SVDF": Layout(6, {"rank": Field(0, "i"), **_activated(1)}),
        "RNN": Layout(7, _activated()),
        "UNIDIRECTIONAL_SEQUENCE_RNN": Layout(31, _SEQUENCE),
        "BIDIRECTIONAL_SEQUENCE_RNN": Layout(70, {**_SEQUENCE, "merge_outputs": Field(2, "?")}),
        "LSTM": Layout(14, {**_activated(), **_CLIPS, "kernel_type": Field(3, "b")}),
        "UNIDIRECTIONAL_SEQUENCE_LSTM": Layout(
            71,
            {
                **_activated(),
                **_CLIPS,
                "time_major": Field(3, "?"),
                "diagonal": Field(5, "?"),
            },
        ),
        "BIDIRECTIONAL_SEQUENCE_LSTM": Layout(
            69,
            {
                **_activated(),
                **_CLIPS,
                "merge_outputs": Field(3, "?"),
                "time_major": Field(4, "?", True),
            },
        ),
        "GELU": Layout(116, {"approximate": Field(0, "?")}),
    }
)
# Of the second union of options, which newer operators have.
MORE_OPTIONS: Mapping[str, Layout] = MappingProxyType(
    {"STABLEHLO_COMPOSITE": Layout(21, {"decomposition": Field(1, "i")})}
)

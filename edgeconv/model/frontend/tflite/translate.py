"""A TensorFlow Lite model -> an ONNX model of the same tensors and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import onnx
from onnx import helper

from edgeconv.model.frontend.clipped_cells import DOMAIN as DOMAIN_OF_CELLS
from edgeconv.model.frontend.clipped_cells import VERSION
from edgeconv.model.frontend.tflite import (
    batches,
    complex_numbers,
    control_flow,
    detections,
    indexing,
    recurrent,
    reductions,
    transposed,
    windows,
)
from edgeconv.model.frontend.tflite import comparisons as truths
from edgeconv.model.frontend.tflite import elementwise as each
from edgeconv.model.frontend.tflite import movement as moving
from edgeconv.model.frontend.tflite.dilated import dilated
from edgeconv.model.frontend.tflite.elements import element
from edgeconv.model.frontend.tflite.variables import KINDS, Variable, Variables
from edgeconv.model.frontend.tflite.writing import Translator, UnsupportedError, Writing
from edgeconv.model.tflite import DamagedError, Model, Operator, Tensor, read
from edgeconv.model.tflite.file import ABSENT
from edgeconv.model.tflite.flatbuffer import Content

DOMAIN = "tflite"  # of operators that are not translated
REASON = "reason"  # their attribute that says why
_OPSET, _IR = 21, 10  # the first with integers of 16 bits and of 4

TRANSLATORS: Mapping[str, Translator] = MappingProxyType(
    {
        "CONV_2D": windows.conv,
        "CONV_3D": windows.conv_3d,
        "L2_POOL_2D": windows.l2_pool,
        "DEPTHWISE_CONV_2D": windows.depthwise_conv,
        "TRANSPOSE_CONV": transposed.transpose_conv,
        "FULLY_CONNECTED": windows.fully_connected,
        "AVERAGE_POOL_2D": windows.pool("AveragePool"),
        "MAX_POOL_2D": windows.pool("MaxPool"),
        **{known.upper(): each.binary(known) for known in ("Add", "Sub", "Mul", "Div", "Pow")},
        "PRELU": each.prelu,
        "MAXIMUM": each.binary("Max"),
        "MINIMUM": each.binary("Min"),
        "ADD_N": each.binary("Sum"),
        **{
            known.upper(): each.unary(known)
            for known in ("Abs", "Neg", "Sqrt", "Exp", "Log", "Floor", "Ceil", "Round", "Elu")
            + ("Sin", "Cos", "Sign")
        },
        "LOGISTIC": each.unary("Sigmoid"),
        "HARD_SWISH": each.unary("HardSwish"),
        **{
            kind: each.bounded(kind)
            for kind in ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "TANH")
        },
        "RSQRT": each.rsqrt,
        "SQUARE": each.square,
        "SQUARED_DIFFERENCE": each.squared_difference,
        "FLOOR_DIV": each.floor_div,
        "FLOOR_MOD": each.floor_mod,
        "ATAN2": each.arc_tangent,
        "BITWISE_XOR": each.of_bits("BitwiseXor"),
        "FAKE_QUANT": each.fake_quant,
        "LEAKY_RELU": each.leaky_relu,
        "GELU": each.gelu,
        "SOFTMAX": each.softmax,
        "LOG_SOFTMAX": each.unary("LogSoftmax", axis=-1),
        "L2_NORMALIZATION": each.l2_normalisation,
        "QUANTIZE": each.quantise,
        "DEQUANTIZE": each.dequantise,
        "DENSIFY": moving.densify,
        "CAST": each.cast,
        **{
            kind: truths.compared(known)
            for kind, known in (
                ("EQUAL", "Equal"),
                ("LESS", "Less"),
                ("LESS_EQUAL", "LessOrEqual"),
                ("GREATER", "Greater"),
                ("GREATER_EQUAL", "GreaterOrEqual"),
            )
        },
        "NOT_EQUAL": truths.not_equal,
        "LOGICAL_AND": truths.logical("And", 2),
        "LOGICAL_OR": truths.logical("Or", 2),
        "LOGICAL_NOT": truths.logical("Not", 1),
        "SELECT": truths.select,
        "SELECT_V2": truths.select_v2,
        "RESHAPE": moving.reshape,
        "SQUEEZE": moving.squeeze,
        "EXPAND_DIMS": moving.expand_dims,
        "TRANSPOSE": moving.transpose,
        "CONCATENATION": moving.concat,
        "PACK": moving.pack,
        "UNPACK": moving.unpack,
        "SPLIT": moving.split,
        "SPLIT_V": moving.split_v,
        "SLICE": moving.cut,
        "STRIDED_SLICE": moving.strided_slice,
        "PAD": moving.pad,
        "PADV2": moving.pad,
        "MIRROR_PAD": moving.mirror_pad,
        "GATHER": moving.gather,
        "TILE": moving.repeat,
        "BROADCAST_TO": moving.broadcast_to,
        "SHAPE": moving.shape,
        "SPACE_TO_DEPTH": moving.blocks("SpaceToDepth"),
        "DEPTH_TO_SPACE": moving.blocks("DepthToSpace"),
        "SPACE_TO_BATCH_ND": batches.space_to_batch,
        "BATCH_TO_SPACE_ND": batches.batch_to_space,
        "ARG_MAX": indexing.extreme_place("ArgMax"),
        "ARG_MIN": indexing.extreme_place("ArgMin"),
        "TOPK_V2": indexing.top_k,
        "GATHER_ND": indexing.gather_nd,
        "SCATTER_ND": indexing.scatter_nd,
        "EMBEDDING_LOOKUP": indexing.embedding_lookup,
        "DYNAMIC_UPDATE_SLICE": indexing.dynamic_update_slice,
        "REVERSE_V2": indexing.reverse,
        "REVERSE_SEQUENCE": indexing.reverse_sequence,
        "CUMSUM": indexing.cumulative_sum,
        "FILL": indexing.fill,
        "ZEROS_LIKE": indexing.zeros_like,
        "RANGE": indexing.numbers_between,
        "RANK": indexing.rank,
        "BROADCAST_ARGS": indexing.broadcast_args,
        "ONE_HOT": indexing.one_hot,
        "IF": control_flow.branch,
        "WHILE": control_flow.loop,
        **dict.fromkeys(
            ("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"), detections.suppression
        ),
        "STABLEHLO_COMPOSITE": control_flow.composite,
        "SVDF": recurrent.svdf,
        "UNIDIRECTIONAL_SEQUENCE_LSTM": recurrent.sequence_lstm,
        "BIDIRECTIONAL_SEQUENCE_LSTM": recurrent.bidirectional_lstm,
        "UNIDIRECTIONAL_SEQUENCE_RNN": recurrent.sequence_rnn,
        "BIDIRECTIONAL_SEQUENCE_RNN": recurrent.bidirectional_rnn,
        "REDUCE_ANY": reductions.any_or_all("ReduceMax"),
        "REDUCE_ALL": reductions.any_or_all("ReduceMin"),
        "MEAN": reductions.reduce("ReduceMean"),
        "SUM": reductions.reduce("ReduceSum"),
        "REDUCE_MAX": reductions.reduce("ReduceMax"),
        "REDUCE_MIN": reductions.reduce("ReduceMin"),
        "REDUCE_PROD": reductions.reduce("ReduceProd"),
        "RESIZE_BILINEAR": reductions.resize_bilinear,
        "RESIZE_NEAREST_NEIGHBOR": reductions.resize_nearest,
        "BATCH_MATMUL": reductions.batch_matmul,
        "RFFT2D": complex_numbers.rfft_2d,
        "COMPLEX_ABS": complex_numbers.complex_abs,
        "REAL": complex_numbers.real_numbers,
        "IMAG": complex_numbers.imaginary_numbers,
    }
)
# Of complex numbers, which all others refuse.
_COMPLEX: Mapping[str, Translator] = MappingProxyType(
    {
        **{kind: TRANSLATORS[kind] for kind in ("RFFT2D", "COMPLEX_ABS", "REAL", "IMAG")},
        **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), complex_numbers.same_pairs),
    }
)
_CUSTOM: Mapping[str, Translator] = MappingProxyType(
    {
        "Convolution2DTransposeBias": transposed.convolution_2d_transpose_bias,
        "TFLite_Detection_PostProcess": detections.post_process,
    }
)
_VARIABLE = "a variable, which keeps its value from run to run"
_RECURRENT = "a recurrent layer of one step, which keeps its state from run to run"
_STATES = ("UNIDIRECTIONAL_SEQUENCE_", "BIDIRECTIONAL_SEQUENCE_", "SVDF")
_WHY = MappingProxyType(
    {
        **dict.fromkeys(("RNN", "LSTM"), _RECURRENT),
    }
)


@dataclass(frozen=True, slots=True)
class Translated:
    """``model`` and ``notes`` on what of the file it does not have.

    ``effects``: values that stand for what operators without outputs do; none of ``model``'s.
    ``states``: variables, which are inputs and outputs of ``model`` behind the others.
    ``signature``: what the file's own signature calls inputs and outputs, by name.
    """

    model: onnx.ModelProto
    notes: tuple[str, ...]
    effects: tuple[str, ...] = ()
    states: tuple[Variable, ...] = ()
    signature: Mapping[str, str] = field(default_factory=dict)


def translate(content: Content, where: str, *, dynamic_quantisation: bool = False) -> Translated:
    """The model in ``content``, the bytes of the file ``where``, as ONNX.

    ``dynamic_quantisation``: layers of int8 filters that read float32 quantise it, as TensorFlow
    Lite's hybrid kernels do.

    Tensors keep their names, shapes and order of elements.  An operator that is not translated is
    one of the domain `DOMAIN`, which nothing behind knows; it says why in its attribute `REASON`.

    Raises DamagedError for what is no such model, EdgeconvError beyond a limit.
    """
    file = read(content, where)
    out = Writing(file, content, where, _fill, dynamic_quantisation=dynamic_quantisation)
    variables = Variables(out)
    _fill(out, variables)
    file = out.model
    states, kept, made = variables.finish()
    for index in file.outputs:
        if file.tensors[index].data is not None:
            _store(out, index)
    fixed = not any(file.tensors[index].free for index in file.inputs)
    graph = helper.make_graph(
        out.nodes,
        "tflite",
        [_value(tensor) for tensor in (*(file.tensors[i] for i in file.inputs), *kept)],
        [
            *(_value(file.tensors[index], shaped=fixed) for index in file.outputs),
            *map(_value, made),
        ],
        out.initializers,
        value_info=_inside(file) if fixed else [],
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    if out.functions:
        opsets.append(helper.make_opsetid(DOMAIN_OF_CELLS, VERSION))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR, functions=out.functions)
    called = {file.tensors[index].name: name for index, name in file.signature.items()}
    notes = (*_left_out(out), *out.notes())
    return Translated(model, notes, tuple(out.effects), states, called)


def _left_out(out: Writing) -> tuple[str, ...]:
    """A note on graphs of the file that none runs."""
    count = len(out.model.bodies) - len(out.called)
    return (f"{count + 1} graphs, of which the first is compiled",) if count else ()


def _fill(out: Writing, variables: Variables | None = None) -> None:
    """Write the operators of a graph.  ``variables``: of the file; None of a graph that another one
    runs, which has none."""
    out.model = dilated(out)
    tensors = out.model.tensors
    written = {index for index, tensor in enumerate(tensors) if tensor.data is not None}
    written.update(out.model.inputs)
    for operator in out.model.operators:
        twice = next((index for index in operator.outputs if index in written), None)
        if twice is not None:
            raise DamagedError(f"{operator.kind} writes {tensors[twice].name!r} again")
        nothing = not operator.outputs and _translator(operator) is not None
        if len(set(operator.outputs)) < len(operator.outputs) or nothing:
            raise DamagedError(f"{operator.kind} with outputs {list(operator.outputs)}")
        written.update(operator.outputs)
        _write(out, operator, variables)


def _translator(operator: Operator) -> Translator | None:
    return (_CUSTOM if operator.custom else TRANSLATORS).get(operator.kind)


def _store(out: Writing, index: int) -> None:
    """A constant that is an output."""
    try:
        out.store(index)
    except UnsupportedError as error:
        out.refuse_constant(index, DOMAIN, {REASON: str(error)})


def _write(out: Writing, operator: Operator, variables: Variables | None) -> None:
    """The nodes of ``operator``, or one of its own that says why there are none.

    Raises UnsupportedError for what another graph does without a result, since nothing would ask
    for that: the operator that runs the graph is not translated then.
    """
    out.begin(operator)
    try:
        if operator.kind in KINDS and not operator.custom:
            if variables is None:
                raise UnsupportedError("uses a variable within another graph")
            variables.write(operator)
            return
        translator = _translator(operator)
        if translator is None:
            why = "a custom operator" if operator.custom else _WHY.get(operator.kind)
            raise UnsupportedError(why or "not supported")
        stays = any(out.model.tensors[i].stays for i in operator.inputs if i != ABSENT)
        if stays and not operator.kind.startswith(_STATES):
            raise UnsupportedError(f"reads {_VARIABLE}")
        if out.is_complex(operator):
            if operator.kind not in _COMPLEX:
                raise UnsupportedError("computes with complex numbers")
            translator = _COMPLEX[operator.kind]
        translator(out, operator)
    except UnsupportedError as error:
        if variables is None and not operator.outputs:
            raise
        out.refuse(operator, DOMAIN, {REASON: str(error)})


def _value(tensor: Tensor, *, shaped: bool = True) -> onnx.ValueInfoProto:
    """What ONNX says of a tensor: dimensions that the file leaves free have no size."""
    value = onnx.ValueInfoProto(name=tensor.name)
    value.type.tensor_type.elem_type = element(tensor)
    if shaped:
        value.type.tensor_type.shape.SetInParent()
        for axis, size in enumerate(tensor.shape):
            free = axis in tensor.free
            value.type.tensor_type.shape.dim.add(**({} if free else {"dim_value": size}))
    return value


def _inside(file: Model) -> list[onnx.ValueInfoProto]:
    """Types of the values between inputs and outputs, as the file has them."""
    ends = {*file.inputs, *file.outputs}
    return [
        _value(tensor)
        for index, tensor in enumerate(file.tensors)
        if index not in ends and tensor.data is None and element(tensor)
    ]

"""A TensorFlow Lite model file: its tensors and operators, of which every index is a sound one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any

from edgeconv.base import limits
from edgeconv.base.names import untaken
from edgeconv.model.tflite.flatbuffer import Buffer, Content, DamagedError, Place, Table
from edgeconv.model.tflite.schema import MORE_OPTIONS, OPERATORS, OPTIONS, TEXT, TYPES, Layout
from edgeconv.model.tflite.sparsity import Sparsity, read_sparsity

Options = Mapping[str, Any]

IDENTIFIER = b"TFL3"
ABSENT = -1  # the index of an optional operand that is left out

# Of the schema's tables: Model, SubGraph, Tensor, QuantizationParameters, Operator, OperatorCode
# and Buffer.
_VERSION, _CODES, _SUBGRAPHS, _BUFFERS, _SIGNATURES = 0, 1, 2, 4, 7
_OF_INPUTS, _OF_OUTPUTS, _OF_GRAPH = 0, 1, 4  # of a signature
_CALLED, _INDEX = 0, 1  # of what it names
_TENSORS, _INPUTS, _OUTPUTS, _OPERATORS = 0, 1, 2, 3
_SHAPE, _TYPE, _BUFFER, _NAME, _QUANTISATION, _VARIABLE, _SPARSITY, _SIGNATURE = range(8)
_SCALE, _ZERO, _DETAILS_KIND, _DETAILS, _AXIS = 2, 3, 4, 5, 6
_BLOCKS = 2  # of the kinds of details
_CODE, _OPERANDS, _RESULTS, _OPTIONS_KIND, _OPTIONS, _OWN_OPTIONS = range(6)
_MORE_OPTIONS_KIND, _MORE_OPTIONS = 11, 12
_OLD_CODE, _CUSTOM, _, _NEW_CODE = range(4)
_DATA, _FAR, _FAR_SIZE = range(3)
_UNDERSTOOD = 3  # the version of the schema
_CUSTOM_CODE = OPERATORS.index("CUSTOM")


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of ``size`` elements along the last dimension, each with a scale and a zero point of
    its own: elements of the tensors at these places among those of the graph, -1 for zeros."""

    size: int
    scales: int
    zeros: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor.

    ``name``: of the file, or made here where it has none or one that another has.  ``shape``: as
    stored, free dimensions as 1; ``free``: the axes of those.  ``dtype``: numpy's name of the
    element type.  ``data``: where in the file the bytes of a constant lie.  ``scale``, ``zero``:
    one number, or one per index of ``axis``; () where elements are no integers of a scale.
    ``stays``: its value is kept from one run to the next.  ``sparsity``: how a constant is stored
    of which not all elements are; None where they lie in order.  ``blocks``: of integers whose
    scales are another tensor's.
    """

    name: str
    shape: tuple[int, ...]
    free: frozenset[int]
    dtype: str
    data: Place | None
    scale: tuple[float, ...]
    zero: tuple[int, ...]
    axis: int
    stays: bool
    sparsity: Sparsity | None
    blocks: Blocks | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: ``kind`` is its name in the schema, or its own where it is ``custom``.

    ``inputs`` and ``outputs`` are indices of tensors, ``ABSENT`` where an operand is left out.
    ``options`` has those that `schema.OPTIONS` names; ``own``: where in the file those of a custom
    operator lie.
    """

    kind: str
    custom: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Options
    own: Place | None


@dataclass(frozen=True, slots=True)
class Model:
    """The first subgraph, which is what runs.  ``bodies``: the others, in order, which it may call;
    they have none.  ``signature``: what the first signature of it calls its inputs and outputs, by
    the index of the tensor."""

    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]
    bodies: tuple[Model, ...] = ()
    signature: Mapping[int, str] = dataclass_field(default_factory=dict)


def is_tflite(content: Content) -> bool:
    """Whether the bytes say that they are such a model."""
    return content[4:8] == IDENTIFIER


def read(content: Content, where: str) -> Model:
    """The model in ``content``, the bytes of the file ``where``.

    Raises DamagedError for what is no such model, EdgeconvError beyond a limit.
    """
    root = Buffer(content, where).root()
    version = root.scalar(_VERSION, "I", 0)
    if version != _UNDERSTOOD:
        raise DamagedError(f"version {version} of the schema, of which {_UNDERSTOOD} is understood")
    graphs = list(root.tables(_SUBGRAPHS))
    if not graphs:
        raise DamagedError("a model without a graph")
    for field in (_TENSORS, _OPERATORS):
        limits.held("model-nodes", sum(graph.length(field) for graph in graphs), where)
    limits.held("model-nodes", max(root.length(_BUFFERS), root.length(_CODES)), where)
    buffers = [_place(each, len(content)) for each in root.tables(_BUFFERS)]
    codes = [_kind(each) for each in root.tables(_CODES)]
    first, *bodies = [_graph(each, buffers, codes, where) for each in graphs]
    limits.held("model-nodes", root.length(_SIGNATURES), where)
    called = next(
        (
            _signature(each, first)
            for each in root.tables(_SIGNATURES)
            if not each.scalar(_OF_GRAPH, "I", 0)
        ),
        {},
    )
    return replace(first, bodies=tuple(bodies), signature=called)


def _signature(table: Table, graph: Model) -> dict[int, str]:
    """Index -> name of the inputs and outputs that a signature of ``graph`` names."""
    found: dict[int, str] = {}
    for ends_at, ends in ((_OF_INPUTS, graph.inputs), (_OF_OUTPUTS, graph.outputs)):
        for each in table.tables(ends_at):
            index, name = each.scalar(_INDEX, "I", 0), each.text(_CALLED)
            if index in ends and name:
                found.setdefault(index, name)
    return found


def _graph(
    graph: Table, buffers: Sequence[Place | None], codes: Sequence[tuple[str, bool]], where: str
) -> Model:
    tensors = _named([_tensor(each, buffers, where) for each in graph.tables(_TENSORS)])
    operators = [_operator(each, codes, len(tensors)) for each in graph.tables(_OPERATORS)]
    for tensor in tensors:
        if tensor.blocks is not None:
            _check_index(tensor.blocks.scales, len(tensors), "tensors")
            _check_index(max(tensor.blocks.zeros, 0), len(tensors), "tensors")
    inputs, outputs = graph.numbers(_INPUTS, "i"), graph.numbers(_OUTPUTS, "i")
    for index in (*inputs, *outputs):
        _check_index(index, len(tensors), "tensors")
    return Model(tuple(tensors), inputs, outputs, tuple(operators))


def _place(buffer: Table, end: int) -> Place | None:
    """Where a buffer's bytes lie: within the FlatBuffer, or behind it in a large file."""
    found = buffer.vector(_DATA, 1)
    far, size = buffer.scalar(_FAR, "Q", 0), buffer.scalar(_FAR_SIZE, "Q", 0)
    if far > 1:
        if far + size > end:
            raise DamagedError(f"a buffer of {size} bytes at byte {far} of {end}")
        return far, size
    return found if found and found[1] else None


def _kind(code: Table) -> tuple[str, bool]:
    """The name of an operator, and whether it is a custom one."""
    number = max(code.scalar(_OLD_CODE, "b", 0), code.scalar(_NEW_CODE, "i", 0))
    if number == _CUSTOM_CODE:
        return code.text(_CUSTOM) or "CUSTOM", True
    return (OPERATORS[number] if 0 <= number < len(OPERATORS) else f"operator {number}"), False


def _tensor(table: Table, buffers: Sequence[Place | None], where: str) -> Tensor:
    shape, signature = table.numbers(_SHAPE, "i"), table.numbers(_SIGNATURE, "i")
    if len(signature) != len(shape):
        signature = shape
    if min(shape, default=0) < 0:
        raise DamagedError(f"a tensor of shape {list(shape)}")
    kind, buffer = table.scalar(_TYPE, "b", 0), table.scalar(_BUFFER, "I", 0)
    sparsity = table.table(_SPARSITY)
    _check_index(buffer, max(len(buffers), 1), "buffers")
    return Tensor(
        table.text(_NAME),
        shape,
        frozenset(axis for axis, size in enumerate(signature) if size < 0),
        TYPES[kind] if 0 <= kind < len(TYPES) else f"type {kind}",
        buffers[buffer] if buffers else None,
        *_scaling(table.table(_QUANTISATION), shape),
        table.scalar(_VARIABLE, "?", False),
        None if sparsity is None else read_sparsity(sparsity, shape, where),
        _blocks(table.table(_QUANTISATION)),
    )


def _scaling(
    table: Table | None, shape: Sequence[int]
) -> tuple[tuple[float, ...], tuple[int, ...], int]:
    """Scales, zero points and their axis."""
    scale = table.numbers(_SCALE, "f") if table else ()
    if table is None or not scale:
        return (), (), 0
    zero, axis = table.numbers(_ZERO, "q") or (0,) * len(scale), table.scalar(_AXIS, "i", 0)
    if len(scale) > 1 and not (0 <= axis < len(shape) and len(scale) == shape[axis]):
        raise DamagedError(f"{len(scale)} scales along axis {axis} of shape {list(shape)}")
    if len(zero) not in (1, len(scale)):
        raise DamagedError(f"{len(scale)} scales and {len(zero)} zero points")
    return scale, zero * len(scale) if len(zero) < len(scale) else zero, axis


def _blocks(table: Table | None) -> Blocks | None:
    if table is None or table.scalar(_DETAILS_KIND, "B", 0) != _BLOCKS:
        return None
    own = table.table(_DETAILS)
    if own is None:
        raise DamagedError("blocks of no size")
    scales, zeros, size = (own.scalar(field, "i", 0) for field in range(3))
    if size < 1:
        raise DamagedError(f"blocks of {size} elements")
    return Blocks(size, scales, zeros)


def _named(tensors: Sequence[Tensor]) -> list[Tensor]:
    """With a name for each that no other has."""
    taken: set[str] = set()
    found = []
    for index, each in enumerate(tensors):
        name = each.name or f"tensor_{index}"
        if name in taken:
            name = untaken(f"{name}:{index}", taken)
        taken.add(name)
        found.append(each if name == each.name else replace(each, name=name))
    return found


def _operator(table: Table, codes: Sequence[tuple[str, bool]], tensors: int) -> Operator:
    code = table.scalar(_CODE, "I", 0)
    _check_index(code, len(codes), "operator codes")
    kind, custom = codes[code]
    inputs, outputs = table.numbers(_OPERANDS, "i"), table.numbers(_RESULTS, "i")
    for index in inputs:
        if index != ABSENT:
            _check_index(index, tensors, "tensors")
    for index in outputs:
        _check_index(index, tensors, "tensors")
    options: Options = {}
    for layouts, fields in (
        (OPTIONS, (_OPTIONS_KIND, _OPTIONS)),
        (MORE_OPTIONS, (_MORE_OPTIONS_KIND, _MORE_OPTIONS)),
    ):
        if not custom and kind in layouts:
            options = _options(table, kind, layouts[kind], fields)
    return Operator(kind, custom, inputs, outputs, options, table.vector(_OWN_OPTIONS, 1))


def _options(table: Table, kind: str, layout: Layout, fields: tuple[int, int]) -> Options:
    stated = table.scalar(fields[0], "B", 0)
    if stated not in (0, layout.kind):
        raise DamagedError(f"options of type {stated} of {kind}")
    own = table.table(fields[1]) if stated else None
    found: dict[str, Any] = {}
    for name, field in layout.fields.items():
        if field.code.startswith("*"):
            found[name] = own.numbers(field.number, field.code[1:]) if own else ()
        elif field.code == TEXT:
            found[name] = own.text(field.number) if own else field.default
        else:
            found[name] = (
                own.scalar(field.number, field.code, field.default) if own else (field.default)
            )
    return found


def _check_index(index: int, count: int, what: str) -> None:
    if not 0 <= index < count:
        raise DamagedError(f"number {index} of {count} {what}")

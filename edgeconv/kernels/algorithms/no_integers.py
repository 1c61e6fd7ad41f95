"""Why the sums of a layer of a quantised model are not computed in integers: a table of reasons.

Whether they are is decided in `sums`, `real_sums` and `wide_sums`; nothing is decided here.  Where
none of these has a form, the first row whose predicate holds says why, and the last one always
does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.encoding import FLOAT32, INT8, INT16
from edgeconv.ir.filters import ALONG_IN_C, IN_BLOCKS, SCALES_LIE
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import integers_for, last_activation, moves
from edgeconv.ir.quantisation import integers_of
from edgeconv.kernels.algorithms.int16.product import wide_product_of
from edgeconv.kernels.algorithms.product_sums import PRODUCT, form_of_product, unit_of_product
from edgeconv.kernels.algorithms.real_sums import real_sums_of
from edgeconv.kernels.algorithms.sums import form_of, rounded_to
from edgeconv.kernels.algorithms.wide_sums import wide_sums_of


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer and what is asked about it.  ``roundings``: tensor -> what it was rounded to last, as
    `ir.grids.rounded_to` has it."""

    node: Node
    graph: Graph
    roundings: Mapping[str, Activation]

    @property
    def input_rounding(self) -> Activation | None:
        return self.roundings.get(self.node.inputs[0])


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for float32.  ``name``: in report.json.  ``why``: behind "is computed in float32:".
    ``way_out``: what would change it, "" where nothing does.  ``holds``: whether it is one of a
    layer."""

    name: str
    why: str
    way_out: str = ""
    holds: Callable[[_Layer], bool] = field(
        default=lambda layer: True, kw_only=True, compare=False, repr=False
    )

    def __str__(self) -> str:
        return f"{self.why}; {self.way_out}" if self.way_out else self.why


def no_integers(node: Node, graph: Graph, roundings: Mapping[str, Activation]) -> Reason | None:
    """Why the products of a Conv, Dense or MatMul node are not summed as the integers that they
    are; None where they can be."""
    of_two = node.op == PRODUCT
    of_products = (form_of_product, unit_of_product, wide_product_of)
    forms = of_products if of_two else (form_of, wide_sums_of, real_sums_of)
    if any(found(node, graph) is not None for found in forms):
        return None
    layer = _Layer(node, graph, roundings)
    return next(reason for reason in (_OF_TWO if of_two else _RULES) if reason.holds(layer))


def _scales_lie(how: str) -> Callable[[_Layer], bool]:
    return lambda layer: not _has_scales(layer) and layer.node.attrs.get(SCALES_LIE) == how


def _has_scales(layer: _Layer) -> bool:
    return bool(layer.node.storage.scale)


def _filter_bits(layer: _Layer) -> int:
    element = layer.node.storage.element
    return int(element.bits) if element != INT8 else 8


def _has_several_scales(layer: _Layer) -> bool:
    rounding = layer.input_rounding
    return rounding is not None and not (isfinite(rounding.beta) and isfinite(rounding.gamma))


def _has_several_zeros(layer: _Layer) -> bool:
    writers, name = layer.graph.producers(), layer.node.inputs[0]
    while (writer := writers.get(name)) is not None and writer.op != "Dequantise":
        if writer.op != "Pool" and not moves(writer):
            return False
        name = writer.inputs[0]
    return writer is not None and len(set(integers_of(writer).zero)) > 1


def _keeps_channels(layer: _Layer) -> bool:
    """Every sum is of one channel."""
    return layer.node.op == "Conv" and layer.graph[layer.node.inputs[1]].shape[1] == 1


def _has_no_integers(layer: _Layer) -> bool:
    rounding = layer.input_rounding
    return rounding is not None and integers_for(rounding) is None


def _is_stored_as_float32(layer: _Layer) -> bool:
    return not layer.graph[layer.node.inputs[0]].storage.scale


def _is_given_out(layer: _Layer) -> bool:
    return layer.node.inputs[0] in layer.graph.outputs


def _is_never_rounded(layer: _Layer) -> bool:
    return last_activation(layer.node).kind != "grid"


def _has_activation(layer: _Layer) -> bool:
    return layer.node.epilogue.before.kind not in ("none", "grid")


def _adds_unrounded(layer: _Layer) -> bool:
    return bool(layer.node.epilogue.residual) and layer.node.epilogue.before == NONE


def _adds_float32(layer: _Layer) -> bool:
    residual = layer.node.epilogue.residual
    return bool(residual) and layer.graph[residual].storage.element not in (INT8, INT16)


def _has_other_result(layer: _Layer) -> bool:
    y = layer.graph[layer.node.output].storage
    return y == FLOAT32 and rounded_to(layer.node, layer.graph) is None


def _reads(layer: _Layer, holds: Callable[[_Layer], bool]) -> bool:
    """Whether that holds of an operand of a product of two tensors."""
    node = layer.node
    alone = (replace(layer, node=replace(node, inputs=(name,))) for name in node.inputs)
    return any(map(holds, alone))


def _is_constant(layer: _Layer) -> bool:
    return layer.graph[layer.node.inputs[0]].is_constant


def _is_wide(layer: _Layer) -> bool:
    return layer.graph[layer.node.inputs[0]].storage.element == INT16


def _is_wide_to_float32(layer: _Layer) -> bool:
    x, y = (layer.graph[name].storage for name in (layer.node.inputs[0], layer.node.output))
    return x.element == INT16 and y == FLOAT32


_PER_TENSOR = "quantise it per tensor"
_RULES: tuple[Reason, ...] = (
    Reason(
        "filter-scales",
        "its filters have scales along the input channels",
        "quantise them per tensor or per output channel",
        holds=_scales_lie(ALONG_IN_C),
    ),
    Reason(
        "filter-blocks",
        "its filters have scales in blocks, which are not multiples of one",
        "quantise them per tensor or per output channel, or with powers of two",
        holds=_scales_lie(IN_BLOCKS),
    ),
    Reason(
        "filters",
        "its filters are in memory as float32",
        "quantise weights to int8, with one scale or one per output channel",
        holds=lambda layer: not _has_scales(layer),
    ),
    Reason(
        "filter-bits",
        "its filters need more than 8 bits",
        "quantise weights to int8 or uint8",
        holds=lambda layer: _filter_bits(layer) > INT8.bits,
    ),
    Reason(
        "small-filters",
        "its filters have fewer than 8 bits",
        "quantise weights to int8",
        holds=lambda layer: _filter_bits(layer) < INT8.bits,
    ),
    Reason(
        "input",
        "its input is not quantised",
        "quantise activations too: QuantizeLinear and DequantizeLinear in front of it",
        holds=lambda layer: layer.input_rounding is None and _is_stored_as_float32(layer),
    ),
    Reason(
        "input-zeros",
        "its input has a zero point for each channel",
        "quantise it with one zero point",
        holds=_has_several_zeros,
    ),
    Reason(
        "input-joined",
        "its input has several scales, and is joined or split in front of it",
        _PER_TENSOR,
        holds=lambda layer: _has_several_scales(layer) and _keeps_channels(layer),
    ),
    Reason(
        "input-scales",
        "its input has a scale for each channel, and it adds up channels",
        _PER_TENSOR,
        holds=_has_several_scales,
    ),
    Reason(
        "input-range",
        "no int8 or int16 has all numbers of its input, and 0",
        "quantise it to 8 or 16 bits with a zero point among them",
        holds=lambda layer: _has_no_integers(layer) and _is_stored_as_float32(layer),
    ),
    Reason(
        "input-output",
        "its input is a float32 output of the model as well",
        "let the model give out the integers, or not this tensor",
        holds=lambda layer: _is_stored_as_float32(layer) and _is_given_out(layer),
    ),
    Reason(
        "input-storage",
        "its input is joined of tensors that have no integers in common",
        "quantise them with one scale and zero point",
        holds=_is_stored_as_float32,
    ),
    Reason(
        "result",
        "its result is not quantised",
        "quantise it: QuantizeLinear and DequantizeLinear behind the layer",
        holds=_is_never_rounded,
    ),
    Reason(
        "sum-not-rounded",
        "a sum with another tensor stands in front of the rounding of its result",
        "quantise the result of the layer in front of the addition",
        holds=_adds_unrounded,
    ),
    Reason(
        "activation",
        "another activation than ReLU or Clip stands in front of the rounding of its result",
        "quantise what the activation reads",
        holds=_has_activation,
    ),
    Reason(
        "residual",
        "what is added to its result is in memory as float32",
        "quantise it",
        holds=_adds_float32,
    ),
    Reason(
        "result-range",
        "no int8 or int16 has all numbers of its result",
        _PER_TENSOR,
        holds=_has_other_result,
    ),
    Reason(
        "wide-input",
        "its input has 16 bits, its result is in memory as float32, and 32 bits do not hold "
        "its sums",
        "quantise its result",
        holds=_is_wide_to_float32,
    ),
    Reason("no-form", "no form in integers is exact for its scales and bias"),
)
# Of a product of two tensors.
_OF_TWO: tuple[Reason, ...] = (
    Reason(
        "product-constant",
        "one of its operands is a constant stack, on the right or broadcast",
        holds=lambda layer: _reads(layer, _is_constant),
    ),
    Reason(
        "product-input",
        "one of its inputs is not quantised",
        "quantise both: QuantizeLinear and DequantizeLinear in front of each",
        holds=lambda layer: _reads(
            layer, lambda each: each.input_rounding is None and _is_stored_as_float32(each)
        ),
    ),
    Reason(
        "product-scales",
        "one of its inputs has several scales",
        _PER_TENSOR,
        holds=lambda layer: _reads(layer, _has_several_scales),
    ),
    Reason(
        "product-bits",
        "no int8 or int16 has all numbers of one of its inputs, and 0",
        "quantise both to 8 or 16 bits with a zero point among them",
        holds=lambda layer: _reads(layer, _has_no_integers),
    ),
    Reason(
        "product-storage",
        "one of its inputs is in memory as float32",
        holds=lambda layer: _reads(layer, _is_stored_as_float32),
    ),
    Reason(
        "product-wide",
        "one of its inputs has 16 bits, and its result is in memory as float32",
        "quantise its result",
        holds=lambda layer: (
            _reads(layer, _is_wide) and layer.graph[layer.node.output].storage == FLOAT32
        ),
    ),
    Reason("product-form", "no form in integers is exact for its scales and depth"),
)
REASONS: tuple[Reason, ...] = (*_RULES, *_OF_TWO)

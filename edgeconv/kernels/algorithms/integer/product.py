"""Products of two int8 tensors on cores without vectors: the candidate and the kernel call.

One of them is packed to the workspace as filters are, for the kernels that convolve by those.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.candidate import REAL, Candidate
from edgeconv.ir.choice import Arg, ArgKind, Layer, Number, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation.scalings import words_of
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer import candidate as whole
from edgeconv.kernels.algorithms.integer.helium_tiles import BEYOND, is_held
from edgeconv.kernels.algorithms.integer.lower import PAIR, sums_behind, zero_points_header
from edgeconv.kernels.algorithms.integer.packing import FOUR, K_BLOCK, SIXTEEN, padded
from edgeconv.kernels.algorithms.integer.real import with_results
from edgeconv.kernels.algorithms.integer.real_candidate import RealPlan, product_candidate
from edgeconv.kernels.algorithms.integer.real_cycles import pack_cycles
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.product_sums import unit_of_product
from edgeconv.kernels.algorithms.products import Product, nested, product_of, product_problem
from edgeconv.kernels.algorithms.scaling import scaled_form, scaling_of
from edgeconv.kernels.lowering.calls import (
    activation_headers,
    epilogue_of,
    input_arg,
    merge_headers,
    output_arg,
)
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import HELIUM, Target

_WORD = 4  # bytes
_AROUND = 100.0  # cycles of a product beside what is packed and multiplied
_IntegerCandidate = ConvCandidate[whole.IntegerPlan] | ConvCandidate[RealPlan]
_IMAGES = ("ec_nest.h", "ec_int8_channels.h", "ec_window.h", "ec_int8_panel.h")


def product_candidates(node: Node, graph: Graph, target: Target) -> tuple[_IntegerCandidate, ...]:
    """The candidate of one of the products of a MatMul node, where nothing is vectorised."""
    problem = product_problem(node, graph)
    if problem is None or target.lanes > 1 or not problem.macs:
        return ()
    if not problem.integers:
        return product_candidate(problem, target) if problem.real_sums else ()
    return whole.image_candidates(problem, target)


def lower_product(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a MatMul node that has a candidate."""
    (each,) = product_candidates(node, graph, target)
    problem, product, call = each.problem, product_of(node, graph), Call(node, graph, target)
    helium, real = HELIUM in target.features, each.compute == REAL
    params, room = _params(problem, node, graph, helium=helium)
    places, words = _places(each.workspace_bytes, params, product, room, real=real)
    candidate = _every(each, product, words * _WORD, call)
    kernel = ("ec_int8_1x4.h",) if helium else () if real else ("ec_int8_tile.h",)
    sums = ("ec_int8_sums.h", "ec_int8_real.h") if real else ()
    own = (*_IMAGES, *kernel, *sums, "ec_int8_product.h")
    return Layer(
        node=node,
        algorithm=each.algorithm,
        template="ops/product_integer.c.j2",
        params={
            **nested(product),
            **params,
            **places,
            "real": real,
            "kernel_function": "convolve_1x4" if helium else "convolve",
            "window_type": "int8_t" if helium else "int16_t",
            "a_row": product.a.row,
            "out_row": product.out.row,
            "sums_of_inputs": sums_behind(problem),
            **({"epilogue": epilogue_of(node, graph)} if real else {}),
        },
        args=_arguments(node, graph, real=real),
        headers=(
            *zero_points_header(problem),
            *merge_headers([(*(activation_headers(node.epilogue) if real else ()), *own)]),
        ),
        work=candidate.work,
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs * product.count,
        candidate=candidate,
        scaling="" if real else scaling_of(graph),
    )


def _params(
    problem: ConvProblem, node: Node, graph: Graph, *, helium: bool
) -> tuple[dict[str, Param], int]:
    """The operand that is packed, and how sums become the result; columns, with those that make
    whole ones of what lies together."""
    a, b = (graph[name].storage.zero[0] for name in node.inputs)
    together, block = (FOUR, SIXTEEN) if helium else (PAIR, K_BLOCK)
    params: dict[str, Param] = {
        "together": together,
        "block": block,
        "behind": 0 if helium else sums_behind(problem),
        "zero_a": a,
        "zero_b": b,
        "by_sum": -b if helium else 0,
    }
    if problem.integers:
        form = scaled_form(node, graph)
        words = [int(each[0]) for each in form.words]
        params |= {
            "words": words_of(scaling_of(graph)),
            "start": words[0],
            "scaling": tuple(words[1:]),
            "result": (form.offset, form.right, form.low, form.high),
        }
    else:
        unit = unit_of_product(node, graph)
        assert unit is not None, node.name
        params |= {"words": 1, "start": 0, "scaling": (), "result": (), "unit": Number(unit)}
    return params, padded(problem.out_c, together)


def _places(
    panel: int, params: dict[str, Param], product: Product, room: int, *, real: bool
) -> tuple[dict[str, Param], int]:
    """From the workspace to its parts, in words, and how many there are."""
    block, words, behind = (int(str(params[name])) for name in ("block", "words", "behind"))
    channels = -(-panel // _WORD)
    scaling = channels + room * (words + bool(params["by_sum"]))
    filters = scaling + (2 * room if real else 0)
    end = filters + room * padded(product.k + behind, block) // _WORD
    end += BEYOND // _WORD if block == SIXTEEN and not real and not is_held(product.k) else 0
    places: dict[str, Param] = {
        "channels_at": channels,
        "scaling_at": scaling,
        "filters_at": filters,
        "room": room,
    }
    return places, end


def _every(each: _IntegerCandidate, product: Product, workspace: int, call: Call) -> Candidate:
    """``each`` of the stack, and what it takes to pack operands."""
    work = each.work.times(product.count)
    packed = pack_cycles(call.target)
    cycles = product.packed * product.n * (packed.column + packed.number * product.k)
    work = replace(work, moves=work.moves + cycles + _AROUND * product.count)
    if each.compute == REAL:
        work = with_results(work, call)
    return Candidate(
        algorithm=each.algorithm,
        workspace={"operand": workspace},
        work=work,
        cache_traffic=tuple,  # what it moves is taken to be every operand once
        compute=each.compute,
    )


def _arguments(node: Node, graph: Graph, *, real: bool) -> tuple[Arg, ...]:
    a, b = (
        input_arg(graph, name, pointer) for name, pointer in zip(node.inputs, "ab", strict=True)
    )
    out = output_arg(node, graph)
    return (
        *(replace(arg, c_type="int8_t") for arg in (a, b)),
        out if real else replace(out, c_type="int8_t"),
        Arg(ArgKind.WORKSPACE, "workspace", c_type="int32_t"),
    )

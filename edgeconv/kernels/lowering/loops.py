"""What loops take on cores without vectors, where most instructions are not arithmetic: loads and
stores, addresses, ends of loops, branches, and functions in place of an FPU.

Counted under QEMU, see `PerCore`: ``python bench/firmware_cycles.py MODEL.onnx --board B --layers``
prints what a network's layers execute.  Vector ISAs have the slots of `kernels.lowering.work`
instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.work import Work
from edgeconv.target.targets import DUAL_ISSUE, HELIUM, MAXIMA, RISCV, SOFT_FLOAT, THUMB_1, Target

_DUAL_CYCLES = 17.5 / 20  # of an instruction
# A product and a sum of float32 by GCC 12's libgcc: 88 instructions of Thumb-2, 192 of Thumb-1
# (boards/mps2-an385.toml, boards/microbit.toml); a tenth more, as no function is like another.
_SOFT_THUMB_2 = 1.1 * 88 / 192


@dataclass(frozen=True, slots=True)
class PerCore:
    """Cycles of what is counted, by core.

    ``narrow``: a Cortex-M0, whose float32 is libgcc's of GCC 12, with the cycles of its Technical
    Reference Manual, Table 3-1.  ``single``: a Cortex-M4, its manual's Table 3-1 and, of the FPU,
    7-1; the Cortex-M33, of which Arm publishes no timing, has its model in LLVM 19.
    ``instructions``: Cortex-M7 and M55, of which Arm publishes no timing of scalar instructions
    either: one a cycle, and on a Cortex-M7, which may begin two, as many as in the loop of
    `kernels.algorithms.integer.cycles` that LLVM's model has 17.5 cycles for, of 20 instructions.
    Without an FPU a Cortex-M3 or M4 takes a part of ``narrow``: libgcc has other functions for it.
    ``riscv``: RV32IMC, an instruction a cycle, where that is more than a Cortex-M4 takes, which
    shifts operands and bounds numbers on the way.
    """

    narrow: float
    single: float
    instructions: float
    riscv: float = 0.0

    def on(self, target: Target, *, reals: bool = True) -> float:
        """The cycles of the core that ``target`` is; ``reals``: float32 is what takes them."""
        soft = reals and SOFT_FLOAT in target.features
        if THUMB_1 in target.features or (soft and RISCV in target.features):
            return self.narrow
        if soft:
            return max(self.single, _SOFT_THUMB_2 * self.narrow)
        if RISCV in target.features and self.riscv:
            return self.riscv
        if DUAL_ISSUE in target.features:
            return _DUAL_CYCLES * self.instructions
        return self.instructions if HELIUM in target.features else self.single


# Of an element, its load, its store and the loop's end aside, which `AROUND` is for a loop of them.
FUNCTIONS: Mapping[str, PerCore] = MappingProxyType(
    {
        "none": PerCore(0, 0, 0),
        "relu": PerCore(70, 9, 4),
        "clip": PerCore(108, 12, 7),
        "leaky_relu": PerCore(150, 8, 4),
        "hard_sigmoid": PerCore(440, 15, 9),
        "hard_swish": PerCore(605, 16, 10),
        "abs": PerCore(4, 4, 2),
        "neg": PerCore(6, 5, 2),
        "floor": PerCore(436, 23, 18),
        "ceil": PerCore(440, 25, 21),
        "round": PerCore(315, 14, 11),
        "grid": PerCore(1190, 44, 25),
        "sign": PerCore(40, 8, 4),
        "sqrt": PerCore(3240, 55, 41),
        "reciprocal": PerCore(540, 19, 19),
        "exp": PerCore(3920, 125, 81),
        "log": PerCore(4390, 117, 74),
        "sigmoid": PerCore(4550, 141, 84),
        "silu": PerCore(4690, 144, 86),
        "gelu_tanh": PerCore(5390, 158, 95),
        "elu": PerCore(3970, 125, 81),
        "tanh": PerCore(4960, 150, 87),
        "erf": PerCore(4440, 123, 74),
        "gelu": PerCore(4930, 130, 79),
        "softplus": PerCore(9190, 271, 168),
    }
)
_UNKNOWN = PerCore(5000, 160, 110)  # as much as the longest of them but one

# Functions of two or more, and those of float32 alone, with all of the loop.
_PAIRS: Mapping[str, PerCore] = MappingProxyType(
    {
        **dict.fromkeys(("add", "sub"), PerCore(130, 12, 7)),
        **dict.fromkeys(("mul", "square", "first"), PerCore(177, 12, 7)),
        **dict.fromkeys(("max", "min"), PerCore(122, 17, 11)),
        **dict.fromkeys(("div", "reciprocal"), PerCore(550, 25, 22)),
        **dict.fromkeys(
            ("equal", "less", "less_equal", "greater", "greater_equal"), PerCore(86, 15, 11)
        ),
        **dict.fromkeys(("copy", "where", "not"), PerCore(18, 14, 10)),
        **dict.fromkeys(("sin", "cos"), PerCore(2100, 94, 71)),
        "cube": PerCore(320, 16, 9),
        "root": PerCore(3250, 60, 46),
        "sign": PerCore(113, 16, 11),
        "prelu": PerCore(165, 13, 9),
        "affine": PerCore(290, 14, 7),
        "quantise": PerCore(1230, 62, 39),
        "dequantise": PerCore(480, 16, 11),
        "pow": PerCore(9800, 340, 237),
        "range": PerCore(11.5, 9.1, 7.6),  # of float32 as bits
        "largest": PerCore(9, 6.1, 4.6),
        "quantise_ranged": PerCore(214, 10.6, 7.0),
        "quantise_dynamic": PerCore(1230, 62, 39),
    }
)
# With maxima and minima of float32 in an instruction: of ranges, and of numbers that are not NaN.
_MAXIMA: Mapping[str, PerCore] = MappingProxyType(
    {
        "range": PerCore(0, 6.2, 3.9),
        "largest": PerCore(0, 5.2, 2.9),
        "relu": PerCore(0, 1, 1),
        "clip": PerCore(0, 2, 2),
        "hard_sigmoid": PerCore(0, 4, 4),
        "hard_swish": PerCore(0, 5, 5),
    }
)
AROUND = PerCore(14, 8, 7)
# Of a real number on a grid that is stored as an integer of 8 bits, and of 16.
_BYTES, _HALVES = PerCore(1300, 12, 8), PerCore(1300, 23, 20)
_SAME = PerCore(1, 1, 1)
_NONE = PerCore(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Loop:
    """What the work of a kernel call becomes.  ``element``: all of an element of the result, but
    the epilogue's functions and what storage formats take, in place of what is stated; or ``move``:
    of a load or store, and ``slot``: of an instruction that is stated, where it takes longer than a
    multiply-add."""

    element: PerCore | None = None
    move: PerCore = _SAME
    slot: PerCore = _NONE


_AS_STATED = Loop()
_OTHERS = Loop(move=PerCore(12, 6.5, 5.5), slot=PerCore(400, 9, 6))  # that nothing is known of
LOOPS: Mapping[str, Loop] = MappingProxyType(
    {
        # Cycles are what these state, or as many multiply-adds as instructions.
        **dict.fromkeys(
            (
                *("int8_pool", "int16_pool", "table", "int8_binary", "int8_resize"),
                *("int8_softmax", "int16_softmax", "short_lstm"),
            ),
            _AS_STATED,
        ),
        **dict.fromkeys(
            ("int8_channels", "int16_function", "view", "matmul", "attention", "preprocess"),
            _AS_STATED,
        ),
        **dict.fromkeys(("dynamic_range", "dynamic_scale", "dynamic_zero"), _AS_STATED),
        **dict.fromkeys(("elementwise", "quantise", "dequantise"), _AS_STATED),
        "convert": Loop(PerCore(16, 14, 9)),
        "concat": Loop(PerCore(30, 5, 4)),
        "copy": Loop(PerCore(14, 9, 7)),
        "pad": Loop(PerCore(30, 6, 5)),
        "gather": Loop(move=PerCore(6, 4, 3)),
        "resize_copies": Loop(move=PerCore(36, 4.5, 4)),
        "softmax": Loop(PerCore(7900, 243, 166)),
        "softmax_held": Loop(PerCore(4360, 141, 92)),
        "log_softmax": Loop(PerCore(5200, 160, 110)),
        "pool_rows": Loop(move=PerCore(1, 7, 8)),
        "pool_lanes": Loop(move=PerCore(2, 5.5, 6.5)),
        "pool_global_lanes": Loop(move=PerCore(2, 2, 3)),
        "pool_global_rows": Loop(move=PerCore(2, 2, 3)),
        "reduce_rows": Loop(move=PerCore(2, 2, 3)),
        "reduce_columns": Loop(move=PerCore(6, 6, 6)),
        "order": Loop(move=PerCore(6, 6, 6)),
        "lrn": Loop(slot=PerCore(410, 9.2, 6.2)),
        "resize_linear": Loop(slot=PerCore(265, 6.4, 3.9)),
        "resize_cubic": Loop(slot=PerCore(265, 6.4, 4.1)),
    }
)


def write_slots(storage: Encoding, target: Target) -> float:
    """Slots that round an element of a vector to ``storage`` and store it."""
    if target.is_scalar and storage.scale:
        rounded = _BYTES if storage.bits <= 8 else _HALVES
        return rounded.on(target) / target.slot_cycles
    return target.decoding(storage).write


def function_cycles(kind: str, target: Target) -> float:
    """The cycles of an activation of an element on a core without vectors."""
    return FUNCTIONS.get(kind, _UNKNOWN).on(target)


def number_cycles(kind: str, target: Target) -> float:
    """The cycles of a result that is not NaN."""
    found = _MAXIMA.get(kind) if MAXIMA in target.features else None
    return (found or FUNCTIONS.get(kind, _UNKNOWN)).on(target)


def pair_cycles(kind: str, target: Target) -> float:
    """The cycles of an element of a function of one to three tensors there, its moves included."""
    return _PAIRS.get(kind, _UNKNOWN).on(target)


def range_cycles(target: Target, *, positive: bool) -> float:
    """The cycles of an element of a tensor whose range is found there; ``positive``: none is below
    0."""
    kind = "largest" if positive else "range"
    found = _MAXIMA if MAXIMA in target.features else _PAIRS
    return found[kind].on(target)


def in_loops(work: Work, kernel: str, elements: float, epilogue: float, target: Target) -> Work:
    """``work`` of a call of ``kernel`` for ``elements`` of a result, of which ``epilogue`` slots
    are functions whose instructions are counted already: as stated where the target has vectors.
    """
    if not target.is_scalar:
        return work
    loop = LOOPS.get(kernel, _OTHERS)
    if loop.element is not None:
        stored = epilogue + work.decoding
        return replace(work, slots=stored, moves=loop.element.on(target) * elements)
    longer = max(0.0, loop.slot.on(target) - target.slot_cycles)
    moves = loop.move.on(target) * work.moves + longer * max(0.0, work.slots - epilogue)
    return replace(work, moves=moves)

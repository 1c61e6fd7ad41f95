"""Cortex-M cores whose technical reference manuals have cycles of instructions.

Interrupts, exceptions and what other masters of the bus do are no part of any table.
"""

from __future__ import annotations

from collections.abc import Mapping

from edgeconv.target.cycles.table import CycleTable


def _cycles(rows: Mapping[int, str]) -> Mapping[str, int]:
    return {name: cycles for cycles, names in rows.items() for name in names.split()}


_THUMB_1 = """adc add adr and asr bic cmn cmp eor lsl lsr mov mvn nop orr rev rev16
revsh ror rsb sbc sub sxtb sxth tst uxtb uxth b bl blx bx ldm ldr ldrb ldrh ldrsb ldrsh pop push
stm str strb strh"""
_ARMV7_M = """bfc bfi cbnz cbz clz it ldmdb ldrd movt orn rbit rrx sbfx ssat stmdb strd teq ubfx
usat"""
_INTERRUPTS = "cpsid cpsie"
_DSP = """mla mls mul pkhbt pkhtb qadd qadd16 qadd8 qasx qdadd qdsub qsax qsub qsub16 qsub8 sadd16
sadd8 sasx sel shadd16 shadd8 shasx shsax shsub16 shsub8
smlabb smlabt smlad smladx smlal smlalbb smlalbt smlald smlaldx smlaltb smlaltt
smlatb smlatt smlawb smlawt smlsd smlsdx smlsld smlsldx smmla smmlar smmls smmlsr smmul smmulr smuad
smuadx smulbb smulbt smull smultb smultt smulwb smulwt smusd smusdx ssat16 ssax ssub16 ssub8 sxtab
sxtab16 sxtah sxtb16 uadd16 uadd8 uasx uhadd16 uhadd8 uhasx uhsax uhsub16 uhsub8 umaal umlal umull
uqadd16 uqadd8 uqasx uqsax uqsub16 uqsub8 usad8 usada8 usat16 usax usub16 usub8 uxtab uxtab16 uxtah
uxtb16"""
_FPU_1 = """vabs vadd vcmp vcmpe vcvt vcvtr vcvtb vcvtt vldmdb vldmia vldr vmov vmrs vmsr vmul vneg
vnmul vpop vpush vstmdb vstmia vstr vsub"""
_FPU_3 = "vfma vfms vfnma vfnms vmla vmls vnmla vnmls"
_LATE = frozenset(f"vadd vsub vmul vnmul vdiv vsqrt vcvt vcvtr vcvtb vcvtt {_FPU_3}".split())
# Of the floating-point unit of Armv8-M (FPv5): comparisons, which are additions.
_FPV5 = ["vmaxnm", "vminnm", "vseleq", "vselge", "vselgt", "vselvs"]

M0 = CycleTable(
    cores=("Cortex-M0",),
    source="Arm, Cortex-M0 Technical Reference Manual (DDI 0432), Table 3-1",
    cycles=_cycles({1: f"{_THUMB_1} {_INTERRUPTS}", 4: "dmb dsb isb mrs msr", 32: "mul"}),
    refill=2,
    returns=3,
    call=3,
    fetched_ahead=8,
)
M0_PLUS = CycleTable(
    cores=("Cortex-M0+",),
    source="Arm, Cortex-M0+ Technical Reference Manual (DDI 0484), Table 3-1",
    cycles=_cycles({1: f"{_THUMB_1} {_INTERRUPTS}", 3: "dmb dsb isb mrs msr", 32: "mul"}),
    refill=1,
    returns=2,
    call=2,
    fetched_ahead=4,
)
M3 = CycleTable(
    cores=("Cortex-M3",),
    source="Arm, Cortex-M3 Technical Reference Manual (100165), Table 3-1 and load/store timings",
    cycles=_cycles(
        {
            1: f"{_THUMB_1} {_ARMV7_M} mul",
            2: f"mla mls mrs msr {_INTERRUPTS}",
            3: "tbb tbh",
            5: "smull umull",
            7: "smlal umlal",
            12: "sdiv udiv",
        }
    ),
    refill=3,
    returns=3,
    call=3,
    fetched_ahead=12,
    address_stall=1,
    literal=1,
    misaligned=(0, 2, 1, 2),
)
M4 = CycleTable(
    cores=("Cortex-M4",),
    source="Arm, Cortex-M4 Technical Reference Manual (DDI 0439), Tables 3-1 and 3-2, load/store"
    " timings and Table 7-1",
    cycles=_cycles(
        {
            1: f"{_THUMB_1} {_ARMV7_M} {_DSP} {_FPU_1}",
            2: f"mrs msr {_INTERRUPTS}",
            3: f"{_FPU_3} tbb tbh",
            12: "sdiv udiv",
            14: "vdiv vsqrt",
        }
    ),
    refill=3,
    returns=3,
    call=3,
    fetched_ahead=12,
    address_stall=1,
    literal=1,
    late_result=_LATE,
    misaligned=(0, 2, 1, 2),
    like=dict.fromkeys(_FPV5, "vadd"),
)
TABLES = (M0, M0_PLUS, M3, M4)

/* RVV 1.0 with vectors of EC_VECTOR_BITS, a length that is fixed when a program is compiled
   (-mrvv-vector-bits=zvl), so that they are C values like any others.  Meanings: see ec_isa_portable.h. */
#ifndef EC_ISA_H
#define EC_ISA_H

#include <riscv_vector.h>

#if !defined(__riscv_v_fixed_vlen) || __riscv_v_fixed_vlen != EC_VECTOR_BITS
#error "RVV needs a fixed length: compile with -march=...zvl<bits>b and -mrvv-vector-bits=zvl"
#endif

#define EC_VL (EC_VECTOR_BITS / 32)
#define EC_VECTOR_BYTES (EC_VECTOR_BITS / 8)
/* Groups of so many registers, or parts of one, as C values. */
#define EC_FIXED(registers) __attribute__((riscv_rvv_vector_bits(EC_VECTOR_BITS * registers)))

typedef vfloat32m1_t ec_vec EC_FIXED(1);

/* Bytes of a vector of this very core, whatever was compiled for: not a constant of the compiler's. */
EC_INLINE int ec_vector_bytes(void)
{
    unsigned long bytes;
    __asm__ volatile("csrr %0, vlenb" : "=r"(bytes));
    return (int)bytes;
}

EC_INLINE ec_vec ec_as_vec(vuint32m1_t bits) { return __riscv_vreinterpret_v_u32m1_f32m1(bits); }
EC_INLINE vuint32m1_t ec_as_bits(ec_vec v) { return __riscv_vreinterpret_v_f32m1_u32m1(v); }
EC_INLINE ec_vec ec_set1(float x) { return __riscv_vfmv_v_f_f32m1(x, EC_VL); }

EC_INLINE ec_vec ec_load(const float *p) { return __riscv_vle32_v_f32m1(p, EC_VL); }
EC_INLINE void ec_store(float *p, ec_vec v) { __riscv_vse32_v_f32m1(p, v, EC_VL); }
EC_INLINE ec_vec ec_load_n(const float *p, int n)
{
    return __riscv_vle32_v_f32m1_tu(ec_set1(0.0f), p, (size_t)n);
}
EC_INLINE void ec_store_n(float *p, ec_vec v, int n) { __riscv_vse32_v_f32m1(p, v, (size_t)n); }
EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return __riscv_vfadd_vv_f32m1(a, b, EC_VL); }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return __riscv_vfsub_vv_f32m1(a, b, EC_VL); }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return __riscv_vfmul_vv_f32m1(a, b, EC_VL); }
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return __riscv_vfdiv_vv_f32m1(a, b, EC_VL); }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return __riscv_vfmacc_vv_f32m1(c, a, b, EC_VL); }
/* Of a NaN and a number vfmax and vfmin give the number, so that comparisons choose. */
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b)
{
    return __riscv_vmerge_vvm_f32m1(a, b, __riscv_vmflt_vv_f32m1_b32(a, b, EC_VL), EC_VL);
}
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b)
{
    return __riscv_vmerge_vvm_f32m1(a, b, __riscv_vmfgt_vv_f32m1_b32(a, b, EC_VL), EC_VL);
}
/* b where it is NaN. */
EC_INLINE ec_vec ec_or_nan(ec_vec a, ec_vec b)
{
    return __riscv_vmerge_vvm_f32m1(a, b, __riscv_vmfne_vv_f32m1_b32(b, b, EC_VL), EC_VL);
}
EC_INLINE ec_vec ec_maximum(ec_vec a, ec_vec b) { return ec_or_nan(ec_max(a, b), b); }
EC_INLINE ec_vec ec_minimum(ec_vec a, ec_vec b) { return ec_or_nan(ec_min(a, b), b); }
EC_INLINE ec_vec ec_abs(ec_vec a) { return __riscv_vfabs_v_f32m1(a, EC_VL); }
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return __riscv_vmerge_vvm_f32m1(y, x, __riscv_vmflt_vv_f32m1_b32(a, b, EC_VL), EC_VL);
}
EC_INLINE ec_vec ec_copysign(ec_vec a, ec_vec b) { return __riscv_vfsgnj_vv_f32m1(a, b, EC_VL); }
/* From 2^23 on all numbers are integers. */
EC_INLINE ec_vec ec_round(ec_vec a)
{
    const ec_vec whole = __riscv_vfcvt_f_x_v_f32m1(__riscv_vfcvt_x_f_v_i32m1(a, EC_VL), EC_VL);
    const vbool32_t small = __riscv_vmflt_vf_f32m1_b32(ec_abs(a), 8388608.0f, EC_VL);
    return __riscv_vmerge_vvm_f32m1(a, ec_copysign(whole, a), small, EC_VL);
}
EC_INLINE ec_vec ec_sqrt(ec_vec a) { return __riscv_vfsqrt_v_f32m1(a, EC_VL); }
EC_INLINE ec_vec ec_exp2i(ec_vec n)
{
    const ec_vec biased = __riscv_vfadd_vf_f32m1(n, 12583039.0f, EC_VL);
    return ec_as_vec(__riscv_vsll_vx_u32m1(ec_as_bits(biased), 23, EC_VL));
}
EC_INLINE ec_vec ec_exponent(ec_vec a)
{
    const vuint32m1_t biased = __riscv_vsrl_vx_u32m1(ec_as_bits(a), 23, EC_VL);
    const vuint32m1_t exponent = __riscv_vsub_vx_u32m1(biased, 127, EC_VL);
    return __riscv_vfcvt_f_x_v_f32m1(__riscv_vreinterpret_v_u32m1_i32m1(exponent), EC_VL);
}
EC_INLINE ec_vec ec_mantissa(ec_vec a)
{
    const vuint32m1_t fraction = __riscv_vand_vx_u32m1(ec_as_bits(a), 0x007fffffu, EC_VL);
    return ec_as_vec(__riscv_vor_vx_u32m1(fraction, 0x3f800000u, EC_VL));
}
EC_INLINE ec_vec ec_load_strided(const float *p, ptrdiff_t stride, int n)
{
    return __riscv_vlse32_v_f32m1_tu(ec_set1(0.0f), p, stride * 4, (size_t)n);
}
/* Places are bytes, which of 32 bits would count as unsigned. */
EC_INLINE ec_vec ec_load_indexed(const float *p, const int32_t *index, int n)
{
    const vint64m2_t places = __riscv_vwmul_vx_i64m2(__riscv_vle32_v_i32m1(index, (size_t)n), 4, (size_t)n);
    return __riscv_vluxei64_v_f32m1_tu(ec_set1(0.0f), p, __riscv_vreinterpret_v_i64m2_u64m2(places), (size_t)n);
}
EC_INLINE ec_vec ec_load_span(const float *p, int lo, int hi)
{
    const size_t n = (size_t)ec_min_i(ec_max_i(hi, 0), EC_VL);
    const vbool32_t lanes = __riscv_vmsgeu_vx_u32m1_b32(__riscv_vid_v_u32m1(EC_VL), (uint32_t)ec_max_i(lo, 0), EC_VL);
    return __riscv_vle32_v_f32m1_tumu(lanes, ec_set1(0.0f), p, n);
}
EC_INLINE ec_vec ec_shift(ec_vec a, ec_vec b, int n)
{
    if (!n)
        return a;
    const ec_vec lower = __riscv_vslidedown_vx_f32m1(a, (size_t)n, EC_VL);
    return __riscv_vslideup_vx_f32m1(lower, b, (size_t)(EC_VL - n), EC_VL);
}
/* Pairs of lanes are words of 64 bits, of which one half or the other is taken. */
EC_INLINE void ec_deinterleave(ec_vec a, ec_vec b, ec_vec *even, ec_vec *odd)
{
    const vuint32m2_t both = __riscv_vcreate_v_u32m1_u32m2(ec_as_bits(a), ec_as_bits(b));
    const vuint64m2_t pairs = __riscv_vreinterpret_v_u32m2_u64m2(both);
    *even = ec_as_vec(__riscv_vnsrl_wx_u32m1(pairs, 0, EC_VL));
    *odd = ec_as_vec(__riscv_vnsrl_wx_u32m1(pairs, 32, EC_VL));
}
/* Lanes of a and b by turns: a + 2^32 b, of which a + b is the beginning. */
EC_INLINE vuint32m2_t ec_zipped(ec_vec a, ec_vec b)
{
    const vuint64m2_t sum = __riscv_vwaddu_vv_u64m2(ec_as_bits(a), ec_as_bits(b), EC_VL);
    return __riscv_vreinterpret_v_u64m2_u32m2(__riscv_vwmaccu_vx_u64m2(sum, 0xffffffffu, ec_as_bits(b), EC_VL));
}
/* As often as 2 divides EC_VL, rows are interleaved with those half of them further. */
EC_INLINE void ec_transpose(ec_vec v[EC_VL])
{
    EC_UNROLL
    for (int done = 1; done < EC_VL; done *= 2) {
        ec_vec from[EC_VL];
        EC_UNROLL
        for (int i = 0; i < EC_VL; i++)
            from[i] = v[i];
        EC_UNROLL
        for (int i = 0; i < EC_VL / 2; i++) {
            const vuint32m2_t both = ec_zipped(from[i], from[i + EC_VL / 2]);
            v[2 * i] = ec_as_vec(__riscv_vget_v_u32m2_u32m1(both, 0));
            v[2 * i + 1] = ec_as_vec(__riscv_vget_v_u32m2_u32m1(both, 1));
        }
    }
}
EC_INLINE float ec_reduce_add(ec_vec a)
{
    return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredusum_vs_f32m1_f32m1(a, ec_set1(0.0f), EC_VL));
}
/* `found`, or NaN if a lane is: reductions leave those out. */
EC_INLINE float ec_unless_nan(ec_vec a, float found)
{
    const int first = (int)__riscv_vfirst_m_b32(__riscv_vmfne_vv_f32m1_b32(a, a, EC_VL), EC_VL);
    return first < 0 ? found : ec_from_bits(0x7fc00000u);
}
EC_INLINE float ec_reduce_max(ec_vec a)
{
    return ec_unless_nan(a, __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredmax_vs_f32m1_f32m1(a, a, EC_VL)));
}
EC_INLINE float ec_reduce_min(ec_vec a)
{
    return ec_unless_nan(a, __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredmin_vs_f32m1_f32m1(a, a, EC_VL)));
}

#include "ec_stored_rvv.h"
#include "ec_groups_rvv.h"
#include "ec_tile_rvv.h"
#include "ec_tile_decoded.h"
#include "ec_f32_rvv.h"

#endif

/* SVE with vectors of EC_VECTOR_BITS, a length that is fixed when a program is compiled
   (-msve-vector-bits), so that they are C values like any others.  Meanings: see ec_isa_portable.h. */
#ifndef EC_ISA_H
#define EC_ISA_H

#include <arm_neon.h>
#include <arm_sve.h>

#if __ARM_FEATURE_SVE_BITS != EC_VECTOR_BITS
#error "SVE needs a fixed length: compile with -msve-vector-bits"
#endif

#define EC_VL (EC_VECTOR_BITS / 32)
#define EC_VECTOR_BYTES (EC_VECTOR_BITS / 8)
#define EC_FIXED __attribute__((arm_sve_vector_bits(EC_VECTOR_BITS)))

typedef svfloat32_t ec_vec EC_FIXED;

/* Bytes of a vector of this very core, whatever was compiled for: not a constant of the compiler's. */
EC_INLINE int ec_vector_bytes(void)
{
    uint64_t bytes;
    __asm__ volatile("rdvl %0, #1" : "=r"(bytes));
    return (int)bytes;
}

EC_INLINE svbool_t ec_all(void) { return svptrue_b32(); }
EC_INLINE svbool_t ec_first(int n) { return svwhilelt_b32_s32(0, n); }
EC_INLINE ec_vec ec_as_vec(svuint32_t bits) { return svreinterpret_f32_u32(bits); }
EC_INLINE svuint32_t ec_as_bits(ec_vec v) { return svreinterpret_u32_f32(v); }

EC_INLINE ec_vec ec_load(const float *p) { return svld1_f32(ec_all(), p); }
EC_INLINE void ec_store(float *p, ec_vec v) { svst1_f32(ec_all(), p, v); }
EC_INLINE ec_vec ec_load_n(const float *p, int n) { return svld1_f32(ec_first(n), p); }
EC_INLINE void ec_store_n(float *p, ec_vec v, int n) { svst1_f32(ec_first(n), p, v); }
EC_INLINE ec_vec ec_set1(float x) { return svdup_n_f32(x); }
EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return svadd_f32_x(ec_all(), a, b); }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return svsub_f32_x(ec_all(), a, b); }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return svmul_f32_x(ec_all(), a, b); }
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return svdiv_f32_x(ec_all(), a, b); }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return svmla_f32_x(ec_all(), c, a, b); }
/* NaN where either operand is. */
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b) { return svmax_f32_x(ec_all(), a, b); }
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b) { return svmin_f32_x(ec_all(), a, b); }
EC_INLINE ec_vec ec_maximum(ec_vec a, ec_vec b) { return ec_max(a, b); }
EC_INLINE ec_vec ec_minimum(ec_vec a, ec_vec b) { return ec_min(a, b); }
EC_INLINE ec_vec ec_abs(ec_vec a) { return svabs_f32_x(ec_all(), a); }
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return svsel_f32(svcmplt_f32(ec_all(), a, b), x, y);
}
EC_INLINE ec_vec ec_copysign(ec_vec a, ec_vec b)
{
    const svuint32_t size = svand_n_u32_x(ec_all(), ec_as_bits(a), 0x7fffffffu);
    const svuint32_t sign = svand_n_u32_x(ec_all(), ec_as_bits(b), 0x80000000u);
    return ec_as_vec(svorr_u32_x(ec_all(), size, sign));
}
EC_INLINE ec_vec ec_round(ec_vec a) { return svrintn_f32_x(ec_all(), a); }
EC_INLINE ec_vec ec_sqrt(ec_vec a) { return svsqrt_f32_x(ec_all(), a); }
EC_INLINE ec_vec ec_exp2i(ec_vec n)
{
    const svuint32_t biased = ec_as_bits(ec_add(n, ec_set1(12583039.0f)));
    return ec_as_vec(svlsl_n_u32_x(ec_all(), biased, 23));
}
EC_INLINE ec_vec ec_exponent(ec_vec a)
{
    const svint32_t biased = svreinterpret_s32_u32(svlsr_n_u32_x(ec_all(), ec_as_bits(a), 23));
    return svcvt_f32_s32_x(ec_all(), svsub_n_s32_x(ec_all(), biased, 127));
}
EC_INLINE ec_vec ec_mantissa(ec_vec a)
{
    const svuint32_t fraction = svand_n_u32_x(ec_all(), ec_as_bits(a), 0x007fffffu);
    return ec_as_vec(svorr_n_u32_x(ec_all(), fraction, 0x3f800000u));
}
EC_INLINE ec_vec ec_load_strided(const float *p, ptrdiff_t stride, int n)
{
    return svld1_gather_s32index_f32(ec_first(n), p, svindex_s32(0, (int32_t)stride));
}
EC_INLINE ec_vec ec_load_indexed(const float *p, const int32_t *index, int n)
{
    return svld1_gather_s32index_f32(ec_first(n), p, svld1_s32(ec_first(n), index));
}
EC_INLINE ec_vec ec_load_span(const float *p, int lo, int hi)
{
    return svld1_f32(svbic_b_z(ec_all(), ec_first(hi), ec_first(lo)), p);
}
#define EC_SHIFT(N)                                                                                \
    case N: return svext_f32(a, b, N)
EC_INLINE ec_vec ec_shift(ec_vec a, ec_vec b, int n)
{
    switch (n) {
        EC_SHIFT(1);
        EC_SHIFT(2);
        EC_SHIFT(3);
        EC_SHIFT(4);
        EC_SHIFT(5);
        EC_SHIFT(6);
        EC_SHIFT(7);
        EC_SHIFT(8);
        EC_SHIFT(9);
        EC_SHIFT(10);
        EC_SHIFT(11);
        EC_SHIFT(12);
        EC_SHIFT(13);
        EC_SHIFT(14);
        EC_SHIFT(15);
    default: return a;
    }
}
#undef EC_SHIFT
EC_INLINE void ec_deinterleave(ec_vec a, ec_vec b, ec_vec *even, ec_vec *odd)
{
    const ec_vec first = svuzp1_f32(a, b), second = svuzp2_f32(a, b);
    *even = first;
    *odd = second;
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
            v[2 * i] = svzip1_f32(from[i], from[i + EC_VL / 2]);
            v[2 * i + 1] = svzip2_f32(from[i], from[i + EC_VL / 2]);
        }
    }
}
EC_INLINE float ec_reduce_add(ec_vec a) { return svaddv_f32(ec_all(), a); }
EC_INLINE float ec_reduce_max(ec_vec a) { return svmaxv_f32(ec_all(), a); }
EC_INLINE float ec_reduce_min(ec_vec a) { return svminv_f32(ec_all(), a); }

#include "ec_stored_sve.h"
#include "ec_tile_lanes.h"
#include "ec_tile_broadcast.h"
#include "ec_f32_lanes.h"

#endif

/* AArch64 NEON with FEAT_FP16: a vector of eight halves.  Kernels are instantiated on it, with ec_real for
   their float (edgeconv/codegen/instances.py).  Meanings: see ec_isa_portable.h, per lane. */
#ifndef EC_ISA_H
#define EC_ISA_H

#include <arm_neon.h>

#ifndef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
#error "Vectors of float16 need FEAT_FP16: compile with -march=armv8.2-a+fp16"
#endif

#define EC_ISA_NAME "neon, float16"
#define EC_VL 8
#define EC_CONSTANT_OFFSETS 1
#define EC_TILE_VECS 24 /* of 32 registers; the rest hold filters and pixels */

typedef float16_t ec_real;
typedef float16x8_t ec_vec;

EC_INLINE ec_vec ec_load(const ec_real *p) { return vld1q_f16(p); }
EC_INLINE void ec_store(ec_real *p, ec_vec v) { vst1q_f16(p, v); }
EC_INLINE ec_vec ec_load_n(const ec_real *p, int n)
{
    uint16_t lanes[EC_VL] = {0};
    for (int i = 0; i < n && i < EC_VL; i++)
        lanes[i] = ((const uint16_t *)(const void *)p)[i];
    return vreinterpretq_f16_u16(vld1q_u16(lanes));
}
EC_INLINE void ec_store_n(ec_real *p, ec_vec v, int n)
{
    uint16_t lanes[EC_VL];
    vst1q_u16(lanes, vreinterpretq_u16_f16(v));
    for (int i = 0; i < n && i < EC_VL; i++)
        ((uint16_t *)(void *)p)[i] = lanes[i];
}

EC_INLINE ec_vec ec_set1(ec_real x) { return vdupq_n_f16(x); }
EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return vaddq_f16(a, b); }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return vsubq_f16(a, b); }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return vmulq_f16(a, b); }
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return vdivq_f16(a, b); }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return vfmaq_f16(c, a, b); }
/* The instructions give NaN where either operand is. */
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b) { return vmaxq_f16(a, b); }
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b) { return vminq_f16(a, b); }
EC_INLINE ec_vec ec_maximum(ec_vec a, ec_vec b) { return vmaxq_f16(a, b); }
EC_INLINE ec_vec ec_minimum(ec_vec a, ec_vec b) { return vminq_f16(a, b); }
EC_INLINE ec_vec ec_abs(ec_vec a) { return vabsq_f16(a); }
EC_INLINE ec_vec ec_round(ec_vec a) { return vrndnq_f16(a); }
EC_INLINE ec_vec ec_sqrt(ec_vec a) { return vsqrtq_f16(a); }
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return vbslq_f16(vcltq_f16(a, b), x, y);
}
EC_INLINE void ec_deinterleave(ec_vec a, ec_vec b, ec_vec *even, ec_vec *odd)
{
    *even = vuzp1q_f16(a, b);
    *odd = vuzp2q_f16(a, b);
}

/* Both halves of a vector, each in float32. */
EC_INLINE float32x4_t ec_lower(ec_vec a) { return vcvt_f32_f16(vget_low_f16(a)); }
EC_INLINE float32x4_t ec_upper(ec_vec a) { return vcvt_high_f32_f16(a); }
EC_INLINE ec_vec ec_narrowed(float32x4_t lower, float32x4_t upper)
{
    return vcvt_high_f16_f32(vcvt_f16_f32(lower), upper);
}

/* Summed in float32, and rounded once. */
EC_INLINE ec_real ec_reduce_add(ec_vec a)
{
    return (ec_real)vaddvq_f32(vaddq_f32(ec_lower(a), ec_upper(a)));
}
EC_INLINE ec_real ec_reduce_max(ec_vec a) { return vmaxvq_f16(a); }
EC_INLINE ec_real ec_reduce_min(ec_vec a) { return vminvq_f16(a); }

/* Single elements, by way of the stack. */
EC_INLINE ec_vec ec_load_strided(const ec_real *p, ptrdiff_t stride, int n)
{
    uint16_t lanes[EC_VL] = {0};
    for (int i = 0; i < n && i < EC_VL; i++)
        lanes[i] = ((const uint16_t *)(const void *)p)[i * stride];
    return vreinterpretq_f16_u16(vld1q_u16(lanes));
}
EC_INLINE ec_vec ec_load_span(const ec_real *p, int lo, int hi)
{
    uint16_t lanes[EC_VL] = {0};
    if (lo <= 0 && hi >= EC_VL)
        return ec_load(p);
    for (int i = 0; i < EC_VL; i++)
        if (i >= lo && i < hi)
            lanes[i] = ((const uint16_t *)(const void *)p)[i];
    return vreinterpretq_f16_u16(vld1q_u16(lanes));
}
EC_INLINE ec_vec ec_load_indexed(const ec_real *p, const int32_t *index, int n)
{
    uint16_t lanes[EC_VL] = {0};
    for (int i = 0; i < n && i < EC_VL; i++)
        lanes[i] = ((const uint16_t *)(const void *)p)[index[i]];
    return vreinterpretq_f16_u16(vld1q_u16(lanes));
}
EC_INLINE ec_vec ec_shift(ec_vec a, ec_vec b, int n)
{
    switch (n) {
    case 1: return vextq_f16(a, b, 1);
    case 2: return vextq_f16(a, b, 2);
    case 3: return vextq_f16(a, b, 3);
    case 4: return vextq_f16(a, b, 4);
    case 5: return vextq_f16(a, b, 5);
    case 6: return vextq_f16(a, b, 6);
    case 7: return vextq_f16(a, b, 7);
    default: return a;
    }
}
/* Blocks of two by two, then of four by four, then of eight by eight. */
EC_INLINE void ec_transpose(ec_vec v[EC_VL])
{
    EC_UNROLL
    for (int i = 0; i < EC_VL; i += 2) {
        const ec_vec a = v[i], b = v[i + 1];
        v[i] = vtrn1q_f16(a, b), v[i + 1] = vtrn2q_f16(a, b);
    }
    EC_UNROLL
    for (int i = 0; i < EC_VL; i++)
        if (!(i & 2)) {
            const float32x4_t a = vreinterpretq_f32_f16(v[i]), b = vreinterpretq_f32_f16(v[i + 2]);
            v[i] = vreinterpretq_f16_f32(vtrn1q_f32(a, b)), v[i + 2] = vreinterpretq_f16_f32(vtrn2q_f32(a, b));
        }
    EC_UNROLL
    for (int i = 0; i < 4; i++) {
        const float64x2_t a = vreinterpretq_f64_f16(v[i]), b = vreinterpretq_f64_f16(v[i + 4]);
        v[i] = vreinterpretq_f16_f64(vtrn1q_f64(a, b)), v[i + 4] = vreinterpretq_f16_f64(vtrn2q_f64(a, b));
    }
}

#include "ec_stored_neon_float16.h"
#include "ec_tile_lanes.h"
#include "ec_tile_neon_float16.h"

#endif

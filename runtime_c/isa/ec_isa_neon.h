/* AArch64 NEON: a vector of four floats.  Meanings: see ec_isa_portable.h. */
#ifndef EC_ISA_H
#define EC_ISA_H

#include <arm_neon.h>

#define EC_ISA_NAME "neon"
#define EC_VL 4
#define EC_TILE_VECS 24 /* of 32 registers; the rest hold filters and pixels */

typedef float32x4_t ec_vec;

EC_INLINE ec_vec ec_load(const float *p) { return vld1q_f32(p); }
EC_INLINE void ec_store(float *p, ec_vec v) { vst1q_f32(p, v); }
EC_INLINE ec_vec ec_load_n(const float *p, int n)
{
    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < n; i++)
        lanes[i] = p[i];
    return vld1q_f32(lanes);
}
EC_INLINE void ec_store_n(float *p, ec_vec v, int n)
{
    float lanes[4];
    vst1q_f32(lanes, v);
    for (int i = 0; i < n; i++)
        p[i] = lanes[i];
}
EC_INLINE ec_vec ec_set1(float x) { return vdupq_n_f32(x); }
EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return vaddq_f32(a, b); }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return vsubq_f32(a, b); }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return vmulq_f32(a, b); }
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return vdivq_f32(a, b); }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return vfmaq_f32(c, a, b); }
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b) { return vmaxq_f32(a, b); }
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b) { return vminq_f32(a, b); }
EC_INLINE ec_vec ec_abs(ec_vec a) { return vabsq_f32(a); }
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return vbslq_f32(vcltq_f32(a, b), x, y);
}
EC_INLINE ec_vec ec_copysign(ec_vec a, ec_vec b)
{
    return vbslq_f32(vdupq_n_u32(0x80000000u), b, a);
}
EC_INLINE ec_vec ec_round(ec_vec a) { return vrndnq_f32(a); }
EC_INLINE ec_vec ec_exp2i(ec_vec n)
{
    const uint32x4_t biased = vreinterpretq_u32_f32(vaddq_f32(n, vdupq_n_f32(12583039.0f)));
    return vreinterpretq_f32_u32(vshlq_n_u32(biased, 23));
}
EC_INLINE ec_vec ec_exponent(ec_vec a)
{
    const int32x4_t biased = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_f32(a), 23));
    return vcvtq_f32_s32(vsubq_s32(biased, vdupq_n_s32(127)));
}
EC_INLINE ec_vec ec_mantissa(ec_vec a)
{
    const uint32x4_t fraction = vandq_u32(vreinterpretq_u32_f32(a), vdupq_n_u32(0x007fffffu));
    return vreinterpretq_f32_u32(vorrq_u32(fraction, vdupq_n_u32(0x3f800000u)));
}
EC_INLINE ec_vec ec_sqrt(ec_vec a) { return vsqrtq_f32(a); }
EC_INLINE ec_vec ec_load_strided(const float *p, ptrdiff_t step, int n)
{
    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < n; i++)
        lanes[i] = p[i * step];
    return ec_load(lanes);
}
EC_INLINE ec_vec ec_load_span(const float *p, int lo, int hi)
{
    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (lo <= 0 && hi >= 4)
        return ec_load(p);
    for (int i = ec_max_i(lo, 0); i < ec_min_i(hi, 4); i++)
        lanes[i] = p[i];
    return ec_load(lanes);
}
EC_INLINE ec_vec ec_shift(ec_vec a, ec_vec b, int n)
{
    switch (n) {
    case 1: return vextq_f32(a, b, 1);
    case 2: return vextq_f32(a, b, 2);
    case 3: return vextq_f32(a, b, 3);
    default: return a;
    }
}
EC_INLINE void ec_deinterleave(ec_vec a, ec_vec b, ec_vec *even, ec_vec *odd)
{
    const float32x4x2_t parts = vuzpq_f32(a, b);
    *even = parts.val[0];
    *odd = parts.val[1];
}
EC_INLINE ec_vec ec_load_indexed(const float *p, const int32_t *index, int n)
{
    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < n; i++)
        lanes[i] = p[index[i]];
    return ec_load(lanes);
}
EC_INLINE void ec_transpose(ec_vec v[EC_VL])
{
    const float32x4x2_t a = vtrnq_f32(v[0], v[1]), b = vtrnq_f32(v[2], v[3]);
    v[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
    v[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
    v[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
    v[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}
EC_INLINE float ec_reduce_add(ec_vec a) { return vaddvq_f32(a); }
EC_INLINE float ec_reduce_max(ec_vec a) { return vmaxvq_f32(a); }
EC_INLINE float ec_reduce_min(ec_vec a) { return vminvq_f32(a); }

#include "ec_tile_lanes.h"

/* One channel: a pixel is loaded into every lane. */
EC_INLINE void ec_tile_mac1(ec_tile *t, const float *a, ptrdiff_t a_row, const float *b, int mr,
                            int nv, int lo, int hi)
{
    ec_vec f[EC_TILE_VECS];
    EC_UNROLL
    for (int j = 0; j < nv; j++)
        f[j] = ec_load(b + j * EC_VL);
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        if (p < lo || p >= hi)
            continue;
        const ec_vec x = vld1q_dup_f32(a + p * a_row);
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            t->acc[p * nv + j] = vfmaq_f32(t->acc[p * nv + j], f[j], x);
    }
}

/* sum + f * lane n of x.  Assembly, because it adds in place: among the many multiply-adds of a
   round, GCC gives the sum of vfmaq_laneq_f32 a new register, which it then has to move. */
EC_INLINE ec_vec ec_fma_lane(ec_vec sum, ec_vec f, ec_vec x, int n)
{
    switch (n) {
    case 0: __asm__("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(sum) : "w"(f), "w"(x)); break;
    case 1: __asm__("fmla %0.4s, %1.4s, %2.s[1]" : "+w"(sum) : "w"(f), "w"(x)); break;
    case 2: __asm__("fmla %0.4s, %1.4s, %2.s[2]" : "+w"(sum) : "w"(f), "w"(x)); break;
    default: __asm__("fmla %0.4s, %1.4s, %2.s[3]" : "+w"(sum) : "w"(f), "w"(x)); break;
    }
    return sum;
}

/* Channel LANE of four: the pixels' four channels x[p] are in registers already. */
#define EC_TILE_LANE(LANE)                                                                         \
    do {                                                                                           \
        EC_STEP();                                                                                 \
        ec_vec f[EC_TILE_VECS];                                                                    \
        EC_UNROLL                                                                                  \
        for (int j = 0; j < nv; j++)                                                               \
            f[j] = ec_load(b + (LANE * nv + j) * EC_VL);                                           \
        EC_UNROLL                                                                                  \
        for (int p = 0; p < mr; p++) {                                                             \
            if (p < lo || p >= hi)                                                                 \
                continue;                                                                          \
            EC_UNROLL                                                                              \
            for (int j = 0; j < nv; j++)                                                           \
                t->acc[p * nv + j] = ec_fma_lane(t->acc[p * nv + j], f[j], x[p], LANE);            \
        }                                                                                          \
    } while (0)

EC_INLINE void ec_tile_mac(ec_tile *t, const float *a, ptrdiff_t a_row, ptrdiff_t a_k,
                           const float *b, int kc, int mr, int nv, int lo, int hi)
{
    int k = 0;
    if (a_k == 1) /* four channels lie side by side: multiply by lane, a quarter of the loads */
        EC_NO_UNROLL
        for (; k + 4 <= kc; k += 4, a += 4, b += 4 * nv * EC_VL) {
            ec_vec x[EC_TILE_VECS];
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                x[p] = p >= lo && p < hi ? ec_load(a + p * a_row) : ec_set1(0.0f);
            EC_TILE_LANE(0);
            EC_TILE_LANE(1);
            EC_TILE_LANE(2);
            EC_TILE_LANE(3);
        }
    EC_NO_UNROLL
    for (; k < kc; k++, a += a_k, b += nv * EC_VL)
        ec_tile_mac1(t, a, a_row, b, mr, nv, lo, hi);
}
#undef EC_TILE_LANE

/* One step of the outer product.  mr is a multiple of four: four filters are one load, multiplied
   by lane. */
#define EC_OUTER_LANE(LANE)                                                                        \
    do {                                                                                           \
        EC_UNROLL                                                                                  \
        for (int j = 0; j < nv; j++)                                                               \
            t->acc[(p + LANE) * nv + j] =                                                          \
                vfmaq_laneq_f32(t->acc[(p + LANE) * nv + j], y[j], x, LANE);                       \
    } while (0)

#define EC_OUTER_MAC
EC_INLINE void ec_outer_mac(ec_tile *t, const float *a, const float *b, int kc, int mr, int nv)
{
    EC_NO_UNROLL
    for (int k = 0; k < kc; k++, a += mr, b += nv * EC_VL) {
        ec_vec y[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            y[j] = ec_load(b + j * EC_VL);
        EC_UNROLL
        for (int p = 0; p < mr; p += 4) {
            const ec_vec x = ec_load(a + p);
            EC_OUTER_LANE(0);
            EC_OUTER_LANE(1);
            EC_OUTER_LANE(2);
            EC_OUTER_LANE(3);
        }
    }
}
#undef EC_OUTER_LANE

#include "ec_outer_lanes.h"

#endif

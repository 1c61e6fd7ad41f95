/* Vectors of EC_VL integers: NEON, 64 bits or 32.  Meanings: see ec_integers_portable.h. */
#ifndef EC_INTEGERS_H
#define EC_INTEGERS_H

typedef int32x4_t ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x) { return vdupq_n_s32(x); }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return vld1q_s32(p); }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { vst1q_s32(p, v); }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return vcvtq_f32_s32(v); }
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b) { return vshrq_n_s32(vqdmulhq_s32(a, b), 1); }
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return vmulq_s32(a, b); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return vaddq_s32(a, b); }
EC_INLINE ec_ivec ec_isub(ec_ivec a, ec_ivec b) { return vsubq_s32(a, b); }
EC_INLINE ec_ivec ec_iand(ec_ivec a, ec_ivec b) { return vandq_s32(a, b); }
EC_INLINE ec_ivec ec_itimes(int factor, ec_ivec v) { return ec_imul(v, ec_iset1(factor)); }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return vshlq_s32(a, vdupq_n_s32(-bits)); }
EC_INLINE ec_ivec ec_ishift_right_by(ec_ivec a, ec_ivec bits) { return vshlq_s32(a, vnegq_s32(bits)); }
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high)
{
    return vminq_s32(vmaxq_s32(a, vdupq_n_s32(low)), vdupq_n_s32(high));
}
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n)
{
    int32_t word = 0;
    memcpy(&word, p, (size_t)n);
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(word)))));
}
EC_INLINE ec_ivec ec_iload_s16(const int16_t *p, int n)
{
    int16_t four[EC_VL] = {0};
    if (n < EC_VL)
        memcpy(four, p, (size_t)n * 2);
    return vmovl_s16(vld1_s16(n < EC_VL ? four : p));
}
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n)
{
    const int16x4_t half = vmovn_s32(v);
    const int32_t word = vget_lane_s32(vreinterpret_s32_s8(vmovn_s16(vcombine_s16(half, half))), 0);
    memcpy(p, &word, (size_t)n);
}
EC_INLINE void ec_istore_s8_four(int8_t *p, const ec_ivec v[4], int low, int high)
{
    const int16x8_t first = vcombine_s16(vqmovn_s32(v[0]), vqmovn_s32(v[1]));
    const int16x8_t second = vcombine_s16(vqmovn_s32(v[2]), vqmovn_s32(v[3]));
    int8x16_t bytes = vcombine_s8(vqmovn_s16(first), vqmovn_s16(second));
    if (low > -128)
        bytes = vmaxq_s8(bytes, vdupq_n_s8((int8_t)low));
    if (high < 127)
        bytes = vminq_s8(bytes, vdupq_n_s8((int8_t)high));
    vst1q_s8(p, bytes);
}
EC_INLINE void ec_iload_s8_run(const int8_t *p, ec_ivec v[4])
{
    const int8x16_t bytes = vld1q_s8(p);
    const int16x8_t first = vmovl_s8(vget_low_s8(bytes)), second = vmovl_s8(vget_high_s8(bytes));
    v[0] = vmovl_s16(vget_low_s16(first)), v[1] = vmovl_s16(vget_high_s16(first));
    v[2] = vmovl_s16(vget_low_s16(second)), v[3] = vmovl_s16(vget_high_s16(second));
}
EC_INLINE void ec_istore_s8_run(int8_t *p, const ec_ivec v[4], int low, int high)
{
    ec_istore_s8_four(p, v, low, high);
}

/* Four vectors, bounded, as bytes: `nv` of a row side by side, rows `row` bytes apart. */
#define EC_STORES_ROWS
EC_INLINE void ec_istore_s8_rows(int8_t *p, ptrdiff_t row, const ec_ivec *v, int nv, int low, int high)
{
    int8_t bytes[16];
    if (nv == 4) {
        ec_istore_s8_four(p, v, low, high);
        return;
    }
    ec_istore_s8_four(bytes, v, low, high);
    EC_UNROLL
    for (int i = 0; i < 4; i += nv)
        memcpy(p + i / nv * row, bytes + i * 4, (size_t)nv * 4);
}

#ifdef __aarch64__
#include "ec_narrow_neon.h"
#endif

#ifdef EC_PACKED_ZERO_POINTS
/* The sum of sixteen bytes. */
#define EC_SUMS_SIXTEEN
EC_INLINE int32_t ec_isum_s8_sixteen(const int8_t *p)
{
    const int64x2_t halves = vpaddlq_s32(vpaddlq_s16(vpaddlq_s8(vld1q_s8(p))));
    return (int32_t)(vgetq_lane_s64(halves, 0) + vgetq_lane_s64(halves, 1));
}
#endif

#endif

/* What 64-bit and 32-bit NEON spell alike.  Included by their ISA headers. */

typedef float32x4_t ec_vec;

EC_INLINE ec_vec ec_load(const float *p) { return vld1q_f32(p); }
EC_INLINE void ec_store(float *p, ec_vec v) { vst1q_f32(p, v); }
EC_INLINE ec_vec ec_load_n(const float *p, int n)
{
    /* Not a loop, in which GCC does not see that n is at most 4. */
    const float lanes[4] = {n > 0 ? p[0] : 0.0f, n > 1 ? p[1] : 0.0f, n > 2 ? p[2] : 0.0f,
                            n > 3 ? p[3] : 0.0f};
    return vld1q_f32(lanes);
}
EC_INLINE void ec_store_n(float *p, ec_vec v, int n)
{
    float lanes[4];
    vst1q_f32(lanes, v);
    for (int i = 0; i < n && i < 4; i++)
        p[i] = lanes[i];
}
EC_INLINE ec_vec ec_set1(float x) { return vdupq_n_f32(x); }
EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return vaddq_f32(a, b); }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return vsubq_f32(a, b); }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return vmulq_f32(a, b); }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return vfmaq_f32(c, a, b); }
/* The instructions give NaN where either operand is. */
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b) { return vmaxq_f32(a, b); }
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b) { return vminq_f32(a, b); }
EC_INLINE ec_vec ec_maximum(ec_vec a, ec_vec b) { return vmaxq_f32(a, b); }
EC_INLINE ec_vec ec_minimum(ec_vec a, ec_vec b) { return vminq_f32(a, b); }

EC_INLINE ec_vec ec_abs(ec_vec a) { return vabsq_f32(a); }
EC_INLINE ec_vec ec_copysign(ec_vec a, ec_vec b)
{
    return vbslq_f32(vdupq_n_u32(0x80000000u), b, a);
}
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
    const float32x4x2_t halves = vuzpq_f32(a, b);
    *even = halves.val[0];
    *odd = halves.val[1];
}
EC_INLINE void ec_transpose(ec_vec v[EC_VL])
{
    const float32x4x2_t a = vtrnq_f32(v[0], v[1]), b = vtrnq_f32(v[2], v[3]);
    v[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
    v[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
    v[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
    v[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}

#include "ec_lanes_four.h"

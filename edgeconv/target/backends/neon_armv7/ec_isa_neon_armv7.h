/* 32-bit ARM with NEON and VFPv4: a vector of four floats.  Meanings: see ec_isa_portable.h.
   NEON of ARMv7 reads subnormal numbers as zero and writes zero for them, and divides, takes roots
   and rounds in several steps; these are exact to rounding where no subnormal is involved. */
#ifndef EC_ISA_H
#define EC_ISA_H

#include <arm_neon.h>

#define EC_ISA_NAME "neon_armv7"
#define EC_VL 4
#define EC_TILE_VECS 12 /* of 16 registers; the rest hold filters and pixels */

#include "ec_vectors_neon.h"

/* a < b, all bits of a lane or none.  Not vcltq_f32: GCC 12 compares its lanes one by one in scalar
   registers, because the vector instruction takes subnormals for zero. */
EC_INLINE uint32x4_t ec_less(ec_vec a, ec_vec b)
{
    uint32x4_t less;
    __asm__("vcgt.f32 %q0, %q2, %q1" : "=w"(less) : "w"(a), "w"(b));
    return less;
}

EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return vbslq_f32(ec_less(a, b), x, y);
}
/* As in portable C: 2^23 leaves no room for a fraction. */
EC_INLINE ec_vec ec_round(ec_vec a)
{
    const ec_vec limit = vdupq_n_f32(8388608.0f), magnitude = vabsq_f32(a);
    const ec_vec whole = vsubq_f32(vaddq_f32(magnitude, limit), limit);
    return ec_copysign(ec_select_lt(magnitude, limit, whole, magnitude), a);
}
/* The power of two that brings a normal number into [1, 2) ([2, 4) from 2^127 on), as bits. */
EC_INLINE int32x4_t ec_scale_of(ec_vec a)
{
    const int32x4_t exponent = vandq_s32(vreinterpretq_s32_f32(a), vdupq_n_s32(0x7f800000));
    return vmaxq_s32(vsubq_s32(vdupq_n_s32(0x7f000000), exponent), vdupq_n_s32(0x00800000));
}
/* The quotient of the mantissas by Newton's iteration on the reciprocal, corrected by the
   remainder, which a fused multiply-subtract leaves exact; then the exponents, in two halves as
   their difference may be twice the range.  A quotient of mantissas below 1/4, or not a number,
   says that an operand is zero, infinite or NaN: then it is the result as it stands. */
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b)
{
    const int32x4_t up_a = ec_scale_of(a), up_b = ec_scale_of(b);
    const ec_vec x = vmulq_f32(a, vreinterpretq_f32_s32(up_a));
    const ec_vec y = vmulq_f32(b, vreinterpretq_f32_s32(up_b));
    ec_vec r = vrecpeq_f32(y);
    r = vmulq_f32(r, vrecpsq_f32(y, r));
    r = vmulq_f32(r, vrecpsq_f32(y, r));
    const ec_vec plain = vmulq_f32(x, r);
    const ec_vec exact = vfmaq_f32(plain, vfmsq_f32(x, plain, y), r);
    const ec_vec quotient = vbslq_f32(vcageq_f32(exact, vdupq_n_f32(0.25f)), exact, plain);
    const int32x4_t one = vdupq_n_s32(0x3f800000), power = vsubq_s32(up_b, up_a);
    const int32x4_t half = vandq_s32(vshrq_n_s32(power, 1), vdupq_n_s32((int32_t)0xff800000u));
    const int32x4_t rest = vsubq_s32(power, half);
    return vmulq_f32(vmulq_f32(quotient, vreinterpretq_f32_s32(vaddq_s32(half, one))),
                     vreinterpretq_f32_s32(vaddq_s32(rest, one)));
}
/* Newton's iteration on the reciprocal root, corrected by the remainder of the square. */
EC_INLINE ec_vec ec_sqrt(ec_vec a)
{
    /* The remainder of a small number would underflow: take the root of 2^100 a. */
    const uint32x4_t small = ec_less(a, vdupq_n_f32(1e-30f));
    const ec_vec one = vdupq_n_f32(1.0f);
    const ec_vec x = vmulq_f32(a, vbslq_f32(small, vdupq_n_f32(1.2676506002282294e30f), one));
    ec_vec y = vrsqrteq_f32(x);
    y = vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(x, y), y));
    y = vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(x, y), y));
    const ec_vec plain = vmulq_f32(x, y);
    const ec_vec half = vmulq_f32(y, vdupq_n_f32(0.5f));
    const ec_vec root = vfmaq_f32(plain, vfmsq_f32(x, plain, plain), half);
    const ec_vec down = vbslq_f32(small, vdupq_n_f32(1.0f / 1125899906842624.0f), one);
    /* Zeros, infinity and NaN are their own roots, as no step above says; below zero y is NaN. */
    const uint32x4_t number =
        vandq_u32(ec_less(vdupq_n_f32(0.0f), vabsq_f32(a)),
                  ec_less(a, vreinterpretq_f32_u32(vdupq_n_u32(0x7f800000u))));
    return vbslq_f32(number, vmulq_f32(root, down), vaddq_f32(a, a));
}
/* Pairs are joined twice; the second lane of the result repeats the first. */
EC_INLINE float ec_reduce_add(ec_vec a)
{
    const float32x2_t pairs = vpadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(vpadd_f32(pairs, pairs), 0);
}
EC_INLINE float ec_reduce_max(ec_vec a)
{
    const float32x2_t pairs = vpmax_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(vpmax_f32(pairs, pairs), 0);
}
EC_INLINE float ec_reduce_min(ec_vec a)
{
    const float32x2_t pairs = vpmin_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(vpmin_f32(pairs, pairs), 0);
}

/* A tile takes nearly all registers.  Constants of the epilogue that are kept in some from one tile
   to the next cost GCC a spill of accumulators in the innermost loop; here they are given up. */
#define EC_TILE_BEGIN()                                                                            \
    __asm__ volatile("" ::: "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10",     \
                     "d11", "d12", "d13", "d14", "d15", "d16", "d17", "d18", "d19", "d20", "d21",  \
                     "d22", "d23", "d24", "d25", "d26", "d27", "d28", "d29", "d30", "d31")

#include "ec_stored_neon_armv7.h"
#include "ec_tile_lanes.h"

/* sum + f * lane n of x, n = 0 or 1.  ARMv7 multiplies by lane in the unfused form only: the
   product is rounded before it is added.  The fused one would cost a vdup for every pixel.
   Assembly, because the order of the multiply-adds is what keeps a full register file from
   spilling, and compilers change that of intrinsics. */
EC_INLINE ec_vec ec_mla_lane(ec_vec sum, ec_vec filters, float32x2_t x, int n)
{
    if (n)
        __asm__ volatile("vmla.f32 %q0, %q1, %P2[1]" : "+w"(sum) : "w"(filters), "t"(x));
    else
        __asm__ volatile("vmla.f32 %q0, %q1, %P2[0]" : "+w"(sum) : "w"(filters), "t"(x));
    return sum;
}

/* Two neighbouring channels of float32, or one of any format in both lanes. */
EC_INLINE float32x2_t ec_load_channels(const char *a, int a_as, int channels)
{
    if (a_as != EC_F32)
        return vget_low_f32(ec_set1_as(a, a_as));
    return channels == 2 ? vld1_f32((const float *)a) : vld1_dup_f32((const float *)a);
}

/* One or two channels: those of a pixel share a d register while filters pass by, one vector at a
   time.  Flyte24 needs these registers for the places of its bytes, int4 for those of its bits: then
   pixels are loaded again for every vector of filters. */
EC_INLINE void ec_tile_few(ec_tile *tile, const char *a, int a_as, ptrdiff_t pixel, const char *stored,
                            int fmt, int channels, int mr, int nv, int lo, int hi)
{
    const int again = EC_STORED_BYTES(fmt) == 3 || EC_STORED_SPAN(fmt, 2) == 1;
    float32x2_t x[EC_TILE_VECS];
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        if (!again && p >= lo && p < hi)
            x[p] = ec_load_channels(a + p * pixel, a_as, channels);
    EC_UNROLL
    for (int j = 0; j < channels * nv; j++) {
        EC_IN_ORDER();
        const ec_vec filters = ec_load_at(stored, j * EC_VL, fmt);
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            if (p < lo || p >= hi)
                continue;
            if (again) {
                EC_IN_ORDER();
                x[p] = ec_load_channels(a + p * pixel, a_as, channels);
            }
            tile->acc[p * nv + j % nv] = ec_mla_lane(tile->acc[p * nv + j % nv], filters, x[p], j / nv);
        }
    }
}

EC_INLINE void ec_tile_sum(ec_tile *tile, const void *a, int a_as, ptrdiff_t a_row, ptrdiff_t a_k,
                             const void *b, int fmt, int kc, int mr, int nv, int lo, int hi)
{
    const int vec = EC_STORED_SPAN(fmt, EC_VL); /* bytes */
    const ptrdiff_t pixel = a_row * EC_STORED_BYTES(a_as), stride = a_k * EC_STORED_BYTES(a_as);
    const char *stored = b, *pixels = a;
    int k = 0;
    if (a_k == 1 && a_as == EC_F32) /* channels lie side by side: half of the loads */
        EC_NO_UNROLL
        for (; k + 2 <= kc; k += 2, pixels += 2 * stride, stored += 2 * nv * vec)
            ec_tile_few(tile, pixels, a_as, pixel, stored, fmt, 2, mr, nv, lo, hi);
    EC_NO_UNROLL
    for (; k < kc; k++, pixels += stride, stored += nv * vec)
        ec_tile_few(tile, pixels, a_as, pixel, stored, fmt, 1, mr, nv, lo, hi);
}

#include "ec_tile_decoded.h"

/* sum + y * lane n of x, n < 4. */
EC_INLINE ec_vec ec_mla_quad(ec_vec sum, ec_vec y, ec_vec x, int n)
{
    return ec_mla_lane(sum, y, n & 2 ? vget_high_f32(x) : vget_low_f32(x), n & 1);
}

/* Four floats; p moves on. */
EC_INLINE ec_vec ec_load_next(const float **p)
{
    ec_vec v;
    __asm__ volatile("vld1.32 {%e0-%f0}, [%1]!" : "=w"(v), "+r"(*p)::"memory");
    return v;
}

/* Eight floats by one instruction; p moves on.  It wants four d registers in a row, q_lo and q_hi:
   Clang has no name for such an operand, and up to version 19 its vld1q_f32_x2 takes the address
   for a multiple of 32 bytes, hence registers by number. */
#define EC_LOAD_PAIR(p, lo, hi, q_lo, q_hi)                                                        \
    do {                                                                                           \
        register ec_vec lo_ __asm__(q_lo), hi_ __asm__(q_hi);                                      \
        __asm__ volatile("vld1.32 {%e0-%f1}, [%2]!"                                                \
                         : "=w"(lo_), "=w"(hi_), "+r"(p)::"memory");                               \
        lo = lo_;                                                                                  \
        hi = hi_;                                                                                  \
    } while (0)

/* Filters are multiplied by lane, four to a vector.  Of filters and pixels, one has a single
   vector per step; two steps of it stay in registers while those of the other pass by. */
EC_INLINE void ec_f32_pair(ec_tile *tile, const float **a, const float **b, int mr, int nv)
{
    const int by_pixels = mr == 4, passing = by_pixels ? nv : mr / 4;
    const float *kept = by_pixels ? *a : *b, *next = by_pixels ? *b : *a;
    ec_vec x[2], y[2];
    EC_LOAD_PAIR(kept, x[0], x[1], "q0", "q1");
    EC_UNROLL
    for (int i = 0; i < 2 * passing; i++) {
        if (i % 2 == 0)
            EC_LOAD_PAIR(next, y[0], y[1], "q2", "q3");
        const int turn = i / passing, v = i % passing;
        EC_UNROLL
        for (int p = 0; p < 4; p++) {
            ec_vec *sum = &tile->acc[by_pixels ? p * nv + v : 4 * v + p];
            *sum = by_pixels ? ec_mla_quad(*sum, y[i % 2], x[turn], p)
                             : ec_mla_quad(*sum, x[turn], y[i % 2], p);
        }
    }
    *a = by_pixels ? kept : next;
    *b = by_pixels ? next : kept;
}

/* One step: as above, a vector at a time. */
EC_INLINE void ec_f32_one(ec_tile *tile, const float **a, const float **b, int mr, int nv)
{
    ec_vec x[EC_TILE_VECS / 4];
    EC_UNROLL
    for (int p = 0; p < mr; p += 4)
        x[p / 4] = ec_load_next(a);
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const ec_vec y = ec_load_next(b);
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            tile->acc[p * nv + j] = ec_mla_quad(tile->acc[p * nv + j], y, x[p / 4], p % 4);
    }
}

/* mr is 4, or a multiple of it where nv is 1.  Loads and multiply-adds may share a port, and so may
   what counts the rounds: hence pairs, eight steps to a round, and a count that ends at zero.  The
   counts pass through assembly: of a constant depth GCC would peel the rounds off, and spill. */
#define EC_F32_MAC
EC_INLINE void ec_f32_mac(ec_tile *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const float *x = a, *y = b;
    int rounds = depth / 8, rest = depth % 8;
    (void)a_row, (void)a_k; /* packed */
    __asm__("" : "+r"(rounds), "+r"(rest));
    EC_NO_UNROLL
    for (; rounds != 0; rounds--) {
        EC_UNROLL
        for (int pair = 0; pair < 4; pair++)
            ec_f32_pair(tile, &x, &y, mr, nv);
    }
    EC_NO_UNROLL
    for (; rest != 0; rest--)
        ec_f32_one(tile, &x, &y, mr, nv);
}

#include "ec_f32_lanes.h"

#endif

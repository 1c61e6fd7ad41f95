/* With NEON of 64 bits or 32: vectors of 2 * EC_VL integers of 16 bits, and the micro-kernel s16 of pairs
   of these.  Meanings: see ec_int16_portable.h.  Included after ec_isa_neon.h or ec_isa_neon_armv7.h.

   Four filters are multiplied by one channel of a pixel: a vector of filters holds four of them at the first
   channel of a word, then at the second (`BY_CHANNEL` of edgeconv/target/advanced_simd.py).  Lanes of 16 bits
   are those of the lower half of the registers, of which compilers know by the letter x. */
#ifndef EC_INT16_H
#define EC_INT16_H

#include "ec_int8_neon_sums.h"

typedef ec_s8_sums ec_s16_sums;
#define ec_s16_init ec_s8_init
#define ec_s16_read ec_s8_read
#define ec_s16_save ec_s8_save
#define ec_s16_load ec_s8_load

#ifdef __aarch64__
#define EC_S16_WORD(EVEN, ODD)                                                                     \
    __asm__ volatile("smlal %0.4s, %1.4h, %2.h[" #EVEN "]\n\tsmlal2 %0.4s, %1.8h, %2.h[" #ODD "]"  \
                     : "+w"(*sum) : "w"(filters), "x"(pixels))
#else
#define EC_S16_WORD(EVEN, ODD)                                                                     \
    __asm__ volatile("vmlal.s16 %q0, %e1, " EC_S16_LANE(EVEN)                                      \
                     "\n\tvmlal.s16 %q0, %f1, " EC_S16_LANE(ODD)                                  \
                     : "+w"(*sum) : "w"(filters), "x"(pixels))
#define EC_S16_LANE(NUMBER) EC_S16_LANE_##NUMBER
#define EC_S16_LANE_0 "%e2[0]"
#define EC_S16_LANE_1 "%e2[1]"
#define EC_S16_LANE_2 "%e2[2]"
#define EC_S16_LANE_3 "%e2[3]"
#define EC_S16_LANE_4 "%f2[0]"
#define EC_S16_LANE_5 "%f2[1]"
#define EC_S16_LANE_6 "%f2[2]"
#define EC_S16_LANE_7 "%f2[3]"
#endif

/* Eight channels of a pixel.  Compilers are told of the registers whose lanes can be multiplied by, or GCC loads to others
   and moves each vector before every two products. */
EC_INLINE int16x8_t ec_s16_pixels(const char *p)
{
#if defined(__aarch64__)
    int16x8_t v;
    __asm__ volatile("ldr %q0, %1" : "=x"(v) : "m"(*(const char(*)[16])p));
    return v;
#else
    return vreinterpretq_s16_s8(vld1q_s8((const int8_t *)p));
#endif
}

/* In place and in order, the filters at the two channels of a word by word number n of a pixel. */
EC_INLINE void ec_s16_add(ec_ivec *sum, int16x8_t filters, int16x8_t pixels, int n)
{
    switch (n) {
    case 0: EC_S16_WORD(0, 1); break;
    case 1: EC_S16_WORD(2, 3); break;
    case 2: EC_S16_WORD(4, 5); break;
    default: EC_S16_WORD(6, 7); break;
    }
}

EC_INLINE void ec_s16_mac(ec_s16_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const int at_once = ec_filters_run() && mr * nv + mr + 4 <= 32 ? 4 : 1; /* vectors of filters */
    const char *x_at = a;
    const int8_t *w = b;
    int k = 0;
    if (a_k == 4)
        EC_NO_UNROLL
        for (; k + 4 <= depth; k += 4, x_at += 16) {
            int16x8_t x[EC_TILE_VECS];
            int8x16_t f[4];
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                x[p] = ec_s16_pixels(x_at + p * a_row);
            EC_UNROLL
            for (int i = 0; i < 4 * nv; i++) {
                if (i % at_once == 0)
                    ec_filters_next(f, &w, at_once);
                EC_UNROLL
                for (int p = 0; p < mr; p++)
                    ec_s16_add(&tile->acc[p * nv + i % nv], vreinterpretq_s16_s8(f[i % at_once]), x[p], i / nv);
            }
        }
    EC_NO_UNROLL
    for (; k < depth; k++, x_at += a_k, w += nv * 16) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int32_t pair;
            memcpy(&pair, x_at + p * a_row, 4);
            const int16x8_t x = vreinterpretq_s16_s32(vdupq_n_s32(pair));
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_s16_add(&tile->acc[p * nv + j], vreinterpretq_s16_s8(vld1q_s8(w + j * 16)), x, 0);
        }
    }
}

typedef int16x8_t ec_hvec;
EC_INLINE ec_hvec ec_hset1(int x) { return vdupq_n_s16((int16_t)x); }
EC_INLINE ec_hvec ec_hload(const void *p) { return vld1q_s16(p); }
EC_INLINE void ec_hstore(void *p, ec_hvec v) { vst1q_s16(p, v); }
EC_INLINE ec_hvec ec_hadd(ec_hvec a, ec_hvec b) { return vaddq_s16(a, b); }
EC_INLINE ec_hvec ec_hsub(ec_hvec a, ec_hvec b) { return vsubq_s16(a, b); }
EC_INLINE ec_hvec ec_htimes(int factor, ec_hvec v) { return vmulq_s16(v, vdupq_n_s16((int16_t)factor)); }
EC_INLINE ec_hvec ec_hload_s8(const int8_t *p, int n)
{
    int8_t eight[2 * EC_VL];
    if (n < 2 * EC_VL)
        memcpy(eight, p, (size_t)n);
    return vmovl_s8(vld1_s8(n < 2 * EC_VL ? eight : p));
}

#endif

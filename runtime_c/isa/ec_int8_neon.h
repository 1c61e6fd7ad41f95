/* The micro-kernels s8 and s8_packed with AArch64's dot products: int8 by int8 to int32.  Included
   after ec_isa_neon.h.  A word holds four channels. */
#ifndef EC_INT8_H
#define EC_INT8_H

#ifndef __ARM_FEATURE_DOTPROD
#error "Multiplying int8 needs dot products: compile with -march=armv8.2-a+dotprod"
#endif

#define EC_S8_SHIFT 0
typedef int8_t ec_s8_element; /* of rows, as they are packed */
typedef int32x4_t ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x) { return vdupq_n_s32(x); }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return vld1q_s32(p); }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { vst1q_s32(p, v); }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return vcvtq_f32_s32(v); }

#include "ec_int8_lanes.h"

/* In place, group number n of the pixels: GCC moves the sums of vdotq_laneq_s32. */
EC_INLINE void ec_s8_add(ec_ivec *sum, int8x16_t filters, int8x16_t pixels, int n)
{
    switch (n) {
    case 0: __asm__("sdot %0.4s, %1.16b, %2.4b[0]" : "+w"(*sum) : "w"(filters), "w"(pixels)); break;
    case 1: __asm__("sdot %0.4s, %1.16b, %2.4b[1]" : "+w"(*sum) : "w"(filters), "w"(pixels)); break;
    case 2: __asm__("sdot %0.4s, %1.16b, %2.4b[2]" : "+w"(*sum) : "w"(filters), "w"(pixels)); break;
    default: __asm__("sdot %0.4s, %1.16b, %2.4b[3]" : "+w"(*sum) : "w"(filters), "w"(pixels)); break;
    }
}

/* Rows that are strided: four groups of each are one load where they lie side by side. */
EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const int8_t *x_at = a, *w = b;
    int k = 0;
    if (a_k == 4)
        EC_NO_UNROLL
        for (; k + 4 <= depth; k += 4, x_at += 16, w += 4 * nv * 16) {
            int8x16_t x[EC_TILE_VECS];
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                x[p] = vld1q_s8(x_at + p * a_row);
            EC_UNROLL
            for (int i = 0; i < 4; i++) {
                EC_IN_ORDER();
                EC_UNROLL
                for (int j = 0; j < nv; j++) {
                    const int8x16_t f = vld1q_s8(w + (i * nv + j) * 16);
                    EC_UNROLL
                    for (int p = 0; p < mr; p++)
                        ec_s8_add(&tile->acc[p * nv + j], f, x[p], i);
                }
            }
        }
    EC_NO_UNROLL
    for (; k < depth; k++, x_at += a_k, w += nv * 16) {
        int8x16_t f[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            f[j] = vld1q_s8(w + j * 16);
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int32_t group;
            memcpy(&group, x_at + p * a_row, 4);
            const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(group));
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_s8_add(&tile->acc[p * nv + j], f[j], x, 0);
        }
    }
}

/* Rows that are packed: four of them are one load.  mr is a multiple of four. */
typedef ec_s8_sums ec_s8_packed_sums;
#define ec_s8_packed_init ec_s8_init
#define ec_s8_packed_read ec_s8_read
#define ec_s8_packed_save ec_s8_save
#define ec_s8_packed_load ec_s8_load
EC_INLINE void ec_s8_packed_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                                const void *b, int depth, int mr, int nv)
{
    const int8_t *x_at = a, *w = b;
    (void)a_row; /* packed */
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv * 16) {
        int8x16_t f[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            f[j] = vld1q_s8(w + j * 16);
        EC_UNROLL
        for (int p = 0; p < mr; p += 4) {
            const int8x16_t x = vld1q_s8(x_at + p * 4);
            EC_UNROLL
            for (int i = 0; i < 4 * nv; i++)
                ec_s8_add(&tile->acc[p * nv + i], f[i % nv], x, i / nv);
        }
    }
}

/* As in ec_int8_avx512.h. */
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b) { return vshrq_n_s32(vqdmulhq_s32(a, b), 1); }
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return vmulq_s32(a, b); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return vaddq_s32(a, b); }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return vshlq_s32(a, vdupq_n_s32(-bits)); }
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
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n)
{
    const int16x4_t half = vmovn_s32(v);
    const int32_t word = vget_lane_s32(vreinterpret_s32_s8(vmovn_s16(vcombine_s16(half, half))), 0);
    memcpy(p, &word, (size_t)n);
}

#endif

/* The micro-kernels s8 and s8_packed with AArch64's dot products: int8 by int8 to int32.  Included
   after ec_isa_neon.h.  A word holds four channels. */
#ifndef EC_INT8_DOT_H
#define EC_INT8_DOT_H

#ifndef __ARM_FEATURE_DOTPROD
#error "Multiplying int8 needs dot products: compile with -march=armv8.2-a+dotprod"
#endif

#include "ec_int8_neon_sums.h"

/* Sixteen words of n channels, which lie in planes `apart` bytes from each other; others are zero points. */
#define EC_PACKS_PLANES
EC_INLINE void ec_s8_pack_planes(void *to, const int8_t *in, ptrdiff_t apart, int n, int zero)
{
    int8x16x4_t planes;
    EC_UNROLL
    for (int j = 0; j < 4; j++)
        planes.val[j] = j < n ? vld1q_s8(in + j * apart) : vdupq_n_s8((int8_t)zero);
    vst4q_s8(to, planes);
}

/* In place, group number n of the pixels: GCC moves the sums of vdotq_laneq_s32. */
#define EC_S8_ADD(SUM, FILTERS, PIXELS, N)                                                             \
    switch (N) {                                                                                       \
    case 0: __asm__("sdot %0.4s, %1.16b, %2.4b[0]" : "+w"(SUM) : "w"(FILTERS), "w"(PIXELS)); break;    \
    case 1: __asm__("sdot %0.4s, %1.16b, %2.4b[1]" : "+w"(SUM) : "w"(FILTERS), "w"(PIXELS)); break;    \
    case 2: __asm__("sdot %0.4s, %1.16b, %2.4b[2]" : "+w"(SUM) : "w"(FILTERS), "w"(PIXELS)); break;    \
    default: __asm__("sdot %0.4s, %1.16b, %2.4b[3]" : "+w"(SUM) : "w"(FILTERS), "w"(PIXELS)); break;   \
    }
EC_INLINE void ec_s8_add(ec_ivec *sum, int8x16_t filters, int8x16_t pixels, int n)
{
    EC_S8_ADD(*sum, filters, pixels, n)
}

/* The next vectors; p moves on.  Clang would keep some of two by one load in memory. */
#if defined(__clang__)
#define EC_S8_AT_ONCE 1
EC_INLINE void ec_s8_next(const int8_t **p, int8x16_t *next)
{
    *next = vld1q_s8(*p);
    *p += 16;
}
#else
#define EC_S8_AT_ONCE 2
EC_INLINE void ec_s8_next(const int8_t **p, int8x16_t *next)
{
    __asm__ volatile("ldp %q0, %q1, [%2], #32" : "=w"(next[0]), "=w"(next[1]), "+r"(*p)::"memory");
}
#endif

/* Whether sums, rows and four vectors of filters fit 32 registers.  Clang 14 keeps sums in memory where registers have
   names. */
#if defined(__clang__) && __clang_major__ < 19
#define EC_S8_FOUR_FIT(MR, NV) 0
#else
#define EC_S8_FOUR_FIT(MR, NV) ((MR) * (NV) + (MR) + 4 <= 32)
#endif

/* All sums of four vectors of filters, number `first` and those behind it, by one load. */
EC_INLINE void ec_s8_four(ec_s8_sums *tile, const int8x16_t *x, const int8_t **filters, int first, int mr, int nv)
{
    register int8x16_t f0 __asm__("v28");
    register int8x16_t f1 __asm__("v29");
    register int8x16_t f2 __asm__("v30");
    register int8x16_t f3 __asm__("v31");
    __asm__ volatile("ld1 {v28.16b-v31.16b}, [%4], #64"
                     : "=w"(f0), "=w"(f1), "=w"(f2), "=w"(f3), "+r"(*filters)::"memory");
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        EC_S8_ADD(tile->acc[p * nv + first % nv], f0, x[p], first / nv)
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        EC_S8_ADD(tile->acc[p * nv + (first + 1) % nv], f1, x[p], (first + 1) / nv)
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        EC_S8_ADD(tile->acc[p * nv + (first + 2) % nv], f2, x[p], (first + 2) / nv)
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        EC_S8_ADD(tile->acc[p * nv + (first + 3) % nv], f3, x[p], (first + 3) / nv)
    EC_IN_ORDER();
}

/* All sums of `groups` groups of every row, which are loaded: x[p] has those of row p. */
EC_INLINE void ec_s8_products(ec_s8_sums *tile, const int8x16_t *x, const int8_t **filters, int groups, int mr, int nv)
{
    /* As many as are loaded to registers by name. */
    const int named = EC_S8_FOUR_FIT(mr, nv) ? groups * nv / 4 * 4 : 0;
    int8x16_t f[EC_S8_AT_ONCE];
    EC_UNROLL
    for (int i = 0; i < named; i += 4)
        ec_s8_four(tile, x, filters, i, mr, nv);
    EC_UNROLL
    for (int i = named; i + EC_S8_AT_ONCE <= groups * nv; i += EC_S8_AT_ONCE) {
        ec_s8_next(filters, f);
        EC_UNROLL
        for (int j = i; j < i + EC_S8_AT_ONCE; j++)
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                ec_s8_add(&tile->acc[p * nv + j % nv], f[j - i], x[p], j / nv);
        EC_IN_ORDER();
    }
    if (groups * nv % EC_S8_AT_ONCE) {
        f[0] = vld1q_s8(*filters);
        *filters += 16;
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            ec_s8_add(&tile->acc[p * nv + nv - 1], f[0], x[p], groups - 1);
    }
}

/* All sums of `groups` groups of every row, of which four are one load. */
EC_INLINE void ec_s8_groups(ec_s8_sums *tile, const int8_t *x_at, ptrdiff_t a_row, const int8_t **filters,
                            int groups, int mr, int nv)
{
    int8x16_t x[EC_TILE_VECS];
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        x[p] = vld1q_s8(x_at + p * a_row);
    ec_s8_products(tile, x, filters, groups, mr, nv);
}

/* All sums of `taps` times four groups, where a row is the one before from its second four on, as the pixels of a
   window are that moves by one: each is loaded once.  taps: three at most. */
EC_INLINE void ec_s8_slide(ec_s8_sums *tile, const int8_t *x_at, const int8_t **filters, int taps, int mr, int nv)
{
    int8x16_t x[EC_TILE_VECS + 2];
    EC_UNROLL
    for (int p = 0; p + EC_S8_AT_ONCE <= mr; p += EC_S8_AT_ONCE)
        ec_s8_next(&x_at, x + p);
    if (mr % EC_S8_AT_ONCE) {
        x[mr - 1] = vld1q_s8(x_at);
        x_at += 16;
    }
    EC_UNROLL
    for (int t = 0; t < taps; t++) {
        if (t > 0)
            x[mr + t - 1] = vld1q_s8(x_at + (t - 1) * 16);
        ec_s8_products(tile, x + t, filters, 4, mr, nv);
    }
}

/* Rows that are strided: four groups of each are one load where they lie side by side, or two or three, with what lies
   behind them: panels have room for that. */
EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const int8_t *x_at = a, *w = b;
    int k = 0;
    if (a_k == 4) {
        if (a_row == 16) {
            EC_NO_UNROLL
            for (; k + 12 <= depth; k += 12, x_at += 48)
                ec_s8_slide(tile, x_at, &w, 3, mr, nv);
            if (k + 8 <= depth) {
                ec_s8_slide(tile, x_at, &w, 2, mr, nv);
                k += 8, x_at += 32;
            }
        }
        EC_NO_UNROLL
        for (; k + 4 <= depth; k += 4, x_at += 16)
            ec_s8_groups(tile, x_at, a_row, &w, 4, mr, nv);
        if (depth - k == 3)
            ec_s8_groups(tile, x_at, a_row, &w, 3, mr, nv);
        else if (depth - k == 2)
            ec_s8_groups(tile, x_at, a_row, &w, 2, mr, nv);
        else if (depth > k && a_row == 16)
            ec_s8_groups(tile, x_at, a_row, &w, 1, mr, nv);
        if (depth - k > 1 || a_row == 16)
            return;
    }
    EC_NO_UNROLL
    for (; k < depth; k++, x_at += a_k) {
        int8x16_t x[EC_TILE_VECS];
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int32_t group;
            memcpy(&group, x_at + p * a_row, 4);
            x[p] = vreinterpretq_s8_s32(vdupq_n_s32(group));
        }
        EC_UNROLL
        for (int j = 0; j < nv; j++, w += 16) {
            const int8x16_t f = vld1q_s8(w);
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                ec_s8_add(&tile->acc[p * nv + j], f, x[p], 0);
            EC_IN_ORDER();
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

#endif

/* AArch64 NEON: a vector of four floats.  Meanings: see ec_isa_portable.h. */
#ifndef EC_ISA_H
#define EC_ISA_H

#include <arm_neon.h>

#define EC_ISA_NAME "neon"
#define EC_VL 4
#define EC_TILE_VECS 24 /* of 32 registers; the rest hold filters and pixels */

#include "ec_vectors_neon.h"

EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return vdivq_f32(a, b); }
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return vbslq_f32(vcltq_f32(a, b), x, y);
}
EC_INLINE ec_vec ec_round(ec_vec a) { return vrndnq_f32(a); }
EC_INLINE ec_vec ec_sqrt(ec_vec a) { return vsqrtq_f32(a); }
EC_INLINE float ec_reduce_add(ec_vec a) { return vaddvq_f32(a); }
EC_INLINE float ec_reduce_max(ec_vec a) { return vmaxvq_f32(a); }
EC_INLINE float ec_reduce_min(ec_vec a) { return vminvq_f32(a); }

#include "ec_stored_neon.h"
#include "ec_tile_lanes.h"

#define EC_JOINED_COLUMNS 1 /* ec_tile_mac multiplies EC_VL channels by lane */

/* One channel: a pixel is loaded into every lane. */
EC_INLINE void ec_tile_mac1(ec_tile *tile, const char *a, int a_as, ptrdiff_t pixel, const char *stored,
                            int fmt, int mr, int nv, int lo, int hi)
{
    ec_vec filters[EC_TILE_VECS];
    EC_UNROLL
    for (int j = 0; j < nv; j++)
        filters[j] = ec_load_at(stored, j * EC_VL, fmt);
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        if (p < lo || p >= hi)
            continue;
        const ec_vec x = ec_set1_as(a + p * pixel, a_as);
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            tile->acc[p * nv + j] = vfmaq_f32(tile->acc[p * nv + j], filters[j], x);
    }
}

/* sum + f * lane n of x.  Assembly, because it adds in place: among the many multiply-adds of a
   round, GCC gives the sum of vfmaq_laneq_f32 a new register, which it then has to move. */
EC_INLINE ec_vec ec_fma_lane(ec_vec sum, ec_vec filters, ec_vec x, int n)
{
    switch (n) {
    case 0: __asm__("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(sum) : "w"(filters), "w"(x)); break;
    case 1: __asm__("fmla %0.4s, %1.4s, %2.s[1]" : "+w"(sum) : "w"(filters), "w"(x)); break;
    case 2: __asm__("fmla %0.4s, %1.4s, %2.s[2]" : "+w"(sum) : "w"(filters), "w"(x)); break;
    default: __asm__("fmla %0.4s, %1.4s, %2.s[3]" : "+w"(sum) : "w"(filters), "w"(x)); break;
    }
    return sum;
}

/* In place and in order: filters by lane n of x. */
EC_INLINE void ec_add_in_order(ec_vec *sum, ec_vec filters, ec_vec x, int n)
{
    switch (n) {
    case 0: __asm__ volatile("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(*sum) : "w"(filters), "w"(x)); break;
    case 1: __asm__ volatile("fmla %0.4s, %1.4s, %2.s[1]" : "+w"(*sum) : "w"(filters), "w"(x)); break;
    case 2: __asm__ volatile("fmla %0.4s, %1.4s, %2.s[2]" : "+w"(*sum) : "w"(filters), "w"(x)); break;
    default: __asm__ volatile("fmla %0.4s, %1.4s, %2.s[3]" : "+w"(*sum) : "w"(filters), "w"(x)); break;
    }
}

/* Vector j of the filters of channel `lane`, which lies at w, stored as fmt. */
EC_INLINE void ec_tile_alone(ec_tile *tile, const char *stored, int fmt, const ec_vec *x, int lane, int j,
                             int mr, int nv, int lo, int hi)
{
    EC_IN_ORDER();
    const ec_vec filters = ec_load_as(stored, fmt);
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        if (p >= lo && p < hi)
            tile->acc[p * nv + j] = ec_fma_lane(tile->acc[p * nv + j], filters, x[p], lane);
    EC_UNROLL
    for (int p = 0; p < mr; p++) /* the sums are there before the next filters are loaded */
        __asm__ volatile("" : "+w"(tile->acc[p * nv + j]));
}

/* Whether all filters of a channel wait in registers at once.  Decoding takes registers of its own,
   and Clang 14 spills where the tile and its operands leave it one of 32. */
#ifdef __clang__
#define EC_FILTERS_WAIT (fmt == EC_F32 && mr * nv + mr + nv < 31)
#else
#define EC_FILTERS_WAIT (fmt == EC_F32)
#endif

/* Channel LANE of four: the pixels' four channels x[p] are in registers already. */
#define EC_TILE_LANE(LANE)                                                                         \
    do {                                                                                           \
        EC_IN_ORDER();                                                                                 \
        ec_vec filters[EC_TILE_VECS];                                                                    \
        EC_UNROLL                                                                                  \
        for (int j = 0; EC_FILTERS_WAIT && j < nv; j++)                                            \
            filters[j] = ec_load_at(stored, (LANE * nv + j) * EC_VL, fmt);                                    \
        EC_UNROLL                                                                                  \
        for (int p = 0; EC_FILTERS_WAIT && p < mr; p++) {                                          \
            if (p < lo || p >= hi)                                                                 \
                continue;                                                                          \
            EC_UNROLL                                                                              \
            for (int j = 0; j < nv; j++)                                                           \
                tile->acc[p * nv + j] = ec_fma_lane(tile->acc[p * nv + j], filters[j], x[p], LANE);            \
        }                                                                                          \
        EC_UNROLL                                                                                  \
        for (int j = 0; !EC_FILTERS_WAIT && j < nv; j++)                                           \
            ec_tile_alone(tile, stored + (LANE * nv + j) * vec, fmt, x, LANE, j, mr, nv, lo, hi);          \
    } while (0)
#ifdef EC_LOADS_IN_ORDER

#include "ec_tile_in_order.h"
#else
#define EC_TILE_RUNS 1
#endif
#include "ec_tile_runs.h"

EC_INLINE void ec_tile_mac(ec_tile *tile, const void *a, int a_as, ptrdiff_t a_row, ptrdiff_t a_k,
                           const void *b, int fmt, int kc, int mr, int nv, int lo, int hi)
{
    const int vec = EC_STORED_SPAN(fmt, EC_VL); /* bytes */
    const ptrdiff_t pixel = a_row * EC_STORED_BYTES(a_as), stride = a_k * EC_STORED_BYTES(a_as);
    const char *stored = b, *pixels = a;
    int k = 0;
    if (a_k == 1) /* four channels lie side by side: multiply by lane, a quarter of the loads */
        EC_NO_UNROLL
        for (; k + 4 <= kc; k += 4, pixels += 4 * stride, stored += 4 * nv * vec) {
            ec_vec x[EC_TILE_VECS];
#ifdef EC_LOADS_IN_ORDER
            if (fmt == EC_F32 && a_as == EC_F32 && lo == 0 && hi == mr) {
                ec_tile_four(tile, pixels, pixel, stored, mr, nv);
                continue;
            }
#endif
#ifdef EC_TILE_RUNS
            if (EC_LOADS_FOUR && fmt == EC_F32 && a_as == EC_F32) {
                const char *next = stored, *at = pixels;
                ec_tile_by_runs(tile, &at, pixel, 0, &next, mr, nv, lo, hi);
                continue;
            }
#endif
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                x[p] = p >= lo && p < hi ? ec_load_as(pixels + p * pixel, a_as) : ec_set1(0.0f);
            EC_TILE_LANE(0);
            EC_TILE_LANE(1);
            EC_TILE_LANE(2);
            EC_TILE_LANE(3);
        }
    EC_NO_UNROLL
    for (; k < kc; k++, pixels += stride, stored += nv * vec)
        ec_tile_mac1(tile, pixels, a_as, pixel, stored, fmt, mr, nv, lo, hi);
}
#undef EC_TILE_LANE
#undef EC_FILTERS_WAIT

#ifdef EC_TILE_RUNS
/* Four channels of all rows; *pixels and *stored move on to the next four, which lie block_stride bytes further, and
   behind the filters. */
EC_INLINE void ec_tile_block(ec_tile *tile, const char **pixels, ptrdiff_t pixel, ptrdiff_t block_stride,
                             const char **stored, int mr, int nv)
{
    if (EC_LOADS_FOUR) {
        ec_tile_by_runs(tile, pixels, pixel, block_stride, stored, mr, nv, 0, mr);
        return;
    }
    ec_tile_mac(tile, *pixels, EC_F32, pixel / 4, 1, *stored, EC_F32, 4, mr, nv, 0, mr);
    *pixels += block_stride;
    *stored += 4 * nv * EC_VL * 4;
}
#endif
#include "ec_tile_columns.h"

/* One step of the outer product.  mr is a multiple of four: four filters are one load, multiplied
   by lane. */
#define EC_F32_LANE(LANE)                                                                        \
    do {                                                                                           \
        EC_UNROLL                                                                                  \
        for (int j = 0; j < nv; j++)                                                               \
            tile->acc[(p + LANE) * nv + j] =                                                          \
                vfmaq_laneq_f32(tile->acc[(p + LANE) * nv + j], y[j], x, LANE);                       \
    } while (0)

/* The outer product, vectors loaded one by one. */
EC_INLINE void ec_packed_singly(ec_tile *tile, const float *x_at, const float *y_at, int depth, int mr, int nv)
{
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += mr, y_at += nv * EC_VL) {
        ec_vec y[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            y[j] = ec_load(y_at + j * EC_VL);
        EC_UNROLL
        for (int p = 0; p < mr; p += 4) {
            const ec_vec x = ec_load(x_at + p);
            EC_F32_LANE(0);
            EC_F32_LANE(1);
            EC_F32_LANE(2);
            EC_F32_LANE(3);
        }
    }
}

#define EC_F32_MAC
EC_INLINE void ec_f32_mac(ec_tile *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    (void)a_row, (void)a_k; /* packed */
#ifdef EC_TILE_RUNS
    if (EC_LOADS_FOUR) {
        const char *x_at = a, *y_at = b;
        EC_NO_UNROLL
        for (int k = 0; k + 4 <= depth; k += 4) {
            EC_UNROLL
            for (int i = 0; i < 4; i++)
                ec_packed_mac1(tile, &x_at, &y_at, mr, nv);
        }
        EC_NO_UNROLL
        for (int k = 0; k < depth % 4; k++)
            ec_packed_mac1(tile, &x_at, &y_at, mr, nv);
        return;
    }
#endif
    ec_packed_singly(tile, a, b, depth, mr, nv);
}
#undef EC_F32_LANE

#include "ec_f32_lanes.h"

#endif

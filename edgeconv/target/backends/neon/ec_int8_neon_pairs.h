/* The micro-kernel s8_pairs: int8 by int8 to int32 with NEON that has no dot products, of 64 bits or
   32.  Included after ec_isa_neon.h or ec_isa_neon_armv7.h.

   Two products are added in 16 bits (smull, smlal), which holds them unless both are -128 * -128, and
   pairs of these sums to the accumulators, of which each lane is a filter (sadalp).  So a pair of
   channels of a pixel must lie under the pair of each filter.  Four words of a pixel are a vector of
   eight pairs: every filter meets all of them while it turns three times, by a pair at a time.  The
   filters lie in the order in which that comes about (`_ROTATED` of edgeconv/target/advanced_simd.py).
   A word alone is repeated instead, and turned for the upper half (`_SWAPPED`). */
#ifndef EC_INT8_PAIRS_H
#define EC_INT8_PAIRS_H

#include "ec_int8_neon_sums.h"

typedef ec_s8_sums ec_s8_pairs_sums;
#define ec_s8_pairs_init ec_s8_init
#define ec_s8_pairs_read ec_s8_read
#define ec_s8_pairs_save ec_s8_save
#define ec_s8_pairs_load ec_s8_load

/* Products of the lower halves, and of the upper ones, which lie in `upper` of the pixels; and their sum. */
#ifdef __aarch64__
#define EC_S8_LOWER(TWO, FILTERS, PIXELS) "smull " TWO ".8h, " FILTERS ".8b, " PIXELS ".8b\n\t"
#define EC_S8_UPPER(TWO, FILTERS, PIXELS) "smlal2 " TWO ".8h, " FILTERS ".16b, " PIXELS ".16b\n\t"
#define EC_S8_SUM(SUM, TWO) "sadalp " SUM ".4s, " TWO ".8h\n\t"
#define EC_S8_TURN(PIXELS) "ext " PIXELS ".16b, " PIXELS ".16b, " PIXELS ".16b, #2"
#define EC_S8_LOW(NUMBER) "%" #NUMBER
#define EC_S8_HIGH(NUMBER) "%" #NUMBER
#define EC_S8_ALL(NUMBER) "%" #NUMBER
#else
#define EC_S8_LOWER(TWO, FILTERS, PIXELS) "vmull.s8 " TWO ", " FILTERS ", " PIXELS "\n\t"
#define EC_S8_UPPER(TWO, FILTERS, PIXELS) "vmlal.s8 " TWO ", " FILTERS ", " PIXELS "\n\t"
#define EC_S8_SUM(SUM, TWO) "vpadal.s16 " SUM ", " TWO "\n\t"
#define EC_S8_TURN(PIXELS) "vext.8 " PIXELS ", " PIXELS ", " PIXELS ", #2"
#define EC_S8_LOW(NUMBER) "%e" #NUMBER
#define EC_S8_HIGH(NUMBER) "%f" #NUMBER
#define EC_S8_ALL(NUMBER) "%q" #NUMBER
#endif

/* One sum. */
EC_INLINE void ec_s8_pairs_one(ec_ivec *sum, int8x16_t filters, int8x16_t x, int8x16_t upper)
{
    int16x8_t t;
    __asm__ volatile(EC_S8_LOWER(EC_S8_ALL(1), EC_S8_LOW(2), EC_S8_LOW(3))
            EC_S8_UPPER(EC_S8_ALL(1), EC_S8_HIGH(2), EC_S8_HIGH(4))
            EC_S8_SUM(EC_S8_ALL(0), EC_S8_ALL(1))
            : "+w"(*sum), "=&w"(t) : "w"(filters), "w"(x), "w"(upper));
}

#define EC_SUM(NUMBER) tile->acc[(first + NUMBER) % mr * nv + (first + NUMBER) / mr]
#define EC_FILTERS(NUMBER) filters[(first + NUMBER) / mr]
#define EC_PIXELS(NUMBER) pixels[(first + NUMBER) % mr]

/* Two sums, number `first` and the one behind it, in turn: where registers are left for the products of no more. */
EC_INLINE void ec_s8_pairs_two(ec_s8_sums *tile, int first, const int8x16_t *filters, const int8x16_t *pixels,
                               int mr, int nv)
{
    int16x8_t t0, t1;
    __asm__ volatile(EC_S8_LOWER(EC_S8_ALL(2), EC_S8_LOW(4), EC_S8_LOW(6))
            EC_S8_LOWER(EC_S8_ALL(3), EC_S8_LOW(5), EC_S8_LOW(7))
            EC_S8_UPPER(EC_S8_ALL(2), EC_S8_HIGH(4), EC_S8_HIGH(6))
            EC_S8_UPPER(EC_S8_ALL(3), EC_S8_HIGH(5), EC_S8_HIGH(7))
            EC_S8_SUM(EC_S8_ALL(0), EC_S8_ALL(2))
            EC_S8_SUM(EC_S8_ALL(1), EC_S8_ALL(3))
            : "+w"(EC_SUM(0)), "+w"(EC_SUM(1)), "=&w"(t0), "=&w"(t1)
            : "w"(EC_FILTERS(0)), "w"(EC_FILTERS(1)), "w"(EC_PIXELS(0)), "w"(EC_PIXELS(1)));
}

/* Four sums, number `first` and those behind it, in turn, so that none waits for a product: of a vector
   of filters with every row, then of the next. */
EC_INLINE void ec_s8_pairs_four(ec_s8_sums *tile, int first, const int8x16_t *filters, const int8x16_t *pixels,
                                int mr, int nv)
{
    int16x8_t t0, t1, t2, t3;
#define EC_OPERANDS(OF) "w"(OF(0)), "w"(OF(1)), "w"(OF(2)), "w"(OF(3))
    __asm__ volatile(EC_S8_LOWER(EC_S8_ALL(4), EC_S8_LOW(8), EC_S8_LOW(12))
            EC_S8_LOWER(EC_S8_ALL(5), EC_S8_LOW(9), EC_S8_LOW(13))
            EC_S8_LOWER(EC_S8_ALL(6), EC_S8_LOW(10), EC_S8_LOW(14))
            EC_S8_LOWER(EC_S8_ALL(7), EC_S8_LOW(11), EC_S8_LOW(15))
            EC_S8_UPPER(EC_S8_ALL(4), EC_S8_HIGH(8), EC_S8_HIGH(12))
            EC_S8_UPPER(EC_S8_ALL(5), EC_S8_HIGH(9), EC_S8_HIGH(13))
            EC_S8_UPPER(EC_S8_ALL(6), EC_S8_HIGH(10), EC_S8_HIGH(14))
            EC_S8_UPPER(EC_S8_ALL(7), EC_S8_HIGH(11), EC_S8_HIGH(15))
            EC_S8_SUM(EC_S8_ALL(0), EC_S8_ALL(4))
            EC_S8_SUM(EC_S8_ALL(1), EC_S8_ALL(5))
            EC_S8_SUM(EC_S8_ALL(2), EC_S8_ALL(6))
            EC_S8_SUM(EC_S8_ALL(3), EC_S8_ALL(7))
            : "+w"(EC_SUM(0)), "+w"(EC_SUM(1)), "+w"(EC_SUM(2)), "+w"(EC_SUM(3)),
              "=&w"(t0), "=&w"(t1), "=&w"(t2), "=&w"(t3)
            : EC_OPERANDS(EC_FILTERS), EC_OPERANDS(EC_PIXELS));
#undef EC_OPERANDS
}

#undef EC_SUM
#undef EC_FILTERS
#undef EC_PIXELS

/* All sums of four words of every row, which have turned `turn` times. */
EC_INLINE void ec_s8_pairs_turn(ec_s8_sums *tile, int8x16_t *x, const int8_t **filters, int turn, int mr, int nv)
{
    const int at_once = ec_filters_run() ? nv : 1;
    const int wait = at_once == 4 ? 2 : 4; /* products of so many sums are in registers at once */
    int8x16_t f[EC_TILE_VECS];
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        if (turn)
            __asm__ volatile(EC_S8_TURN(EC_S8_ALL(0)) : "+w"(x[p]));
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++) {
        if (i % (mr * at_once) == 0)
            ec_filters_next(f + i / mr, filters, at_once);
        if (i % wait == wait - 1 && wait == 4)
            ec_s8_pairs_four(tile, i - 3, f, x, mr, nv);
        else if (i % wait == wait - 1)
            ec_s8_pairs_two(tile, i - 1, f, x, mr, nv);
    }
    EC_UNROLL
    for (int i = mr * nv / wait * wait; i < mr * nv; i++)
        ec_s8_pairs_one(&tile->acc[i % mr * nv + i / mr], f[i / mr], x[i % mr], x[i % mr]);
}

EC_INLINE void ec_s8_pairs_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k, const void *b,
                               int depth, int mr, int nv)
{
    const int8_t *x_at = a, *w = b;
    int k = 0;
    if (a_k == 4)
        EC_NO_UNROLL
        for (; k + 4 <= depth; k += 4, x_at += 16) {
            int8x16_t x[EC_TILE_VECS];
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                x[p] = vld1q_s8(x_at + p * a_row);
            EC_UNROLL
            for (int turn = 0; turn < 4; turn++)
                ec_s8_pairs_turn(tile, x, &w, turn, mr, nv);
        }
    EC_NO_UNROLL
    for (; k < depth; k++, x_at += a_k, w += nv * 16) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int32_t word;
            memcpy(&word, x_at + p * a_row, 4);
            const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(word));
            const int8x16_t upper = vreinterpretq_s8_s16(vrev32q_s16(vreinterpretq_s16_s8(x)));
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_s8_pairs_one(&tile->acc[p * nv + j], vld1q_s8(w + j * 16), x, upper);
        }
    }
}

#endif

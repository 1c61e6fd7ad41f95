/* The micro-kernel s8 on RVV: int8 by int8 to int32; a word holds four channels, of which each is widened to 16 bits in
   registers.  Included after ec_isa_rvv*.h. */
#ifndef EC_INT8_RVV_H
#define EC_INT8_RVV_H

#include "ec_sums_rvv.h"

/* Channels 0 and 1, or 2 and 3, of the words of filters are halves; their products with those of mr pixels, which begin
   at x. */
EC_INLINE void ec_s8_two(ec_s8_sums *tile, ec_halves both, const int8_t *x, ptrdiff_t a_row, int i, int mr, int each,
                         int group)
{
    const ec_halves first = ec_halves_upper(ec_halves_raised(both, group), group);
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        ec_s8_multiply(tile, p * each + i, x[p * a_row], first, group);
    const ec_halves second = ec_halves_upper(both, group);
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        ec_s8_multiply(tile, p * each + i, x[p * a_row + 1], second, group);
}

EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const int group = ec_sums_group(nv), each = nv / group;
    const int8_t *x = a;
    const int32_t *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x += a_k, w += nv * EC_VL) {
        EC_UNROLL
        for (int i = 0; i < each; i++) {
            const ec_sums_words words = ec_words_load(w + i * group * EC_VL, group);
            ec_s8_two(tile, ec_words_half(words, 0, group), x, a_row, i, mr, each, group);
            ec_s8_two(tile, ec_words_half(words, 16, group), x + 2, a_row, i, mr, each, group);
        }
    }
}

#endif

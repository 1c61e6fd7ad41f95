/* The micro-kernel s8 in plain C: int8 by int8 to int32.  Included after ec_isa_portable.h.  A word
   holds four channels. */
#ifndef EC_INT8_H
#define EC_INT8_H


#include "ec_integers_portable.h"
#include "ec_int8_lanes.h"

EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const int8_t *x_at = a, *w_at = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w_at += nv * 4) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            const int8_t *const x = x_at + p * a_row;
            EC_UNROLL
            for (int j = 0; j < nv; j++) {
                const int8_t *const w = w_at + j * 4;
                tile->acc[p * nv + j] += x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3];
            }
        }
    }
}

#endif

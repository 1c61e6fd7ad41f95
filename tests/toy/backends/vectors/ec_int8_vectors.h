/* The micro-kernel s8 on vectors in C: int8 by int8 to int32; a word holds four channels. */
#ifndef EC_INT8_H
#define EC_INT8_H

#include "ec_integers_vectors.h"
#include "ec_int8_lanes.h"

EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const int8_t *x_at = a, *w_at = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w_at += nv * EC_VL * 4)
        for (int p = 0; p < mr; p++)
            for (int j = 0; j < nv; j++) {
                const int8_t *const x = x_at + p * a_row, *const w = w_at + j * EC_VL * 4;
                EC_LANES(for (int e = 0; e < 4; e++) tile->acc[p * nv + j][i] += x[e] * w[4 * i + e]);
            }
}

#endif

/* The micro-kernel s8 on SVE: dot products of int8 by int8 to int32; a word holds four channels. */
#ifndef EC_INT8_H
#define EC_INT8_H

#include "ec_integers_sve.h"
#include "ec_int8_lanes.h"

EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const char *x_at = a;
    const int8_t *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv * EC_VL * 4) {
        ec_ivec filters[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            filters[j] = svreinterpret_s32_s8(svld1_s8(svptrue_b8(), w + j * EC_VL * 4));
        if (mr > 1)
            EC_IN_ORDER(); /* or filters are loaded again for every pixel */
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int32_t word;
            EC_COPY(&word, x_at + p * a_row, sizeof word);
            const svint8_t x = svreinterpret_s8_s32(svdup_n_s32(word));
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                tile->acc[p * nv + j] = svdot_s32(tile->acc[p * nv + j], x, svreinterpret_s8_s32(filters[j]));
        }
    }
}

#endif

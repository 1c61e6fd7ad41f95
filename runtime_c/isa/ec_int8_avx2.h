/* The micro-kernel s8 with AVX2: int8 by int8 to int32.  Included after ec_isa_avx2.h.

   A word holds two channels, which were widened to 16 bits when they were packed: so vpmaddwd is
   exact, where vpmaddubsw saturates. */
#ifndef EC_INT8_H
#define EC_INT8_H


#include "ec_integers_avx2.h"
#include "ec_int8_lanes.h"

/* In place: GCC 12 moves the sums of _mm256_add_epi32. */
EC_INLINE void ec_s8_add(ec_ivec *sum, __m256i x)
{
    __asm__("vpaddd %1, %0, %0" : "+x"(*sum) : "x"(x));
}

EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const char *x_at = a, *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv * EC_VL * 4) {
        __m256i f[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            f[j] = _mm256_loadu_si256((const __m256i *)(const void *)(w + j * EC_VL * 4));
        if (mr > 1)
            EC_IN_ORDER(); /* or filters are loaded again for every pixel */
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int32_t group;
            __builtin_memcpy(&group, x_at + p * a_row, 4);
            const __m256i x = _mm256_set1_epi32(group);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_s8_add(&tile->acc[p * nv + j], _mm256_madd_epi16(x, f[j]));
        }
    }
}

#endif

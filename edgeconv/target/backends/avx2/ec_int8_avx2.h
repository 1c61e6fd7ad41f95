/* The micro-kernels s8 and s8_pairs with AVX2: int8 by int8 to int32.  Included after ec_isa_avx2.h.
   Filters are operands in memory: registers hold sums, a group of a pixel and a product. */
#ifndef EC_INT8_H
#define EC_INT8_H

#include "ec_integers_avx2.h"
#include "ec_int8_lanes.h"

/* Products of a group and a vector of filters are added in place: GCC 12 moves the sums of
   _mm256_add_epi32. */
EC_INLINE void ec_s8_add(ec_ivec *sum, __m256i x, const __m256i *filters)
{
    __m256i products;
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(*sum), "=&x"(products) : "x"(x), "m"(*filters));
}

EC_INLINE void ec_s8_pairs_add(ec_ivec *sum, __m256i x, const __m256i *filters, __m256i ones)
{
    __m256i pairs;
    __asm__("vpmaddubsw %3, %2, %1\n\tvpmaddwd %4, %1, %1\n\tvpaddd %1, %0, %0"
            : "+x"(*sum), "=&x"(pairs) : "x"(x), "m"(*filters), "x"(ones));
}

/* Alive until here, or GCC moves a sum to its register. */
EC_INLINE void ec_s8_keep(__m256i x) { __asm__ volatile("" ::"x"(x)); }

EC_INLINE __m256i ec_s8_group(const char *at)
{
    int32_t group;
    __builtin_memcpy(&group, at, 4);
    return _mm256_set1_epi32(group);
}

/* A word holds two channels, which were widened to 16 bits when they were packed: products and their
   sum are exact. */
EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const char *x_at = a;
    const __m256i *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            const __m256i x = ec_s8_group(x_at + p * a_row);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_s8_add(&tile->acc[p * nv + j], x, w + j);
            ec_s8_keep(x);
        }
    }
}

/* A word holds four channels.  vpmaddubsw multiplies unsigned bytes by signed ones and saturates the
   sum of two neighbouring products: bytes of the rows are 128 more, and whoever chooses this row has
   proven that two neighbouring filters of the same sign are at most 128 together, 255 * 128 < 2^15. */
typedef ec_s8_sums ec_s8_pairs_sums;
#define ec_s8_pairs_init ec_s8_init
#define ec_s8_pairs_read ec_s8_read
#define ec_s8_pairs_save ec_s8_save
#define ec_s8_pairs_load ec_s8_load
EC_INLINE void ec_s8_pairs_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                               const void *b, int depth, int mr, int nv)
{
    const char *x_at = a;
    const __m256i *w = b;
    const __m256i ones = _mm256_set1_epi16(1);
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            const __m256i x = ec_s8_group(x_at + p * a_row);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_s8_pairs_add(&tile->acc[p * nv + j], x, w + j, ones);
            ec_s8_keep(x);
        }
    }
}

#endif

/* The micro-kernel s8 with AVX2: int8 by int8 to int32.  Included after ec_isa_avx2.h.

   A word holds two channels, which were widened to 16 bits when they were packed: so vpmaddwd is
   exact, where vpmaddubsw saturates. */
#ifndef EC_INT8_H
#define EC_INT8_H

#define EC_S8_SHIFT 0
typedef int16_t ec_s8_element; /* of rows, as they are packed */
typedef __m256i ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x) { return _mm256_set1_epi32(x); }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return _mm256_cvtepi32_ps(v); }

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

/* As in ec_int8_avx512.h. */
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b)
{
    const __m256i even = _mm256_mul_epi32(a, b);
    const __m256i odd = _mm256_mul_epi32(_mm256_shuffle_epi32(a, 0xf5), _mm256_shuffle_epi32(b, 0xf5));
    return _mm256_blend_epi32(_mm256_shuffle_epi32(even, 0xf5), odd, 0xaa);
}
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return _mm256_mullo_epi32(a, b); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return _mm256_add_epi32(a, b); }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return _mm256_sra_epi32(a, _mm_cvtsi32_si128(bits)); }
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high)
{
    return _mm256_min_epi32(_mm256_max_epi32(a, _mm256_set1_epi32(low)), _mm256_set1_epi32(high));
}
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n)
{
    int8_t eight[EC_VL];
    if (n < EC_VL)
        memcpy(eight, p, (size_t)n);
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(n < EC_VL ? eight : p)));
}
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n)
{
    const __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const __m128i bytes = _mm_packs_epi16(half, half);
    int8_t eight[EC_VL];
    _mm_storel_epi64((__m128i *)(void *)(n < EC_VL ? eight : p), bytes);
    if (n < EC_VL)
        memcpy(p, eight, (size_t)n);
}

#endif

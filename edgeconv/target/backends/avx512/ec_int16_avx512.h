/* With AVX512-VNNI: vectors of 2 * EC_VL integers of 16 bits, and the micro-kernel s16 of pairs of these.
   Meanings: see ec_int16_portable.h.  Included after ec_isa_avx512.h. */
#ifndef EC_INT16_H
#define EC_INT16_H

#include "ec_int8_avx512.h"

typedef ec_s8_sums ec_s16_sums;
#define ec_s16_init ec_s8_init
#define ec_s16_read ec_s8_read
#define ec_s16_save ec_s8_save
#define ec_s16_load ec_s8_load

/* In place: GCC 12 gives the sums of _mm512_dpwssd_epi32 new registers, moves them and spills. */
EC_INLINE void ec_s16_add(ec_ivec *sum, __m512i pixels, __m512i filters)
{
    __asm__("vpdpwssd %2, %1, %0" : "+v"(*sum) : "v"(pixels), "v"(filters));
}

EC_INLINE void ec_s16_mac(ec_s16_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const char *x_at = a, *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv * EC_VL * 4) {
        __m512i f[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            f[j] = _mm512_loadu_si512(w + j * EC_VL * 4);
        if (mr > 1)
            EC_IN_ORDER(); /* or filters are loaded again for every pixel */
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int32_t pair;
            __builtin_memcpy(&pair, x_at + p * a_row, 4);
            const __m512i x = _mm512_set1_epi32(pair);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_s16_add(&tile->acc[p * nv + j], x, f[j]);
        }
#ifndef __clang__
        EC_UNROLL
        for (int j = 0; j < nv; j++) /* alive until here, or GCC moves a sum to its register */
            __asm__ volatile("" ::"v"(f[j]));
#endif
    }
}

typedef __m512i ec_hvec;
EC_INLINE ec_hvec ec_hset1(int x) { return _mm512_set1_epi16((short)x); }
EC_INLINE ec_hvec ec_hload(const void *p) { return _mm512_loadu_si512(p); }
EC_INLINE void ec_hstore(void *p, ec_hvec v) { _mm512_storeu_si512(p, v); }
EC_INLINE ec_hvec ec_hadd(ec_hvec a, ec_hvec b) { return _mm512_add_epi16(a, b); }
EC_INLINE ec_hvec ec_hsub(ec_hvec a, ec_hvec b) { return _mm512_sub_epi16(a, b); }
EC_INLINE ec_hvec ec_htimes(int factor, ec_hvec v)
{
    if (factor > 0 && (factor & (factor - 1)) == 0)
        return _mm512_slli_epi16(v, (unsigned)__builtin_ctz((unsigned)factor));
    return _mm512_mullo_epi16(v, ec_hset1(factor));
}
EC_INLINE ec_hvec ec_hload_s8(const int8_t *p, int n)
{
    const __mmask32 some = n < 2 * EC_VL ? (__mmask32)((1u << n) - 1) : (__mmask32)-1;
    return _mm512_cvtepi8_epi16(n < 2 * EC_VL ? _mm256_maskz_loadu_epi8(some, p)
                                              : _mm256_loadu_si256((const __m256i *)(const void *)p));
}

#endif

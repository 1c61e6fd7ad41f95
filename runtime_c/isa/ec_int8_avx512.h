/* The micro-kernel s8 with AVX512-VNNI: int8 by int8 to int32.  Included after ec_isa_avx512.h.

   A word holds four channels.  vpdpbusd multiplies unsigned bytes by signed ones: those of the rows
   are stored 128 (EC_S8_SHIFT) more, and what that adds to the sums, 128 times those of a column's
   elements, is taken off what they start with. */
#ifndef EC_INT8_H
#define EC_INT8_H

#ifndef __AVX512VNNI__
#error "Multiplying int8 needs AVX512-VNNI: compile with -mavx512vnni"
#endif

#define EC_S8_SHIFT 128
typedef uint8_t ec_s8_element; /* of rows, as they are packed */
typedef __m512i ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x) { return _mm512_set1_epi32(x); }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return _mm512_loadu_si512(p); }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { _mm512_storeu_si512(p, v); }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return _mm512_cvtepi32_ps(v); }

#include "ec_int8_lanes.h"

/* In place: GCC 12 gives the sums of _mm512_dpbusd_epi32 new registers, moves them and spills. */
EC_INLINE void ec_s8_add(ec_ivec *sum, __m512i pixels, __m512i filters)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(pixels), "v"(filters));
}

EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
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
            int32_t group;
            __builtin_memcpy(&group, x_at + p * a_row, 4);
            const __m512i x = _mm512_set1_epi32(group);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_s8_add(&tile->acc[p * nv + j], x, f[j]);
        }
#ifndef __clang__
        EC_UNROLL
        for (int j = 0; j < nv; j++) /* alive until here, or GCC moves a sum to its register */
            __asm__ volatile("" ::"v"(f[j]));
#endif
    }
}

/* What requantisation takes of vectors of int32 (ec_requantise.h): floor(a * b / 2^32) by lanes, the
   rest as their names say; of the bytes the first n. */
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b)
{
    const __m512i even = _mm512_mul_epi32(a, b);
    const __m512i odd = _mm512_mul_epi32(_mm512_shuffle_epi32(a, _MM_PERM_DDBB), _mm512_shuffle_epi32(b, _MM_PERM_DDBB));
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
}
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return _mm512_mullo_epi32(a, b); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return _mm512_add_epi32(a, b); }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return _mm512_sra_epi32(a, _mm_cvtsi32_si128(bits)); }
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high)
{
    return _mm512_min_epi32(_mm512_max_epi32(a, _mm512_set1_epi32(low)), _mm512_set1_epi32(high));
}
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n)
{
    return _mm512_cvtepi8_epi32(n == EC_VL ? _mm_loadu_si128((const __m128i *)(const void *)p)
                                           : _mm_maskz_loadu_epi8(ec_mask(n), p));
}
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n)
{
    if (n == EC_VL)
        _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(v));
    else
        _mm512_mask_cvtepi32_storeu_epi8(p, ec_mask(n), v);
}

#endif

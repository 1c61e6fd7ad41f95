/* With AVX2: vectors of 2 * EC_VL integers of 16 bits, and the micro-kernel s16 of pairs of these, which is
   what s8 widens int8 for.  Meanings: see ec_int16_portable.h.  Included after ec_isa_avx2.h. */
#ifndef EC_INT16_H
#define EC_INT16_H

#include "ec_int8_avx2.h"

typedef ec_s8_sums ec_s16_sums;
#define ec_s16_init ec_s8_init
#define ec_s16_read ec_s8_read
#define ec_s16_save ec_s8_save
#define ec_s16_load ec_s8_load
#define ec_s16_mac ec_s8_mac

typedef __m256i ec_hvec;
EC_INLINE ec_hvec ec_hset1(int x) { return _mm256_set1_epi16((short)x); }
EC_INLINE ec_hvec ec_hload(const void *p) { return _mm256_loadu_si256(p); }
EC_INLINE void ec_hstore(void *p, ec_hvec v) { _mm256_storeu_si256(p, v); }
EC_INLINE ec_hvec ec_hadd(ec_hvec a, ec_hvec b) { return _mm256_add_epi16(a, b); }
EC_INLINE ec_hvec ec_hsub(ec_hvec a, ec_hvec b) { return _mm256_sub_epi16(a, b); }
EC_INLINE ec_hvec ec_htimes(int factor, ec_hvec v)
{
    if (factor > 0 && (factor & (factor - 1)) == 0)
        return _mm256_slli_epi16(v, __builtin_ctz((unsigned)factor));
    return _mm256_mullo_epi16(v, ec_hset1(factor));
}
EC_INLINE ec_hvec ec_hload_s8(const int8_t *p, int n)
{
    int8_t sixteen[2 * EC_VL];
    if (n < 2 * EC_VL)
        memcpy(sixteen, p, (size_t)n);
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(n < 2 * EC_VL ? sixteen : p)));
}

#endif

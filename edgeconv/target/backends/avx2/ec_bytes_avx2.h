/* Vectors of EC_BYTES numbers of int8: AVX2.  Meanings: see ec_bytes_portable.h. */
#ifndef EC_BYTES_H
#define EC_BYTES_H

#define EC_BYTES 32
typedef __m256i ec_bvec;
EC_INLINE ec_bvec ec_bload(const int8_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
EC_INLINE void ec_bstore(int8_t *p, ec_bvec v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }
EC_INLINE ec_bvec ec_bmax(ec_bvec a, ec_bvec b) { return _mm256_max_epi8(a, b); }
EC_INLINE ec_bvec ec_bmax_s16(ec_bvec a, ec_bvec b) { return _mm256_max_epi16(a, b); }

/* vpshufb looks up 16 bytes: a row per upper half of a byte, which registers do not hold beside all else. */
typedef struct ec_btable {
    const int8_t *bytes;
} ec_btable;
EC_INLINE ec_btable ec_btable_of(const int8_t *bytes)
{
    const ec_btable table = {bytes};
    return table;
}
/* Rows 2 `pair` and 2 `pair` + 1, by bit 4, which is the upper one of `bit4`'s bytes. */
EC_INLINE __m256i ec_blookup_pair(const ec_btable *table, int pair, __m256i at, __m256i bit4)
{
    const __m128i *const rows = (const __m128i *)(const void *)(table->bytes + 32 * pair);
    const __m256i even = _mm256_broadcastsi128_si256(_mm_loadu_si128(rows));
    const __m256i odd = _mm256_broadcastsi128_si256(_mm_loadu_si128(rows + 1));
    return _mm256_blendv_epi8(_mm256_shuffle_epi8(even, at), _mm256_shuffle_epi8(odd, at), bit4);
}

EC_INLINE ec_bvec ec_blookup(const ec_btable *table, ec_bvec x)
{
    const __m256i at = _mm256_and_si256(x, _mm256_set1_epi8(15));
    /* vpblendvb asks for the upper bit of a byte alone */
    const __m256i bit6 = _mm256_slli_epi16(x, 1), bit5 = _mm256_slli_epi16(x, 2), bit4 = _mm256_slli_epi16(x, 3);
    __m256i half[2];
    EC_UNROLL
    for (int i = 0; i < 2; i++) {
        const __m256i a = _mm256_blendv_epi8(ec_blookup_pair(table, 4 * i, at, bit4),
                                             ec_blookup_pair(table, 4 * i + 1, at, bit4), bit5);
        const __m256i b = _mm256_blendv_epi8(ec_blookup_pair(table, 4 * i + 2, at, bit4),
                                             ec_blookup_pair(table, 4 * i + 3, at, bit4), bit5);
        half[i] = _mm256_blendv_epi8(a, b, bit6);
    }
    return _mm256_blendv_epi8(half[0], half[1], x);
}

#include "ec_bytes_first.h"

#endif

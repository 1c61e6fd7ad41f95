/* Products of int8 for convolutions that have one filter per channel: AVX2.  Included after
   ec_integers_avx2.h.  Meanings: see ec_dot_portable.h.  Elements are widened to 16 bits, and vpmaddwd is exact. */
#ifndef EC_DOT_H
#define EC_DOT_H

#define EC_DOT_ROWS 2
#define EC_DOT_SHIFT 0
#define EC_DOT_PIXELS 2
typedef __m256i ec_dot_words;
EC_INLINE ec_dot_words ec_dot_load(const void *p) { return _mm256_loadu_si256(p); }
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

/* Two rows of 32 channels, of which 16-byte lanes stay in their place. */
EC_INLINE void ec_dot_pack_four(char *to, const int8_t *const *row, int rows)
{
    const __m256i zero = _mm256_setzero_si256(), first = ec_dot_load(row[0]);
    const __m256i second = rows > 1 ? ec_dot_load(row[1]) : zero;
    const __m256i pairs[2] = {_mm256_unpacklo_epi8(first, second), _mm256_unpackhi_epi8(first, second)};
    EC_UNROLL
    for (int j = 0; j < 2; j++) {
        _mm256_storeu_si256((__m256i *)(void *)(to + 64 * j), _mm256_srai_epi16(_mm256_unpacklo_epi8(zero, pairs[j]), 8));
        _mm256_storeu_si256((__m256i *)(void *)(to + 64 * j + 32), _mm256_srai_epi16(_mm256_unpackhi_epi8(zero, pairs[j]), 8));
    }
}

EC_INLINE __m128i ec_dot_bytes(const int8_t *p, int n)
{
    int8_t eight[EC_VL] = {0};
    if (n < EC_VL)
        memcpy(eight, p, (size_t)n);
    return _mm_loadl_epi64((const __m128i *)(const void *)(n < EC_VL ? eight : p));
}

EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    if (nv == 4) {
        ec_dot_pack_four(to, row, rows);
        return;
    }
    const __m128i first = ec_dot_bytes(row[0], n); /* alone: what stands above the sign is multiplied by zero */
    _mm256_storeu_si256(to, rows == 1 ? _mm256_cvtepi8_epi32(first)
                                      : _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(first, ec_dot_bytes(row[1], n))));
}

#endif

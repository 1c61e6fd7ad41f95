/* Products of int8 for convolutions that have one filter per channel: AVX-512.  Included after
   ec_integers_avx512.h.  Meanings: see ec_dot_portable.h.  Elements are widened to 16 bits, and vpmaddwd is exact. */
#ifndef EC_DOT_H
#define EC_DOT_H

#define EC_DOT_ROWS 2
#define EC_DOT_SHIFT 0
#define EC_DOT_PIXELS 4
typedef __m512i ec_dot_words;
EC_INLINE ec_dot_words ec_dot_load(const void *p) { return _mm512_loadu_si512(p); }
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b)
{
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
}

/* Two rows of 64 channels, of which 16-byte lanes stay in their place. */
EC_INLINE void ec_dot_pack_four(char *to, const int8_t *const *row, int rows)
{
    const __m512i zero = _mm512_setzero_si512(), first = _mm512_loadu_si512(row[0]);
    const __m512i second = rows > 1 ? _mm512_loadu_si512(row[1]) : zero;
    const __m512i pairs[2] = {_mm512_unpacklo_epi8(first, second), _mm512_unpackhi_epi8(first, second)};
    EC_UNROLL
    for (int j = 0; j < 2; j++) {
        _mm512_storeu_si512(to + 128 * j, _mm512_srai_epi16(_mm512_unpacklo_epi8(zero, pairs[j]), 8));
        _mm512_storeu_si512(to + 128 * j + 64, _mm512_srai_epi16(_mm512_unpackhi_epi8(zero, pairs[j]), 8));
    }
}

EC_INLINE __m128i ec_dot_bytes(const int8_t *p, int n)
{
    return n == EC_VL ? _mm_loadu_si128((const __m128i *)(const void *)p) : _mm_maskz_loadu_epi8(ec_mask(n), p);
}

EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    if (nv == 4) {
        ec_dot_pack_four(to, row, rows);
        return;
    }
    const __m512i first = _mm512_cvtepi8_epi32(ec_dot_bytes(row[0], n));
    if (rows == 1) { /* what stands above the sign is multiplied by zero */
        _mm512_storeu_si512(to, first);
        return;
    }
    const __m512i second = _mm512_slli_epi32(_mm512_cvtepi8_epi32(ec_dot_bytes(row[1], n)), 16);
    _mm512_storeu_si512(to, _mm512_mask_blend_epi16(0xaaaaaaaau, first, second));
}

#endif

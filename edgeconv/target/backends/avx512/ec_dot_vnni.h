/* Products of int8 for convolutions that have one filter per channel: AVX512-VNNI.  Included after
   ec_integers_avx512.h.  Meanings: see ec_dot_portable.h.

   vpdpbusd multiplies unsigned bytes by signed ones: of inputs 128 more is stored. */
#ifndef EC_DOT_H
#define EC_DOT_H

#ifndef __AVX512VNNI__
#error "Multiplying int8 needs AVX512-VNNI: compile with -mavx512vnni"
#endif

#define EC_DOT_ROWS 4
#define EC_DOT_SHIFT 128
#define EC_DOT_PIXELS 4
typedef __m512i ec_dot_words;
EC_INLINE ec_dot_words ec_dot_load(const void *p) { return _mm512_loadu_si512(p); }

/* In place: GCC 12 gives the sums of _mm512_dpbusd_epi32 new registers, moves them and spills. */
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}

/* Four rows of 64 channels, of which 16-byte lanes stay in their place. */
EC_INLINE void ec_dot_pack_four(char *to, const int8_t *const *row, int rows)
{
    const __m512i flip = _mm512_set1_epi8((char)EC_DOT_SHIFT);
    __m512i v[EC_DOT_ROWS];
    EC_UNROLL
    for (int y = 0; y < EC_DOT_ROWS; y++)
        v[y] = y < rows ? _mm512_xor_si512(_mm512_loadu_si512(row[y]), flip) : _mm512_setzero_si512();
    const __m512i low = _mm512_unpacklo_epi8(v[0], v[1]), high = _mm512_unpackhi_epi8(v[0], v[1]);
    const __m512i low_2 = _mm512_unpacklo_epi8(v[2], v[3]), high_2 = _mm512_unpackhi_epi8(v[2], v[3]);
    _mm512_storeu_si512(to, _mm512_unpacklo_epi16(low, low_2));
    _mm512_storeu_si512(to + 64, _mm512_unpackhi_epi16(low, low_2));
    _mm512_storeu_si512(to + 128, _mm512_unpacklo_epi16(high, high_2));
    _mm512_storeu_si512(to + 192, _mm512_unpackhi_epi16(high, high_2));
}

EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    if (nv == 4) {
        ec_dot_pack_four(to, row, rows);
        return;
    }
    __m512i words = _mm512_set1_epi8((char)EC_DOT_SHIFT);
    EC_UNROLL
    for (int y = 0; y < rows; y++) {
        const __m128i bytes = n == EC_VL ? _mm_loadu_si128((const __m128i *)(const void *)row[y])
                                         : _mm_maskz_loadu_epi8(ec_mask(n), row[y]);
        words = _mm512_xor_si512(words, _mm512_sll_epi32(_mm512_cvtepu8_epi32(bytes), _mm_cvtsi32_si128(8 * y)));
    }
    _mm512_storeu_si512(to, words);
}

#endif

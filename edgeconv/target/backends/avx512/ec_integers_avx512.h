/* Vectors of EC_VL integers: AVX-512.  Meanings: see ec_integers_portable.h. */
#ifndef EC_INTEGERS_H
#define EC_INTEGERS_H

typedef __m512i ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x) { return _mm512_set1_epi32(x); }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return _mm512_loadu_si512(p); }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { _mm512_storeu_si512(p, v); }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return _mm512_cvtepi32_ps(v); }
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b)
{
    const __m512i even = _mm512_mul_epi32(a, b);
    const __m512i odd = _mm512_mul_epi32(_mm512_shuffle_epi32(a, _MM_PERM_DDBB), _mm512_shuffle_epi32(b, _MM_PERM_DDBB));
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
}
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return _mm512_mullo_epi32(a, b); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return _mm512_add_epi32(a, b); }
EC_INLINE ec_ivec ec_isub(ec_ivec a, ec_ivec b) { return _mm512_sub_epi32(a, b); }
EC_INLINE ec_ivec ec_iand(ec_ivec a, ec_ivec b) { return _mm512_and_si512(a, b); }
EC_INLINE ec_ivec ec_itimes(int factor, ec_ivec v) /* a constant */
{
    if (factor > 0 && (factor & (factor - 1)) == 0)
        return _mm512_slli_epi32(v, (unsigned)__builtin_ctz((unsigned)factor));
    return ec_imul(v, ec_iset1(factor));
}
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return _mm512_sra_epi32(a, _mm_cvtsi32_si128(bits)); }
EC_INLINE ec_ivec ec_ishift_right_by(ec_ivec a, ec_ivec bits) { return _mm512_srav_epi32(a, bits); }
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high)
{
    return _mm512_min_epi32(_mm512_max_epi32(a, _mm512_set1_epi32(low)), _mm512_set1_epi32(high));
}
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n)
{
    return _mm512_cvtepi8_epi32(n == EC_VL ? _mm_loadu_si128((const __m128i *)(const void *)p)
                                           : _mm_maskz_loadu_epi8(ec_mask(n), p));
}
EC_INLINE ec_ivec ec_iload_s16(const int16_t *p, int n)
{
    return _mm512_cvtepi16_epi32(n == EC_VL ? _mm256_loadu_si256((const __m256i *)(const void *)p)
                                            : _mm256_maskz_loadu_epi16(ec_mask(n), p));
}
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n)
{
    if (n == EC_VL)
        _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(v));
    else
        _mm512_mask_cvtepi32_storeu_epi8(p, ec_mask(n), v);
}
EC_INLINE void ec_istore_s8_four(int8_t *p, const ec_ivec v[4], int low, int high)
{
    __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
    if (low > -128)
        bytes = _mm512_max_epi8(bytes, _mm512_set1_epi8((char)low));
    if (high < 127)
        bytes = _mm512_min_epi8(bytes, _mm512_set1_epi8((char)high));
    _mm512_storeu_si512(p, bytes);
}

/* Four vectors, bounded, as bytes: `nv` of a row side by side, rows `row` bytes apart. */
#define EC_STORES_ROWS
EC_INLINE void ec_istore_s8_rows(int8_t *p, ptrdiff_t row, const ec_ivec *v, int nv, int low, int high)
{
    /* Of 128 bits that are packed, every word is of another vector. */
    const __m512i place = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i q = _mm512_packs_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
    if (low > -128)
        q = _mm512_max_epi8(q, _mm512_set1_epi8((char)low));
    if (high < 127)
        q = _mm512_min_epi8(q, _mm512_set1_epi8((char)high));
    q = _mm512_permutexvar_epi32(place, q);
    if (nv == 4) {
        _mm512_storeu_si512(p, q);
    } else if (nv == 2) {
        _mm256_storeu_si256((__m256i *)(void *)p, _mm512_castsi512_si256(q));
        _mm256_storeu_si256((__m256i *)(void *)(p + row), _mm512_extracti64x4_epi64(q, 1));
    } else {
        _mm_storeu_si128((__m128i *)(void *)p, _mm512_castsi512_si128(q));
        _mm_storeu_si128((__m128i *)(void *)(p + row), _mm512_extracti32x4_epi32(q, 1));
        _mm_storeu_si128((__m128i *)(void *)(p + 2 * row), _mm512_extracti32x4_epi32(q, 2));
        _mm_storeu_si128((__m128i *)(void *)(p + 3 * row), _mm512_extracti32x4_epi32(q, 3));
    }
}

EC_INLINE void ec_iload_s8_run(const int8_t *p, ec_ivec v[4])
{
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        v[i] = ec_iload_s8(p + i * EC_VL, EC_VL);
}
EC_INLINE void ec_istore_s8_run(int8_t *p, const ec_ivec v[4], int low, int high)
{
    ec_istore_s8_rows(p, 0, v, 4, low, high);
}

#ifdef EC_PACKED_ZERO_POINTS
/* The sum of sixteen bytes: of as many unsigned ones, which are 128 more. */
#define EC_SUMS_SIXTEEN
EC_INLINE int32_t ec_isum_s8_sixteen(const int8_t *p)
{
    const __m128i bytes = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8((char)128));
    const __m128i halves = _mm_sad_epu8(bytes, _mm_setzero_si128());
    return _mm_cvtsi128_si32(halves) + _mm_extract_epi16(halves, 4) - 16 * 128;
}
#endif

#endif

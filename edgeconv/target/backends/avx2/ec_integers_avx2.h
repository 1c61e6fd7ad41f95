/* Vectors of EC_VL integers: AVX2.  Meanings: see ec_integers_portable.h. */
#ifndef EC_INTEGERS_H
#define EC_INTEGERS_H

typedef __m256i ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x) { return _mm256_set1_epi32(x); }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return _mm256_cvtepi32_ps(v); }
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b)
{
    const __m256i even = _mm256_mul_epi32(a, b);
    const __m256i odd = _mm256_mul_epi32(_mm256_shuffle_epi32(a, 0xf5), _mm256_shuffle_epi32(b, 0xf5));
    return _mm256_blend_epi32(_mm256_shuffle_epi32(even, 0xf5), odd, 0xaa);
}
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return _mm256_mullo_epi32(a, b); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return _mm256_add_epi32(a, b); }
EC_INLINE ec_ivec ec_isub(ec_ivec a, ec_ivec b) { return _mm256_sub_epi32(a, b); }
EC_INLINE ec_ivec ec_iand(ec_ivec a, ec_ivec b) { return _mm256_and_si256(a, b); }
EC_INLINE ec_ivec ec_itimes(int factor, ec_ivec v) /* a constant */
{
    if (factor > 0 && (factor & (factor - 1)) == 0)
        return _mm256_slli_epi32(v, __builtin_ctz((unsigned)factor));
    return ec_imul(v, ec_iset1(factor));
}
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return _mm256_sra_epi32(a, _mm_cvtsi32_si128(bits)); }
EC_INLINE ec_ivec ec_ishift_right_by(ec_ivec a, ec_ivec bits) { return _mm256_srav_epi32(a, bits); }
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
EC_INLINE ec_ivec ec_iload_s16(const int16_t *p, int n)
{
    int16_t eight[EC_VL] = {0};
    if (n < EC_VL)
        memcpy(eight, p, (size_t)n * 2);
    return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(n < EC_VL ? eight : p)));
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
EC_INLINE void ec_istore_s8_four(int8_t *p, const ec_ivec v[4], int low, int high)
{
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    if (low > -128)
        bytes = _mm256_max_epi8(bytes, _mm256_set1_epi8((char)low));
    if (high < 127)
        bytes = _mm256_min_epi8(bytes, _mm256_set1_epi8((char)high));
    _mm256_storeu_si256((__m256i *)(void *)p, bytes);
}
EC_INLINE void ec_iload_s8_run(const int8_t *p, ec_ivec v[4])
{
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        v[i] = ec_iload_s8(p + i * EC_VL, EC_VL);
}
EC_INLINE void ec_istore_s8_run(int8_t *p, const ec_ivec v[4], int low, int high)
{
    /* of 128 bits that are packed, every word is of another vector */
    const __m256i place = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i q = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    q = _mm256_min_epi8(_mm256_max_epi8(q, _mm256_set1_epi8((char)low)), _mm256_set1_epi8((char)high));
    _mm256_storeu_si256((__m256i *)(void *)p, _mm256_permutevar8x32_epi32(q, place));
}

/* Four vectors, bounded, as bytes: `nv` of a row side by side, rows `row` bytes apart. */
#define EC_STORES_ROWS
EC_INLINE void ec_istore_s8_rows(int8_t *p, ptrdiff_t row, const ec_ivec *v, int nv, int low, int high)
{
    /* Of 128 bits that are packed, every word is of another vector. */
    const __m256i place = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i q = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    if (low > -128)
        q = _mm256_max_epi8(q, _mm256_set1_epi8((char)low));
    if (high < 127)
        q = _mm256_min_epi8(q, _mm256_set1_epi8((char)high));
    q = _mm256_permutevar8x32_epi32(q, place);
    if (nv == 4) {
        _mm256_storeu_si256((__m256i *)(void *)p, q);
        return;
    }
    EC_UNROLL
    for (int i = 0; i < 2; i++) {
        const __m128i half = i ? _mm256_extracti128_si256(q, 1) : _mm256_castsi256_si128(q);
        if (nv == 2) {
            _mm_storeu_si128((__m128i *)(void *)(p + i * row), half);
        } else {
            _mm_storel_epi64((__m128i *)(void *)(p + 2 * i * row), half);
            _mm_storeh_pd((double *)(void *)(p + (2 * i + 1) * row), _mm_castsi128_pd(half));
        }
    }
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

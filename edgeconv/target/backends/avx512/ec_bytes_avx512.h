/* Vectors of EC_BYTES numbers of int8: AVX-512.  Meanings: see ec_bytes_portable.h. */
#ifndef EC_BYTES_H
#define EC_BYTES_H

#define EC_BYTES 64
typedef __m512i ec_bvec;
EC_INLINE ec_bvec ec_bload(const int8_t *p) { return _mm512_loadu_si512(p); }
EC_INLINE void ec_bstore(int8_t *p, ec_bvec v) { _mm512_storeu_si512(p, v); }
EC_INLINE ec_bvec ec_bmax(ec_bvec a, ec_bvec b) { return _mm512_max_epi8(a, b); }
EC_INLINE ec_bvec ec_bmax_s16(ec_bvec a, ec_bvec b) { return _mm512_max_epi16(a, b); }

#ifdef __AVX512VBMI__
typedef struct ec_btable {
    __m512i quarter[4];
} ec_btable;
EC_INLINE ec_btable ec_btable_of(const int8_t *bytes)
{
    ec_btable table;
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        table.quarter[i] = _mm512_loadu_si512(bytes + 64 * i);
    return table;
}
EC_INLINE ec_bvec ec_blookup(const ec_btable *table, ec_bvec x)
{
    const __m512i low = _mm512_permutex2var_epi8(table->quarter[0], x, table->quarter[1]);
    const __m512i high = _mm512_permutex2var_epi8(table->quarter[2], x, table->quarter[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(x), high);
}
#else
/* vpshufb looks up 16 bytes: a row per upper half of a byte, the rows of which the one is chosen by its bits. */
typedef struct ec_btable {
    __m512i row[16];
} ec_btable;
EC_INLINE ec_btable ec_btable_of(const int8_t *bytes)
{
    ec_btable table;
    EC_UNROLL
    for (int i = 0; i < 16; i++)
        table.row[i] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i)));
    return table;
}
EC_INLINE ec_bvec ec_blookup(const ec_btable *table, ec_bvec x)
{
    const __m512i at = _mm512_and_si512(x, _mm512_set1_epi8(15));
    const __mmask64 bit4 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(16));
    const __mmask64 bit5 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(32));
    const __mmask64 bit6 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(64));
    __m512i of[8];
    EC_UNROLL
    for (int i = 0; i < 8; i++) {
        const __m512i even = _mm512_shuffle_epi8(table->row[2 * i], at);
        of[i] = _mm512_mask_shuffle_epi8(even, bit4, table->row[2 * i + 1], at);
    }
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        of[i] = _mm512_mask_mov_epi8(of[2 * i], bit5, of[2 * i + 1]);
    const __m512i low = _mm512_mask_mov_epi8(of[0], bit6, of[1]), high = _mm512_mask_mov_epi8(of[2], bit6, of[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(x), high);
}
#endif
EC_INLINE ec_bvec ec_bload_first(const int8_t *p, int n)
{
    return _mm512_maskz_loadu_epi8(~0ull >> (64 - n), p);
}
EC_INLINE void ec_bstore_first(int8_t *p, ec_bvec v, int n)
{
    _mm512_mask_storeu_epi8(p, ~0ull >> (64 - n), v);
}

#endif

/* Loads and stores of stored numbers on AVX2.  Meanings: see ec_stored_portable.h. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

#include "ec_stored.h"

/* Flyte24 is spread within halves of a register only: the second half is loaded from where the four
   last elements end. */
EC_INLINE __m256i ec_load_flyte24(const void *p)
{
    const __m128i *low = (const __m128i *)p, *high = (const __m128i *)((const char *)p + 8);
    const __m256i spread =
        _mm256_setr_epi8(-1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, /* from byte 0 */
                         -1, 4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15);
    return _mm256_shuffle_epi8(_mm256_loadu2_m128i(high, low), spread);
}
/* Four bits each: shifted to the top of its lane, then down again with its sign. */
EC_INLINE ec_vec ec_load_int4(const void *p)
{
    const __m256i up = _mm256_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0);
    const __m256i eight = _mm256_broadcastd_epi32(_mm_loadu_si32(p));
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_sllv_epi32(eight, up), 28));
}

EC_INLINE ec_vec ec_load_int8(const void *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
EC_INLINE ec_vec ec_load_int16(const void *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)));
}
EC_INLINE ec_vec ec_load_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: return _mm256_castsi256_ps(ec_load_flyte24(p));
    case EC_F16:
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
    case EC_F8:
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)), 24));
    case EC_I8: return ec_load_int8(p);
    case EC_I4: return ec_load_int4(p);
    case EC_Q8: return ec_from_q8(ec_load_int8(p), 1.0f, fmt);
    case EC_Q16: return ec_from_q8(ec_load_int16(p), 1.0f, fmt);
    default: return ec_load((const float *)p);
    }
}
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt)
{
    return ec_load_as((const char *)p + EC_STORED_SPAN(fmt, i), fmt);
}

/* Broadcasts of what memory holds need no general register. */
EC_INLINE ec_vec ec_set1_q8(const void *p, int fmt)
{
    const __m256i highest = _mm256_slli_epi32(_mm256_set1_epi8(*(const char *)p), 24);
    return ec_from_q8(_mm256_cvtepi32_ps(highest), 16777216.0f, fmt);
}
EC_INLINE ec_vec ec_set1_q16(const void *p, int fmt)
{
    const __m256i upper = _mm256_slli_epi32(_mm256_broadcastw_epi16(_mm_loadu_si16(p)), 16);
    return ec_from_q8(_mm256_cvtepi32_ps(upper), 65536.0f, fmt);
}

EC_INLINE ec_vec ec_set1_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F16:
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_broadcastw_epi16(_mm_loadu_si16(p)), 16));
    case EC_F8:
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_set1_epi8(*(const char *)p), 24));
    case EC_Q8: return ec_set1_q8(p, fmt);
    case EC_Q16: return ec_set1_q16(p, fmt);
    default: return ec_set1(ec_get_as(p, fmt));
    }
}

/* As ec_round_bits, with `truncate` for EC_TRUNCATE. */
EC_INLINE __m256i ec_round_as(ec_vec v, int fmt, int truncate)
{
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 32 - 8 * EC_STORED_BYTES(fmt)),
                                         _mm256_set1_epi32(1));
    const __m256i more = _mm256_add_epi32(odd, _mm256_set1_epi32((int)EC_STORED_HALF(fmt)));
    const __m256i beyond = _mm256_cmpgt_epi32(size, _mm256_set1_epi32((int)EC_STORED_LARGEST(fmt)));
    const __m256i up = _mm256_add_epi32(bits, _mm256_andnot_si256(beyond, more));
    const __m256i rounded = truncate ? bits : up;
    if (fmt == EC_F8)
        return rounded;
    const __m256i nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32((int)EC_INFINITY_BITS));
    return _mm256_or_si256(rounded, _mm256_and_si256(nan, _mm256_set1_epi32((int)EC_QUIET_BIT)));
}
/* Conversions round to nearest, and packing saturates. */
EC_INLINE __m128i ec_pack_q16(ec_vec v, int fmt)
{
    const __m256i integers = _mm256_cvtps_epi32(ec_to_q8(v, 0.0f, fmt));
    const __m128i high = _mm256_extracti128_si256(integers, 1);
    return _mm_packs_epi32(_mm256_castsi256_si128(integers), high);
}
EC_INLINE void ec_store_q8(void *p, ec_vec v, int fmt)
{
    const __m128i words = ec_pack_q16(v, fmt);
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(words, words));
}
/* Kept bytes are gathered within halves; the halves are stored one behind the other. */
EC_INLINE __m256i ec_kept_bytes(ec_vec v, __m128i order, int fmt)
{
    const __m256i rounded = ec_round_as(v, fmt, EC_TRUNCATE);
    return _mm256_shuffle_epi8(rounded, _mm256_broadcastsi128_si256(order));
}
EC_INLINE void ec_store_flyte24(void *p, ec_vec v)
{
    const __m128i order = _mm_setr_epi8(1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, -1, -1, -1, -1);
    const __m256i packed = ec_kept_bytes(v, order, EC_F24);
    const __m128i low = _mm256_castsi256_si128(packed), high = _mm256_extracti128_si256(packed, 1);
    /* Four of the last twelve bytes follow the first twelve, and eight are left. */
    _mm_storeu_si128((__m128i *)p, _mm_or_si128(low, _mm_slli_si128(high, 12)));
    _mm_storel_epi64((__m128i *)((char *)p + 16), _mm_srli_si128(high, 4));
}
EC_INLINE void ec_store_flyte16(void *p, ec_vec v)
{
    const __m128i order = _mm_setr_epi8(2, 3, 6, 7, 10, 11, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i packed = ec_kept_bytes(v, order, EC_F16);
    const __m128i low = _mm256_castsi256_si128(packed), high = _mm256_extracti128_si256(packed, 1);
    _mm_storeu_si128((__m128i *)p, _mm_unpacklo_epi64(low, high));
}

EC_INLINE void ec_store_flyte8(void *p, ec_vec v)
{
    const __m128i order = _mm_setr_epi8(3, 7, 11, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i packed = ec_kept_bytes(v, order, EC_F8);
    const __m128i low = _mm256_castsi256_si128(packed), high = _mm256_extracti128_si256(packed, 1);
    _mm_storel_epi64((__m128i *)p, _mm_unpacklo_epi32(low, high));
}
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: ec_store_flyte24(p, v); break;
    case EC_F16: ec_store_flyte16(p, v); break;
    case EC_F8: ec_store_flyte8(p, v); break;
    case EC_Q8: ec_store_q8(p, v, fmt); break;
    case EC_Q16: _mm_storeu_si128((__m128i *)p, ec_pack_q16(v, fmt)); break;
    default: ec_store((float *)p, v);
    }
}

#include "ec_stored_tails.h"

#endif

/* Loads and stores of stored numbers on AVX-512.  Meanings: see ec_stored_portable.h. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

#include "ec_stored.h"

/* Between 48 packed bytes and sixteen flyte24: bytes move within quarters of a register only, words
   of four anywhere.  VBMI does both at once. */
EC_INLINE __m512i ec_unpack_flyte24(__m512i packed)
{
#ifdef __AVX512VBMI__
    const __m512i from =
        _mm512_set_epi32(0x2f2e2d00, 0x2c2b2a00, 0x29282700, 0x26252400, 0x23222100, 0x201f1e00,
                         0x1d1c1b00, 0x1a191800, 0x17161500, 0x14131200, 0x11100f00, 0x0e0d0c00,
                         0x0b0a0900, 0x08070600, 0x05040300, 0x02010000);
    return _mm512_maskz_permutexvar_epi8(0xeeeeeeeeeeeeeeeeu, from, packed);
#else
    const __m512i words = _mm512_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0);
    const __m512i spread =
        _mm512_broadcast_i32x4(_mm_setr_epi8(-1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11));
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(words, packed), spread);
#endif
}
EC_INLINE __m512i ec_join_flyte24(__m512i bits)
{
#ifdef __AVX512VBMI__
    const __m512i from = _mm512_set_epi32(0, 0, 0, 0, 0x3f3e3d3b, 0x3a393736, 0x35333231, 0x2f2e2d2b,
                                          0x2a292726, 0x25232221, 0x1f1e1d1b, 0x1a191716, 0x15131211,
                                          0x0f0e0d0b, 0x0a090706, 0x05030201);
    return _mm512_permutexvar_epi8(from, bits);
#else
    const __m512i words = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    const __m512i order = _mm512_broadcast_i32x4(
        _mm_setr_epi8(1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, -1, -1, -1, -1));
    return _mm512_permutexvar_epi32(words, _mm512_shuffle_epi8(bits, order));
#endif
}

EC_INLINE __m512i ec_widen_flyte16(__m256i packed)
{
    return _mm512_slli_epi32(_mm512_cvtepu16_epi32(packed), 16);
}
EC_INLINE __m512i ec_widen_flyte8(__m128i packed)
{
    return _mm512_slli_epi32(_mm512_cvtepu8_epi32(packed), 24);
}

/* 48 bytes in two loads: a load under a mask waits for lines beyond L2 that it could have had
   prefetched (measured on Zen 5: a dense layer of 6 MB takes 0.16 ms instead of 0.74). */
EC_INLINE __m512i ec_load_flyte24(const void *p)
{
    const __m256i low = _mm256_loadu_si256((const __m256i *)p);
    const __m128i high = _mm_loadu_si128((const __m128i *)((const char *)p + 32));
    return _mm512_inserti32x4(_mm512_castsi256_si512(low), high, 2);
}

/* Eight elements in each of two words: every lane takes its half, shifts it, and looks up the float
   that its lowest four bits stand for. */
EC_INLINE ec_vec ec_load_int4(const void *p)
{
    const __m512i down = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    const __m512 value = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    const __m512i first = _mm512_broadcastd_epi32(_mm_loadu_si32(p));
    const __m128i last = _mm_loadu_si32((const char *)p + 4);
    const __m512i halves = _mm512_mask_broadcastd_epi32(first, 0xff00, last);
    return _mm512_permutexvar_ps(_mm512_srlv_epi32(halves, down), value);
}

EC_INLINE ec_vec ec_widen_int8(__m128i packed)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(packed));
}
EC_INLINE ec_vec ec_widen_int16(__m256i packed)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(packed));
}
EC_INLINE ec_vec ec_load_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24:
        return _mm512_castsi512_ps(ec_unpack_flyte24(ec_load_flyte24(p)));
    case EC_F16:
        return _mm512_castsi512_ps(ec_widen_flyte16(_mm256_loadu_si256((const __m256i *)p)));
    case EC_F8: return _mm512_castsi512_ps(ec_widen_flyte8(_mm_loadu_si128((const __m128i *)p)));
    case EC_I8: return ec_widen_int8(_mm_loadu_si128((const __m128i *)p));
    case EC_I4: return ec_load_int4(p);
    case EC_Q8: return ec_from_q8(ec_widen_int8(_mm_loadu_si128((const __m128i *)p)), 1.0f, fmt);
    case EC_Q16:
        return ec_from_q8(ec_widen_int16(_mm256_loadu_si256((const __m256i *)p)), 1.0f, fmt);
    default: return ec_load((const float *)p);
    }
}
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt)
{
    return ec_load_as((const char *)p + EC_STORED_SPAN(fmt, i), fmt);
}

/* The bytes of the first n flyte24. */
EC_INLINE __mmask64 ec_mask_flyte24(int n) { return ((__mmask64)1 << 3 * n) - 1; }

EC_INLINE ec_vec ec_load_q8_n(const void *p, int n, int fmt)
{
    const ec_vec v = ec_widen_int8(_mm_maskz_loadu_epi8(ec_mask(n), p));
    return _mm512_maskz_mov_ps(ec_mask(n), ec_from_q8(v, 1.0f, fmt));
}
EC_INLINE ec_vec ec_load_q16_n(const void *p, int n, int fmt)
{
    const ec_vec v = ec_widen_int16(_mm256_maskz_loadu_epi16(ec_mask(n), p));
    return _mm512_maskz_mov_ps(ec_mask(n), ec_from_q8(v, 1.0f, fmt));
}
EC_INLINE ec_vec ec_load_int4_n(const void *p, int n)
{
    unsigned char bytes[EC_VL / 2] = {0};
    return ec_load_int4(ec_copy_int4(bytes, p, n));
}
EC_INLINE ec_vec ec_load_as_n(const void *p, int n, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24:
        return _mm512_castsi512_ps(
            ec_unpack_flyte24(_mm512_maskz_loadu_epi8(ec_mask_flyte24(n), p)));
    case EC_F16:
        return _mm512_castsi512_ps(ec_widen_flyte16(_mm256_maskz_loadu_epi16(ec_mask(n), p)));
    case EC_F8: return _mm512_castsi512_ps(ec_widen_flyte8(_mm_maskz_loadu_epi8(ec_mask(n), p)));
    case EC_I8: return ec_widen_int8(_mm_maskz_loadu_epi8(ec_mask(n), p));
    case EC_I4: return ec_load_int4_n(p, n);
    case EC_Q8: return ec_load_q8_n(p, n, fmt);
    case EC_Q16: return ec_load_q16_n(p, n, fmt);
    default: return ec_load_n((const float *)p, n);
    }
}

/* Broadcasts of what memory holds, to the upper bytes of every lane: they need no general register
   and no shift. */
EC_INLINE __m512i ec_highest_byte(const void *p)
{
    return _mm512_maskz_set1_epi8(0x8888888888888888u, *(const char *)p);
}
EC_INLINE __m512i ec_upper_half(const void *p)
{
    return _mm512_maskz_broadcastw_epi16(0xaaaaaaaau, _mm_loadu_si16(p));
}
EC_INLINE ec_vec ec_set1_flyte24(const char *p)
{
    const __m512i upper = ec_upper_half(p + 1);
    return _mm512_castsi512_ps(_mm512_mask_set1_epi8(upper, 0x2222222222222222u, *p));
}

EC_INLINE ec_vec ec_set1_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: return ec_set1_flyte24((const char *)p);
    case EC_F16: return _mm512_castsi512_ps(ec_upper_half(p));
    case EC_F8: return _mm512_castsi512_ps(ec_highest_byte(p));
    case EC_Q8: return ec_from_q8(_mm512_cvtepi32_ps(ec_highest_byte(p)), 16777216.0f, fmt);
    case EC_Q16: return ec_from_q8(_mm512_cvtepi32_ps(ec_upper_half(p)), 65536.0f, fmt);
    default: return ec_set1(ec_get_as(p, fmt));
    }
}

/* As ec_round_bits, with `truncate` for EC_TRUNCATE. */
EC_INLINE __m512i ec_round_as(ec_vec v, int fmt, int truncate)
{
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    const __m512i beyond = _mm512_set1_epi32((int)EC_STORED_LARGEST(fmt) + 1);
    const __mmask16 within = _mm512_cmpgt_epi32_mask(beyond, size);
    const __mmask16 odd =
        _mm512_mask_test_epi32_mask(within, bits, _mm512_set1_epi32((int)EC_STORED_LAST_BIT(fmt)));
    const __m512i half = _mm512_set1_epi32((int)EC_STORED_HALF(fmt));
    const __m512i up = _mm512_mask_add_epi32(bits, within, bits, half);
    const __m512i rounded =
        truncate ? bits : _mm512_mask_add_epi32(up, odd, up, _mm512_set1_epi32(1));
    if (fmt == EC_F8)
        return rounded;
    const __mmask16 nan = _mm512_cmpgt_epi32_mask(size, _mm512_set1_epi32((int)EC_INFINITY_BITS));
    return _mm512_mask_or_epi32(rounded, nan, rounded, _mm512_set1_epi32((int)EC_QUIET_BIT));
}
/* Conversions round to nearest, the second one saturates. */
EC_INLINE __m128i ec_pack_q8(ec_vec v, int fmt)
{
    return _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(ec_to_q8(v, 0.0f, fmt)));
}
EC_INLINE __m256i ec_pack_q16(ec_vec v, int fmt)
{
    return _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(ec_to_q8(v, 0.0f, fmt)));
}
/* The bytes that are kept, in order. */
EC_INLINE __m512i ec_pack_flyte24(ec_vec v)
{
    return ec_join_flyte24(ec_round_as(v, EC_F24, EC_TRUNCATE));
}
EC_INLINE __m256i ec_pack_flyte16(ec_vec v)
{
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(ec_round_as(v, EC_F16, EC_TRUNCATE), 16));
}
EC_INLINE __m128i ec_pack_flyte8(ec_vec v)
{
    return _mm512_cvtepi32_epi8(_mm512_srli_epi32(ec_round_as(v, EC_F8, EC_TRUNCATE), 24));
}

EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: _mm512_mask_storeu_epi32(p, 0x0fff, ec_pack_flyte24(v)); break;
    case EC_F16: _mm256_storeu_si256((__m256i *)p, ec_pack_flyte16(v)); break;
    case EC_F8: _mm_storeu_si128((__m128i *)p, ec_pack_flyte8(v)); break;
    case EC_Q8: _mm_storeu_si128((__m128i *)p, ec_pack_q8(v, fmt)); break;
    case EC_Q16: _mm256_storeu_si256((__m256i *)p, ec_pack_q16(v, fmt)); break;
    default: ec_store((float *)p, v);
    }
}
EC_INLINE void ec_store_as_n(void *p, ec_vec v, int n, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: _mm512_mask_storeu_epi8(p, ec_mask_flyte24(n), ec_pack_flyte24(v)); break;
    case EC_F16: _mm256_mask_storeu_epi16(p, ec_mask(n), ec_pack_flyte16(v)); break;
    case EC_F8: _mm_mask_storeu_epi8(p, ec_mask(n), ec_pack_flyte8(v)); break;
    case EC_Q8: _mm_mask_storeu_epi8(p, ec_mask(n), ec_pack_q8(v, fmt)); break;
    case EC_Q16: _mm256_mask_storeu_epi16(p, ec_mask(n), ec_pack_q16(v, fmt)); break;
    default: ec_store_n((float *)p, v, n);
    }
}

#endif

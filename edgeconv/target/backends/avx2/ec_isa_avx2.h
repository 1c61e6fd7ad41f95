/* AVX2 with FMA: a vector of eight floats.  Meanings: see ec_isa_portable.h. */
#ifndef EC_ISA_H
#define EC_ISA_H

#include <immintrin.h>

#define EC_ISA_NAME "avx2"
#define EC_VL 8
#define EC_TILE_VECS 12 /* of 16 registers; the rest hold filters and the broadcast pixel */

typedef __m256 ec_vec;

/* All bits of the first n lanes, as masked loads, stores and gathers take them. */
EC_INLINE __m256i ec_mask(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

EC_INLINE ec_vec ec_load(const float *p) { return _mm256_loadu_ps(p); }
EC_INLINE void ec_store(float *p, ec_vec v) { _mm256_storeu_ps(p, v); }
EC_INLINE ec_vec ec_load_n(const float *p, int n) { return _mm256_maskload_ps(p, ec_mask(n)); }
EC_INLINE void ec_store_n(float *p, ec_vec v, int n) { _mm256_maskstore_ps(p, ec_mask(n), v); }
EC_INLINE ec_vec ec_set1(float x) { return _mm256_set1_ps(x); }
EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return _mm256_add_ps(a, b); }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return _mm256_sub_ps(a, b); }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return _mm256_mul_ps(a, b); }
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return _mm256_div_ps(a, b); }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return _mm256_fmadd_ps(a, b, c); }
/* The instruction gives its second operand where either is NaN. */
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b) { return _mm256_max_ps(b, a); }
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b) { return _mm256_min_ps(b, a); }

EC_INLINE ec_vec ec_is_nan(ec_vec a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
EC_INLINE ec_vec ec_maximum(ec_vec a, ec_vec b)
{
    return _mm256_blendv_ps(ec_max(a, b), b, ec_is_nan(b));
}
EC_INLINE ec_vec ec_minimum(ec_vec a, ec_vec b)
{
    return _mm256_blendv_ps(ec_min(a, b), b, ec_is_nan(b));
}
EC_INLINE ec_vec ec_abs(ec_vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
EC_INLINE ec_vec ec_copysign(ec_vec a, ec_vec b)
{
    return _mm256_or_ps(ec_abs(a), _mm256_and_ps(_mm256_set1_ps(-0.0f), b));
}
EC_INLINE ec_vec ec_round(ec_vec a) { return _mm256_round_ps(a, 8); }
EC_INLINE ec_vec ec_exp2i(ec_vec n)
{
    const __m256i biased = _mm256_castps_si256(_mm256_add_ps(n, _mm256_set1_ps(12583039.0f)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
EC_INLINE ec_vec ec_exponent(ec_vec a)
{
    const __m256i biased = _mm256_srli_epi32(_mm256_castps_si256(a), 23);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)));
}
EC_INLINE ec_vec ec_mantissa(ec_vec a)
{
    const __m256i fraction = _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(0x007fffff));
    return _mm256_castsi256_ps(_mm256_or_si256(fraction, _mm256_set1_epi32(0x3f800000)));
}
EC_INLINE ec_vec ec_sqrt(ec_vec a) { return _mm256_sqrt_ps(a); }
EC_INLINE ec_vec ec_load_strided(const float *p, ptrdiff_t stride, int n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i at = _mm256_mullo_epi32(lane, _mm256_set1_epi32((int)stride));
    const __m256 mask = _mm256_castsi256_ps(ec_mask(n));
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, at, mask, sizeof(float));
}
EC_INLINE ec_vec ec_load_span(const float *p, int lo, int hi)
{
    const __m256i outside = ec_mask(ec_max_i(0, ec_min_i(lo, EC_VL)));
    const __m256i inside = ec_mask(ec_max_i(0, ec_min_i(hi, EC_VL)));
    return _mm256_maskload_ps(p, _mm256_andnot_si256(outside, inside));
}
/* Bytes shift within halves only: the vector half a step ahead brings the other half's lanes. */
#define EC_SHIFT(N, A, B)                                                                          \
    case N:                                                                                        \
        return _mm256_castsi256_ps(_mm256_alignr_epi8(_mm256_castps_si256(B),                      \
                                                      _mm256_castps_si256(A), (N) % 4 * 4))
EC_INLINE ec_vec ec_shift(ec_vec a, ec_vec b, int n)
{
    const ec_vec half = _mm256_permute2f128_ps(a, b, 0x21);
    switch (n) {
        EC_SHIFT(1, a, half);
        EC_SHIFT(2, a, half);
        EC_SHIFT(3, a, half);
        EC_SHIFT(5, half, b);
        EC_SHIFT(6, half, b);
        EC_SHIFT(7, half, b);
    case 4: return half;
    default: return a;
    }
}
#undef EC_SHIFT
EC_INLINE void ec_deinterleave(ec_vec a, ec_vec b, ec_vec *even, ec_vec *odd)
{
    const __m256d e = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88)); /* pairs a, b, a, b */
    const __m256d o = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd));
    *even = _mm256_castpd_ps(_mm256_permute4x64_pd(e, 0xd8));
    *odd = _mm256_castpd_ps(_mm256_permute4x64_pd(o, 0xd8));
}
EC_INLINE ec_vec ec_load_indexed(const float *p, const int32_t *index, int n)
{
    const __m256i lanes = ec_mask(n), at = _mm256_maskload_epi32(index, lanes);
    const __m256 mask = _mm256_castsi256_ps(lanes);
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, at, mask, sizeof(float));
}
EC_INLINE void ec_transpose(ec_vec v[EC_VL])
{
    __m256 tile[EC_VL];
    EC_UNROLL
    for (int i = 0; i < EC_VL; i += 2) { /* pairs of rows */
        tile[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        tile[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    EC_UNROLL
    for (int i = 0; i < EC_VL; i += 4) { /* v[i + r], half h: column 4 h + r of rows i .. i + 3 */
        v[i] = _mm256_shuffle_ps(tile[i], tile[i + 2], 0x44);
        v[i + 1] = _mm256_shuffle_ps(tile[i], tile[i + 2], 0xee);
        v[i + 2] = _mm256_shuffle_ps(tile[i + 1], tile[i + 3], 0x44);
        v[i + 3] = _mm256_shuffle_ps(tile[i + 1], tile[i + 3], 0xee);
    }
    EC_UNROLL
    for (int r = 0; r < 4; r++) { /* the halves */
        const __m256 upper = v[r];
        v[r] = _mm256_permute2f128_ps(upper, v[r + 4], 0x20);
        v[r + 4] = _mm256_permute2f128_ps(upper, v[r + 4], 0x31);
    }
}
/* The upper half is combined with the lower one until one lane is left. */
EC_INLINE float ec_reduce_add(ec_vec a)
{
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
EC_INLINE float ec_reduce_max(ec_vec a)
{
    if (_mm256_movemask_ps(ec_is_nan(a)))
        return ec_from_bits(0x7fc00000u);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
EC_INLINE float ec_reduce_min(ec_vec a)
{
    if (_mm256_movemask_ps(ec_is_nan(a)))
        return ec_from_bits(0x7fc00000u);
    const __m128 four = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 two = _mm_min_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_min_ss(two, _mm_movehdup_ps(two)));
}

/* A tile takes nearly all registers.  Constants of the epilogue that are kept in some from one tile
   to the next cost GCC a spill in the innermost loop; here they are given up.  So are sums that it begins
   for tiles of several widths at once, in front of this: those it spilt for good. */
#define EC_TILE_BEGIN()                                                                            \
    __asm__ volatile("" ::: "memory", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6",      \
                     "ymm7", "ymm8", "ymm9", "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15")

#include "ec_stored_avx2.h"
#include "ec_tile_lanes.h"
#include "ec_tile_broadcast.h"
#include "ec_f32_lanes.h"

#endif

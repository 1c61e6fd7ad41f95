/* AVX-512: a vector of sixteen floats.  Meanings: see ec_isa_portable.h. */
#ifndef EC_ISA_H
#define EC_ISA_H

#include <immintrin.h>

#define EC_ISA_NAME "avx512"
#define EC_VL 16
#define EC_TILE_VECS 28 /* of 32 registers; the rest hold filters and the broadcast pixel */
/* EC_HALF_VECTORS, an option of the compiler: for cores that take a vector of sixteen floats in two
   halves.  On Zen 4, loading a pixel into 16 lanes takes a slot of the multiply-add unit besides (so
   says LLVM's model of it), unless the multiply-add itself loads the pixel. */

typedef __m512 ec_vec;

EC_INLINE __mmask16 ec_mask(int n) { return (__mmask16)((1u << n) - 1u); }
EC_INLINE ec_vec ec_load(const float *p) { return _mm512_loadu_ps(p); }
EC_INLINE void ec_store(float *p, ec_vec v) { _mm512_storeu_ps(p, v); }
EC_INLINE ec_vec ec_load_n(const float *p, int n) { return _mm512_maskz_loadu_ps(ec_mask(n), p); }
EC_INLINE void ec_store_n(float *p, ec_vec v, int n) { _mm512_mask_storeu_ps(p, ec_mask(n), v); }
EC_INLINE ec_vec ec_set1(float x) { return _mm512_set1_ps(x); }
EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return _mm512_add_ps(a, b); }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return _mm512_sub_ps(a, b); }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return _mm512_mul_ps(a, b); }
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return _mm512_div_ps(a, b); }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return _mm512_fmadd_ps(a, b, c); }
#define EC_FMA_HALF /* ec_fma_half */
/* c + x b in the lower half of the lanes, anything in the others. */
EC_INLINE ec_vec ec_fma_half(const float *x, ec_vec b, ec_vec c)
{
    const __m256 sum = _mm256_fmadd_ps(_mm256_set1_ps(*x), _mm512_castps512_ps256(b), _mm512_castps512_ps256(c));
    return _mm512_castps256_ps512(sum);
}
/* The instruction gives its second operand where either is NaN. */
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b) { return _mm512_max_ps(b, a); }
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b) { return _mm512_min_ps(b, a); }

EC_INLINE __mmask16 ec_is_nan(ec_vec a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
EC_INLINE ec_vec ec_maximum(ec_vec a, ec_vec b)
{
    return _mm512_mask_blend_ps(ec_is_nan(b), ec_max(a, b), b);
}
EC_INLINE ec_vec ec_minimum(ec_vec a, ec_vec b)
{
    return _mm512_mask_blend_ps(ec_is_nan(b), ec_min(a, b), b);
}
EC_INLINE ec_vec ec_abs(ec_vec a) { return _mm512_abs_ps(a); }
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
EC_INLINE ec_vec ec_copysign(ec_vec a, ec_vec b)
{
    const __m512i sign = _mm512_set1_epi32((int)0x80000000u);
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(sign, _mm512_castps_si512(b),
                                                         _mm512_castps_si512(a), 0xca));
}
EC_INLINE ec_vec ec_round(ec_vec a) { return _mm512_roundscale_ps(a, 8); }
EC_INLINE ec_vec ec_exp2i(ec_vec n)
{
    const __m512i biased = _mm512_castps_si512(_mm512_add_ps(n, _mm512_set1_ps(12583039.0f)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
}
#define EC_SCALE /* see ec_exp.h */
EC_INLINE ec_vec ec_scale(ec_vec a, ec_vec n) { return _mm512_scalef_ps(a, n); }
#define EC_EXP /* see ec_exp.h */
/* exp(sign x) for |x| <= 104.  sign x = n ln(2) + r, n a whole number of sixteenths, |r| <= ln(2) / 32:
   2^n is 2^floor(n) times one of sixteen numbers, which a permutation finds by the last four bits of
   n, and exp(r) a polynomial of degree 3, relative error 1.2e-9 (P. T. P. Tang, "Table-driven
   implementation of the exponential function in IEEE floating-point arithmetic", 1989). */
EC_INLINE ec_vec ec_exp_signed(ec_vec x, float sign)
{
    static const float powers[16] = {1.0f, 1.0442737f, 1.0905077f, 1.1387886f,
                                     1.1892071f, 1.2418578f, 1.2968396f, 1.3542556f,
                                     1.4142135f, 1.4768262f, 1.5422108f, 1.6104903f,
                                     1.6817929f, 1.7562522f, 1.8340081f, 1.9152066f};
    static const float lost[16] = {0.0f, 4.833e-08f, -1.308e-08f, 5.386e-08f,
                                   3.798e-08f, 4.497e-08f, -4.019e-08f, -1.012e-08f,
                                   2.42e-08f, -4.501e-08f, 8.071e-09f, 9.836e-09f,
                                   -2.476e-08f, -9.236e-09f, -1.124e-08f, 9.845e-09f}; /* by rounding powers */
    const ec_vec sixteenths = ec_set1(786432.0f); /* 1.5 * 2^19: units of 1/16 in the last place */
    const ec_vec shifted = ec_fma(x, ec_set1(sign * 1.44269504f), sixteenths);
    const __m512i at = _mm512_castps_si512(shifted);
    const ec_vec power = _mm512_permutexvar_ps(at, ec_load(powers));
    const ec_vec low = _mm512_permutexvar_ps(at, ec_load(lost));
    const ec_vec n = ec_sub(shifted, sixteenths);
    /* r and p times sign, as n ln(2) is taken from x and not from sign x */
    const ec_vec rest = ec_fma(n, ec_set1(sign * -0.693359375f), x);
    const ec_vec r = ec_fma(n, ec_set1(sign * 2.12194440e-4f), rest);
    const ec_vec square = ec_fma(r, ec_set1(sign * 0.16666667f), ec_set1(0.50001955f));
    const ec_vec p = ec_fma(square, r, ec_set1(sign));
    const ec_vec first = sign < 0.0f ? _mm512_fmsub_ps(power, r, low) : ec_fma(power, r, low);
    return ec_scale(ec_fma(first, p, power), n);
}
EC_INLINE ec_vec ec_exp_within(ec_vec x) { return ec_exp_signed(x, 1.0f); }
EC_INLINE ec_vec ec_exp_opposite(ec_vec x)
{
    return ec_exp_signed(_mm512_range_ps(x, ec_set1(104.0f), 2), -1.0f); /* the lesser magnitude */
}

EC_INLINE ec_vec ec_exponent(ec_vec a)
{
    const __m512i biased = _mm512_srli_epi32(_mm512_castps_si512(a), 23);
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(biased, _mm512_set1_epi32(127)));
}
EC_INLINE ec_vec ec_mantissa(ec_vec a)
{
    const __m512i fraction = _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x007fffff));
    return _mm512_castsi512_ps(_mm512_or_si512(fraction, _mm512_set1_epi32(0x3f800000)));
}
EC_INLINE ec_vec ec_sqrt(ec_vec a) { return _mm512_sqrt_ps(a); }
EC_INLINE ec_vec ec_load_strided(const float *p, ptrdiff_t stride, int n)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)stride));
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), ec_mask(n), at, p, sizeof(float));
}
EC_INLINE ec_vec ec_load_span(const float *p, int lo, int hi)
{
    const unsigned first = ec_mask(ec_max_i(0, ec_min_i(lo, EC_VL)));
    const unsigned last = ec_mask(ec_max_i(0, ec_min_i(hi, EC_VL)));
    return _mm512_maskz_loadu_ps((__mmask16)(last & ~first), p);
}
#define EC_SHIFT(N)                                                                                \
    case N:                                                                                        \
        return _mm512_castsi512_ps(                                                                \
            _mm512_alignr_epi32(_mm512_castps_si512(b), _mm512_castps_si512(a), N))
EC_INLINE ec_vec ec_shift(ec_vec a, ec_vec b, int n)
{
    switch (n) {
        EC_SHIFT(1);
        EC_SHIFT(2);
        EC_SHIFT(3);
        EC_SHIFT(4);
        EC_SHIFT(5);
        EC_SHIFT(6);
        EC_SHIFT(7);
        EC_SHIFT(8);
        EC_SHIFT(9);
        EC_SHIFT(10);
        EC_SHIFT(11);
        EC_SHIFT(12);
        EC_SHIFT(13);
        EC_SHIFT(14);
        EC_SHIFT(15);
    default: return a;
    }
}
#undef EC_SHIFT
EC_INLINE void ec_deinterleave(ec_vec a, ec_vec b, ec_vec *even, ec_vec *odd)
{
    const __m512i lane =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *even = _mm512_permutex2var_ps(a, lane, b);
    *odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(lane, _mm512_set1_epi32(1)), b);
}
EC_INLINE ec_vec ec_load_indexed(const float *p, const int32_t *index, int n)
{
    const __m512i at = _mm512_maskz_loadu_epi32(ec_mask(n), index);
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), ec_mask(n), at, p, sizeof(float));
}
EC_INLINE void ec_transpose(ec_vec v[EC_VL])
{
    __m512d tile[EC_VL];
    EC_UNROLL
    for (int i = 0; i < EC_VL; i += 2) { /* pairs of rows */
        tile[i] = _mm512_castps_pd(_mm512_unpacklo_ps(v[i], v[i + 1]));
        tile[i + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(v[i], v[i + 1]));
    }
    EC_UNROLL
    for (int i = 0; i < EC_VL; i += 4) { /* v[i + r], quarter q: column 4 q + r of rows i .. i + 3 */
        v[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(tile[i], tile[i + 2]));
        v[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(tile[i], tile[i + 2]));
        v[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(tile[i + 1], tile[i + 3]));
        v[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(tile[i + 1], tile[i + 3]));
    }
    EC_UNROLL
    for (int r = 0; r < 4; r++) { /* the quarters */
        const __m512 even0 = _mm512_shuffle_f32x4(v[r], v[r + 4], 0x88);
        const __m512 even1 = _mm512_shuffle_f32x4(v[r + 8], v[r + 12], 0x88);
        const __m512 odd0 = _mm512_shuffle_f32x4(v[r], v[r + 4], 0xdd);
        const __m512 odd1 = _mm512_shuffle_f32x4(v[r + 8], v[r + 12], 0xdd);
        v[r] = _mm512_shuffle_f32x4(even0, even1, 0x88);
        v[r + 4] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
        v[r + 8] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
        v[r + 12] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
    }
}
EC_INLINE float ec_reduce_add(ec_vec a) { return _mm512_reduce_add_ps(a); }
EC_INLINE float ec_reduce_max(ec_vec a)
{
    return ec_is_nan(a) ? ec_from_bits(0x7fc00000u) : _mm512_reduce_max_ps(a);
}
EC_INLINE float ec_reduce_min(ec_vec a)
{
    return ec_is_nan(a) ? ec_from_bits(0x7fc00000u) : _mm512_reduce_min_ps(a);
}

/* A tile takes nearly all registers.  Constants of the epilogue that are kept in some from one tile
   to the next cost GCC a spill in the innermost loop; here they are given up.  So are sums that it begins
   for tiles of several widths at once, in front of this: those it spilt for good.  (Intrinsics may stand
   for plain C, on a CPU without these registers.) */
#ifdef __AVX512F__
#define EC_TILE_BEGIN()                                                                            \
    __asm__ volatile("" ::: "memory", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6",      \
                     "zmm7", "zmm8", "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", \
                     "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23",       \
                     "zmm24", "zmm25", "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31")
#endif

#include "ec_stored_avx512.h"
#include "ec_tile_lanes.h"
#include "ec_tile_broadcast.h"
#include "ec_f32_lanes.h"

#endif

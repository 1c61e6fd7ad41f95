/* AVX-512 in plain C, for processors that lack it: found in place of the compiler's <immintrin.h>.
   What SIMDe 0.7.4 has, and has right, is SIMDe's; the rest of what ec_isa_avx512.h uses follows
   here, lane by lane.  test_simde.py compares it with the real instructions.
   For tests only: emitted code always uses the real instructions. */
#ifndef EC_SIMDE_IMMINTRIN_H
#define EC_SIMDE_IMMINTRIN_H

/* The same C everywhere, and no include of the <immintrin.h> that this file stands for. */
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES /* _mm512_add_ps for simde_mm512_add_ps, and so on */
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>
#include <string.h>

/* Names that SIMDe has without an alias. */
#define __mmask16 simde__mmask16
#define __mmask64 simde__mmask64
#define _CMP_LT_OQ SIMDE_CMP_LT_OQ
#define _mm512_shuffle_f32x4 simde_mm512_shuffle_f32x4

/* The lanes of a vector and back, as memcpy so that no aliasing rule is broken. */
typedef struct ec_lanes16 {
    float f[16];
} ec_lanes16;

static inline ec_lanes16 ec_lanes_of(__m512 v)
{
    ec_lanes16 lanes;
    memcpy(&lanes, &v, sizeof lanes);
    return lanes;
}
static inline __m512 ec_vector_of(ec_lanes16 lanes)
{
    __m512 v;
    memcpy(&v, &lanes, sizeof v);
    return v;
}

/* Lanes n and up of low, then the first n of high. */
static inline __m512i _mm512_alignr_epi32(__m512i high, __m512i low, int n)
{
    int lanes[32];
    __m512i v;
    memcpy(lanes, &low, 64);
    memcpy(lanes + 16, &high, 64);
    memcpy(&v, lanes + n, sizeof v);
    return v;
}

/* SIMDe's keeps the sign of -0. */
#undef _mm512_abs_ps
static inline __m512 _mm512_abs_ps(__m512 a)
{
    return simde_mm512_castsi512_ps(simde_mm512_and_si512(simde_mm512_castps_si512(a),
                                                          simde_mm512_set1_epi32(0x7fffffff)));
}

/* SIMDe's makes 0 of what is rounded to -0, with a compiler that lacks __builtin_roundevenf, as
   Clang 14 does.  For ec_round's only mode, to nearest with ties to even. */
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps(a, mode) ec_simde_rint(a)
static inline __m512 ec_simde_rint(__m512 a)
{
    ec_lanes16 lanes = ec_lanes_of(a);
    for (int i = 0; i < 16; i++)
        lanes.f[i] = __builtin_rintf(lanes.f[i]);
    return ec_vector_of(lanes);
}

/* SIMDe's adds signed integers, and all lanes: sums that the mask leaves out would overflow. */
#undef _mm512_mask_add_epi32
static inline __m512i _mm512_mask_add_epi32(__m512i otherwise, __mmask16 mask, __m512i a, __m512i b)
{
    unsigned lanes[16], x[16], y[16];
    __m512i v;
    memcpy(lanes, &otherwise, sizeof lanes);
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            lanes[i] = x[i] + y[i];
    memcpy(&v, lanes, sizeof v);
    return v;
}

/* Lanes that the mask leaves out are not touched in memory, as the sanitizers check. */
static inline __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void *p)
{
    ec_lanes16 lanes = {{0}};
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy(&lanes.f[i], (const char *)p + i * sizeof(float), sizeof(float));
    return ec_vector_of(lanes);
}
static inline __m512i _mm512_maskz_loadu_epi32(__mmask16 mask, const void *p)
{
    return _mm512_castps_si512(_mm512_maskz_loadu_ps(mask, p));
}
static inline void _mm512_mask_storeu_ps(void *p, __mmask16 mask, __m512 v)
{
    const ec_lanes16 lanes = ec_lanes_of(v);
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy((char *)p + i * sizeof(float), &lanes.f[i], sizeof(float));
}
static inline __m512 _mm512_mask_i32gather_ps(__m512 otherwise, __mmask16 mask, __m512i index,
                                              const void *p, int scale)
{
    int at[16];
    ec_lanes16 lanes = ec_lanes_of(otherwise);
    memcpy(at, &index, sizeof at);
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy(&lanes.f[i], (const char *)p + (long long)at[i] * scale, sizeof(float));
    return ec_vector_of(lanes);
}
static inline __m512 _mm512_cvtepi32_ps(__m512i a)
{
    int integers[16];
    ec_lanes16 lanes;
    memcpy(integers, &a, sizeof integers);
    for (int i = 0; i < 16; i++)
        lanes.f[i] = (float)integers[i];
    return ec_vector_of(lanes);
}

/* To nearest, ties to even; the smallest integer for what is too large, and for NaN. */
static inline __m512i _mm512_cvtps_epi32(__m512 a)
{
    const ec_lanes16 lanes = ec_lanes_of(a);
    int integers[16];
    __m512i v;
    for (int i = 0; i < 16; i++) {
        const float x = lanes.f[i];
        const int fits = x >= -2147483648.0f && x < 2147483648.0f;
        integers[i] = fits ? (int)__builtin_rintf(x) : -2147483647 - 1;
    }
    memcpy(&v, integers, sizeof v);
    return v;
}

/* Integers of one and two bytes: loads and stores under a mask, as above, and to and from lanes. */
#define EC_MASKED(VECTOR, MASK, PREFIX, BITS, LANES)                                               \
    static inline VECTOR PREFIX##_maskz_loadu_epi##BITS(MASK mask, const void *p)                  \
    {                                                                                              \
        char lanes[LANES * BITS / 8] = {0};                                                        \
        VECTOR v;                                                                                  \
        for (int i = 0; i < LANES; i++)                                                            \
            if (mask >> i & 1)                                                                     \
                memcpy(lanes + i * (BITS / 8), (const char *)p + i * (BITS / 8), BITS / 8);        \
        memcpy(&v, lanes, sizeof v);                                                               \
        return v;                                                                                  \
    }                                                                                              \
    static inline void PREFIX##_mask_storeu_epi##BITS(void *p, MASK mask, VECTOR v)                \
    {                                                                                              \
        char lanes[LANES * BITS / 8];                                                              \
        memcpy(lanes, &v, sizeof lanes);                                                           \
        for (int i = 0; i < LANES; i++)                                                            \
            if (mask >> i & 1)                                                                     \
                memcpy((char *)p + i * (BITS / 8), lanes + i * (BITS / 8), BITS / 8);              \
    }
EC_MASKED(__m512i, __mmask64, _mm512, 8, 64)
EC_MASKED(__m256i, __mmask16, _mm256, 16, 16)
EC_MASKED(__m128i, __mmask16, _mm, 8, 16)
static inline void _mm512_mask_storeu_epi32(void *p, __mmask16 mask, __m512i v)
{
    _mm512_mask_storeu_ps(p, mask, _mm512_castsi512_ps(v));
}

#define EC_CONVERT(NAME, FROM, FROM_TYPE, TO, TO_TYPE)                                             \
    static inline TO _mm512_##NAME(FROM a)                                                         \
    {                                                                                              \
        FROM_TYPE from[16];                                                                        \
        TO_TYPE to[16];                                                                            \
        TO v;                                                                                      \
        memcpy(from, &a, sizeof from);                                                             \
        for (int i = 0; i < 16; i++)                                                               \
            to[i] = (TO_TYPE)from[i];                                                              \
        memcpy(&v, to, sizeof v);                                                                  \
        return v;                                                                                  \
    }
EC_CONVERT(cvtepi16_epi32, __m256i, short, __m512i, int)
EC_CONVERT(cvtepu16_epi32, __m256i, unsigned short, __m512i, int)
EC_CONVERT(cvtepu8_epi32, __m128i, unsigned char, __m512i, int)
EC_CONVERT(cvtepi8_epi32, __m128i, signed char, __m512i, int)
EC_CONVERT(cvtepi32_epi16, __m512i, unsigned, __m256i, unsigned short)
EC_CONVERT(cvtepi32_epi8, __m512i, unsigned, __m128i, unsigned char)
#undef EC_MASKED
#undef EC_CONVERT

/* The upper half is combined with the lower one until one lane is left, in Intel's order. */
static inline float _mm512_reduce_add_ps(__m512 v)
{
    ec_lanes16 lanes = ec_lanes_of(v);
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lanes.f[i] += lanes.f[i + half];
    return lanes.f[0];
}
static inline float _mm512_reduce_max_ps(__m512 v)
{
    ec_lanes16 lanes = ec_lanes_of(v);
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lanes.f[i] = lanes.f[i] > lanes.f[i + half] ? lanes.f[i] : lanes.f[i + half];
    return lanes.f[0];
}
static inline float _mm512_reduce_min_ps(__m512 v)
{
    ec_lanes16 lanes = ec_lanes_of(v);
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lanes.f[i] = lanes.f[i] < lanes.f[i + half] ? lanes.f[i] : lanes.f[i + half];
    return lanes.f[0];
}

/* The lowest two bytes of a in every place of k, zeros in the others. */
static inline __m512i _mm512_maskz_broadcastw_epi16(unsigned k, __m128i a)
{
    return _mm512_maskz_mov_epi16(k, _mm512_broadcastw_epi16(a));
}

#endif

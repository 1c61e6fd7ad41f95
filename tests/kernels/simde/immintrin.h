/* AVX-512 in plain C, for processors that lack it: found in place of the compiler's <immintrin.h>.
   What SIMDe 0.7.4 has, and has right, is SIMDe's; the rest of what ec_isa_avx512.h uses follows
   here, lane by lane.  test_simde.py compares it with the real instructions.
   For tests only: emitted code always uses the real instructions. */
#ifndef EC_SIMDE_IMMINTRIN_H
#define EC_SIMDE_IMMINTRIN_H

/* The same C everywhere, and no include of the <immintrin.h> that this file stands for. */
#define SIMDE_NO_NATIVE
#include <simde/x86/avx512.h>
#include <string.h>

#define __m512 simde__m512
#define __m512d simde__m512d
#define __m512i simde__m512i
#define __mmask16 simde__mmask16
#define _CMP_LT_OQ SIMDE_CMP_LT_OQ
#define _mm512_add_ps simde_mm512_add_ps
#define _mm512_and_si512 simde_mm512_and_si512
#define _mm512_castpd_ps simde_mm512_castpd_ps
#define _mm512_castps_pd simde_mm512_castps_pd
#define _mm512_castps_si512 simde_mm512_castps_si512
#define _mm512_castsi512_ps simde_mm512_castsi512_ps
#define _mm512_cmp_ps_mask simde_mm512_cmp_ps_mask
#define _mm512_div_ps simde_mm512_div_ps
#define _mm512_fmadd_ps simde_mm512_fmadd_ps
#define _mm512_loadu_ps simde_mm512_loadu_ps
#define _mm512_mask_blend_ps simde_mm512_mask_blend_ps
#define _mm512_max_ps simde_mm512_max_ps
#define _mm512_min_ps simde_mm512_min_ps
#define _mm512_mul_ps simde_mm512_mul_ps
#define _mm512_mullo_epi32 simde_mm512_mullo_epi32
#define _mm512_or_si512 simde_mm512_or_si512
#define _mm512_roundscale_ps simde_mm512_roundscale_ps
#define _mm512_set1_epi32 simde_mm512_set1_epi32
#define _mm512_set1_ps simde_mm512_set1_ps
#define _mm512_setr_epi32 simde_mm512_setr_epi32
#define _mm512_setzero_ps simde_mm512_setzero_ps
#define _mm512_shuffle_f32x4 simde_mm512_shuffle_f32x4
#define _mm512_slli_epi32 simde_mm512_slli_epi32
#define _mm512_sqrt_ps simde_mm512_sqrt_ps
#define _mm512_srli_epi32 simde_mm512_srli_epi32
#define _mm512_storeu_ps simde_mm512_storeu_ps
#define _mm512_sub_epi32 simde_mm512_sub_epi32
#define _mm512_sub_ps simde_mm512_sub_ps
#define _mm512_ternarylogic_epi32 simde_mm512_ternarylogic_epi32
#define _mm512_unpackhi_pd simde_mm512_unpackhi_pd
#define _mm512_unpackhi_ps simde_mm512_unpackhi_ps
#define _mm512_unpacklo_pd simde_mm512_unpacklo_pd
#define _mm512_unpacklo_ps simde_mm512_unpacklo_ps

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

/* SIMDe's keeps the sign of -0. */
static inline __m512 _mm512_abs_ps(__m512 a)
{
    return simde_mm512_castsi512_ps(simde_mm512_and_si512(simde_mm512_castps_si512(a),
                                                          simde_mm512_set1_epi32(0x7fffffff)));
}

/* Lanes that the mask leaves out are not touched in memory, as the sanitizers check. */
static inline __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void *p)
{
    ec_lanes16 lanes;
    for (int i = 0; i < 16; i++)
        lanes.f[i] = mask >> i & 1 ? ((const float *)p)[i] : 0.0f;
    return ec_vector_of(lanes);
}
static inline void _mm512_mask_storeu_ps(void *p, __mmask16 mask, __m512 v)
{
    const ec_lanes16 lanes = ec_lanes_of(v);
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            ((float *)p)[i] = lanes.f[i];
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

#endif

/* The micro-kernel s8 with AVX512-VNNI: int8 by int8 to int32.  Included after ec_isa_avx512.h.

   A word holds four channels.  vpdpbusd multiplies unsigned bytes by signed ones: those of the rows
   are stored 128 more, and what that adds to the sums, 128 times those of a column's
   elements, is taken off what they start with. */
#ifndef EC_INT8_H
#define EC_INT8_H

#ifndef __AVX512VNNI__
#error "Multiplying int8 needs AVX512-VNNI: compile with -mavx512vnni"
#endif


#include "ec_integers_avx512.h"
#include "ec_int8_lanes.h"

/* In place: GCC 12 gives the sums of _mm512_dpbusd_epi32 new registers, moves them and spills. */
EC_INLINE void ec_s8_add(ec_ivec *sum, __m512i pixels, __m512i filters)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(pixels), "v"(filters));
}

/* Of one row: filters are needed once, and so are read where they lie.  In registers, beside as many sums,
   GCC 12 spills both. */
EC_INLINE void ec_s8_mac_row(ec_s8_sums *tile, const char *pixels, ptrdiff_t a_k, const char *filters, int depth, int nv)
{
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, pixels += a_k, filters += nv * EC_VL * 4) {
        int32_t group;
        __builtin_memcpy(&group, pixels, 4);
        const __m512i x = _mm512_set1_epi32(group);
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            __asm__("vpdpbusd %2, %1, %0"
                    : "+v"(tile->acc[j])
                    : "v"(x), "m"(*(const __m512i_u *)(const void *)(filters + j * EC_VL * 4)));
    }
}

EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const char *x_at = a, *w = b;
    if (mr == 1) {
        ec_s8_mac_row(tile, a, a_k, b, depth, nv);
        return;
    }
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv * EC_VL * 4) {
        __m512i f[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            f[j] = _mm512_loadu_si512(w + j * EC_VL * 4);
        EC_IN_ORDER(); /* or filters are loaded again for every pixel */
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int32_t group;
            __builtin_memcpy(&group, x_at + p * a_row, 4);
            const __m512i x = _mm512_set1_epi32(group);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_s8_add(&tile->acc[p * nv + j], x, f[j]);
        }
#ifndef __clang__
        EC_UNROLL
        for (int j = 0; j < nv; j++) /* alive until here, or GCC moves a sum to its register */
            __asm__ volatile("" ::"v"(f[j]));
#endif
    }
}

#endif

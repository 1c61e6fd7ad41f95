/* The micro-kernel s8_vnni with AVX-VNNI, or AVX512-VNNI of vectors of eight: int8 by int8 to int32.
   Included after ec_isa_avx2.h.

   A word holds four channels.  vpdpbusd multiplies unsigned bytes by signed ones: those of the rows are
   stored 128 more, and what that adds to the sums, 128 times those of a column's elements, is taken off
   what they start with. */
#ifndef EC_INT8_VNNI_H
#define EC_INT8_VNNI_H

#include "ec_int8_avx2.h"

#ifdef __AVXVNNI__
#define EC_VPDPBUSD "%{vex%} vpdpbusd" /* else assemblers take the encoding of AVX-512 */
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define EC_VPDPBUSD "vpdpbusd"
#else
#error "Multiplying int8 needs AVX-VNNI: compile with -mavxvnni"
#endif

typedef ec_s8_sums ec_s8_vnni_sums;
#define ec_s8_vnni_init ec_s8_init
#define ec_s8_vnni_read ec_s8_read
#define ec_s8_vnni_save ec_s8_save
#define ec_s8_vnni_load ec_s8_load
EC_INLINE void ec_s8_vnni_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                              const void *b, int depth, int mr, int nv)
{
    const char *x_at = a;
    const __m256i *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            const __m256i x = ec_s8_group(x_at + p * a_row);
            EC_UNROLL
            for (int j = 0; j < nv; j++) /* in place: GCC 12 moves the sums of the intrinsic */
                __asm__(EC_VPDPBUSD " %2, %1, %0" : "+x"(tile->acc[p * nv + j]) : "x"(x), "m"(w[j]));
            ec_s8_keep(x);
        }
    }
}

#endif

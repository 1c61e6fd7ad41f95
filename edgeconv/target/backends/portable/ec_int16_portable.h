/* In plain C: vectors of 2 * EC_VL integers of 16 bits, here of two, what each function means elsewhere,
   and the micro-kernel s16: pairs of int16 by pairs of int16, summed modulo 2^32.  Included after
   ec_isa_portable.h.

   ec_hload and ec_hstore: from and to memory.  ec_hload_s8: the first n lanes from as many int8, the others
   whatever they may be.  ec_hadd, ec_hsub, ec_htimes: modulo 2^16 where results are stored. */
#ifndef EC_INT16_H
#define EC_INT16_H

#include "ec_int8_portable.h"

typedef ec_s8_sums ec_s16_sums;
#define ec_s16_init ec_s8_init
#define ec_s16_read ec_s8_read
#define ec_s16_save ec_s8_save
#define ec_s16_load ec_s8_load

EC_INLINE void ec_s16_mac(ec_s16_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const char *x_at = a;
    const int16_t *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv * 2) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int16_t x[2];
            memcpy(x, x_at + p * a_row, sizeof x);
            EC_UNROLL
            for (int j = 0; j < nv; j++) {
                const uint32_t products = (uint32_t)(x[0] * w[2 * j]) + (uint32_t)(x[1] * w[2 * j + 1]);
                tile->acc[p * nv + j] = (int32_t)((uint32_t)tile->acc[p * nv + j] + products);
            }
        }
    }
}

typedef struct ec_hvec {
    int lane[2];
} ec_hvec;
EC_INLINE ec_hvec ec_hset1(int x) { return (ec_hvec){{x, x}}; }
EC_INLINE ec_hvec ec_hload(const void *p)
{
    int16_t pair[2];
    memcpy(pair, p, sizeof pair);
    return (ec_hvec){{pair[0], pair[1]}};
}
EC_INLINE void ec_hstore(void *p, ec_hvec v)
{
    const int16_t pair[2] = {(int16_t)v.lane[0], (int16_t)v.lane[1]};
    memcpy(p, pair, sizeof pair);
}
EC_INLINE ec_hvec ec_hadd(ec_hvec a, ec_hvec b) { return (ec_hvec){{a.lane[0] + b.lane[0], a.lane[1] + b.lane[1]}}; }
EC_INLINE ec_hvec ec_hsub(ec_hvec a, ec_hvec b) { return (ec_hvec){{a.lane[0] - b.lane[0], a.lane[1] - b.lane[1]}}; }
EC_INLINE ec_hvec ec_htimes(int factor, ec_hvec v) { return (ec_hvec){{factor * v.lane[0], factor * v.lane[1]}}; }
EC_INLINE ec_hvec ec_hload_s8(const int8_t *p, int n) { return (ec_hvec){{p[0], n > 1 ? p[1] : 0}}; }

#endif

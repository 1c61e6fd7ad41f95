/* The micro-kernel s16, and vectors of 2 * EC_VL integers of 16 bits, in C.  Meanings: see
   ec_int16_portable.h. */
#ifndef EC_INT16_H
#define EC_INT16_H

#include "ec_int8_vectors.h"

typedef ec_s8_sums ec_s16_sums;
#define ec_s16_init ec_s8_init
#define ec_s16_read ec_s8_read
#define ec_s16_save ec_s8_save
#define ec_s16_load ec_s8_load

EC_INLINE void ec_s16_mac(ec_s16_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const char *x_at = a;
    const int16_t *w_at = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w_at += nv * EC_VL * 2)
        for (int p = 0; p < mr; p++)
            for (int j = 0; j < nv; j++) {
                const int16_t *const w = w_at + j * EC_VL * 2;
                int16_t x[2];
                ec_ivec products;
                memcpy(x, x_at + p * a_row, sizeof x);
                EC_LANES(products[i] = (int32_t)((uint32_t)(x[0] * w[2 * i]) + (uint32_t)(x[1] * w[2 * i + 1])));
                tile->acc[p * nv + j] = ec_iadd(tile->acc[p * nv + j], products);
            }
}

typedef int16_t ec_hvec __attribute__((vector_size(EC_VECTOR_BITS / 8)));
typedef uint16_t ec_hword __attribute__((vector_size(EC_VECTOR_BITS / 8)));
EC_INLINE ec_hvec ec_hset1(int x)
{
    ec_hvec v;
    for (int i = 0; i < 2 * EC_VL; i++)
        v[i] = (int16_t)x;
    return v;
}
EC_INLINE ec_hvec ec_hload(const void *p)
{
    ec_hvec v;
    EC_COPY(&v, p, sizeof v);
    return v;
}
EC_INLINE void ec_hstore(void *p, ec_hvec v) { EC_COPY(p, &v, sizeof v); }
EC_INLINE ec_hvec ec_hadd(ec_hvec a, ec_hvec b) { return (ec_hvec)((ec_hword)a + (ec_hword)b); }
EC_INLINE ec_hvec ec_hsub(ec_hvec a, ec_hvec b) { return (ec_hvec)((ec_hword)a - (ec_hword)b); }
EC_INLINE ec_hvec ec_htimes(int factor, ec_hvec v)
{
    return (ec_hvec)((ec_hword)v * (ec_hword)ec_hset1(factor));
}
EC_INLINE ec_hvec ec_hload_s8(const int8_t *p, int n)
{
    ec_hvec v = ec_hset1(0);
    for (int i = 0; i < 2 * EC_VL; i++)
        if (i < n)
            v[i] = p[i];
    return v;
}

#endif

/* The micro-kernel s8 in plain C: int8 by int8 to int32.  Included after ec_isa_portable.h.  A word
   holds four channels. */
#ifndef EC_INT8_H
#define EC_INT8_H

#define EC_S8_SHIFT 0
typedef int8_t ec_s8_element; /* of rows, as they are packed */
typedef int32_t ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x) { return x; }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return *p; }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { *p = v; }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return (float)v; }

#include "ec_int8_lanes.h"

EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const int8_t *x_at = a, *w_at = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w_at += nv * 4) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            const int8_t *const x = x_at + p * a_row;
            EC_UNROLL
            for (int j = 0; j < nv; j++) {
                const int8_t *const w = w_at + j * 4;
                tile->acc[p * nv + j] += x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3];
            }
        }
    }
}

/* As in ec_int8_avx512.h. */
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b) { return (int32_t)(((int64_t)a * b) >> 32); }
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return a * b; }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return a + b; }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return a >> bits; }
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high) { return ec_min_i(ec_max_i(a, low), high); }
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n) { return n ? *p : 0; }
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n)
{
    if (n)
        *p = (int8_t)v;
}

#endif

/* On POWER10: vectors of 2 * EC_VL integers of 16 bits, and the micro-kernel s16 of pairs of these in the
   accumulators of the matrix unit.  Meanings: see ec_int16_portable.h.  Included after ec_isa_power10.h. */
#ifndef EC_INT16_H
#define EC_INT16_H

#include "ec_integers_power10.h"

typedef ec_f32_sums ec_s16_sums; /* xvi16ger2pp: modulo 2^32 */
#define ec_s16_init ec_f32_init
#define ec_s16_save ec_f32_save
#define ec_s16_load ec_f32_load

EC_INLINE void ec_s16_read(const ec_s16_sums *tile, ec_vec *rows, int mr, int nv)
{
    ec_f32_read(tile, rows, mr, nv);
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        rows[i] = ec_ireal((ec_ivec)rows[i]);
}

EC_INLINE void ec_s16_mac(ec_s16_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const unsigned char *x = a, *w = b;
    (void)a_row; /* packed */
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x += a_k, w += nv * EC_VL * 4) {
        ec_mma_operands loaded;
        EC_UNROLL
        for (int p = 0; p < mr / 4; p++)
            loaded.x[p] = vec_xl(0, x + 16 * p);
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            loaded.y[j] = vec_xl(0, w + 16 * j);
#define EC_ADD(i) __builtin_mma_xvi16ger2pp(&tile->acc[i], loaded.x[(i) / nv], loaded.y[(i) % nv])
        EC_EACH_ACC(mr / 4 * nv, EC_ADD);
#undef EC_ADD
    }
}

typedef __vector signed short ec_hvec;
EC_INLINE ec_hvec ec_hset1(int x) { return vec_splats((signed short)x); }
EC_INLINE ec_hvec ec_hload(const void *p) { return vec_xl(0, (const signed short *)p); }
EC_INLINE void ec_hstore(void *p, ec_hvec v) { vec_xst(v, 0, (signed short *)p); }
EC_INLINE ec_hvec ec_hadd(ec_hvec a, ec_hvec b) { return a + b; }
EC_INLINE ec_hvec ec_hsub(ec_hvec a, ec_hvec b) { return a - b; }
EC_INLINE ec_hvec ec_htimes(int factor, ec_hvec v) { return v * ec_hset1(factor); }
EC_INLINE ec_hvec ec_hload_s8(const int8_t *p, int n)
{
    __vector signed char eight = {0};
    memcpy(&eight, p, (size_t)(n < 2 * EC_VL ? n : 2 * EC_VL));
    return vec_unpackh(eight);
}

#endif

/* The micro-kernel s16 on SVE, whose products of pairs are two of widened halves, and vectors of
   2 * EC_VL integers of 16 bits.  Meanings: see ec_int16_portable.h. */
#ifndef EC_INT16_H
#define EC_INT16_H

#include "ec_int8_sve.h"

typedef ec_s8_sums ec_s16_sums;
#define ec_s16_init ec_s8_init
#define ec_s16_read ec_s8_read
#define ec_s16_save ec_s8_save
#define ec_s16_load ec_s8_load

EC_INLINE void ec_s16_mac(ec_s16_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const char *x_at = a;
    const int32_t *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv * EC_VL) {
        ec_ivec low[EC_TILE_VECS], high[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            const svint32_t words = svld1_s32(ec_all(), w + j * EC_VL);
            low[j] = svexth_s32_x(ec_all(), words);
            high[j] = svasr_n_s32_x(ec_all(), words, 16);
        }
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int16_t x[2];
            EC_COPY(x, x_at + p * a_row, sizeof x);
            EC_UNROLL
            for (int j = 0; j < nv; j++) {
                const svint32_t sum = svmla_n_s32_x(ec_all(), tile->acc[p * nv + j], low[j], x[0]);
                tile->acc[p * nv + j] = svmla_n_s32_x(ec_all(), sum, high[j], x[1]);
            }
        }
    }
}

typedef svint16_t ec_hvec EC_FIXED;
EC_INLINE ec_hvec ec_hset1(int x) { return svdup_n_s16((int16_t)x); }
EC_INLINE ec_hvec ec_hload(const void *p) { return svld1_s16(svptrue_b16(), p); }
EC_INLINE void ec_hstore(void *p, ec_hvec v) { svst1_s16(svptrue_b16(), p, v); }
EC_INLINE ec_hvec ec_hadd(ec_hvec a, ec_hvec b) { return svadd_s16_x(svptrue_b16(), a, b); }
EC_INLINE ec_hvec ec_hsub(ec_hvec a, ec_hvec b) { return svsub_s16_x(svptrue_b16(), a, b); }
EC_INLINE ec_hvec ec_htimes(int factor, ec_hvec v)
{
    return svmul_n_s16_x(svptrue_b16(), v, (int16_t)factor);
}
EC_INLINE ec_hvec ec_hload_s8(const int8_t *p, int n) { return svld1sb_s16(svwhilelt_b16_s32(0, n), p); }

#endif

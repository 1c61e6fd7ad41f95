/* The micro-kernel s16 on RVV: pairs of int16 by pairs of int16, summed modulo 2^32; and vectors of 2 * EC_VL integers
   of 16 bits.  Included after ec_isa_rvv*.h.  Meanings: see ec_int16_portable.h. */
#ifndef EC_INT16_H
#define EC_INT16_H

#include "ec_sums_rvv.h"

typedef ec_s8_sums ec_s16_sums;
#define ec_s16_init ec_s8_init
#define ec_s16_read ec_s8_read
#define ec_s16_save ec_s8_save
#define ec_s16_load ec_s8_load

/* Of rows that may be memory of words: a copy of two bytes is not a load where compilers know no alignment. */
typedef int16_t EC_ATTRIBUTES(may_alias) ec_s16_number;

EC_INLINE void ec_s16_mac(ec_s16_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const int group = ec_sums_group(nv), each = nv / group;
    const char *x = a;
    const int32_t *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x += a_k, w += nv * EC_VL) {
        EC_UNROLL
        for (int i = 0; i < each; i++) {
            const ec_sums_words words = ec_words_load(w + i * group * EC_VL, group);
            EC_UNROLL
            for (int half = 0; half < 2; half++) {
                const ec_halves filters = ec_words_half(words, 16 * half, group);
                EC_UNROLL
                for (int p = 0; p < mr; p++) {
                    const ec_s16_number *const number = (const ec_s16_number *)(x + p * a_row);
                    ec_s8_multiply(tile, p * each + i, number[half], filters, group);
                }
            }
        }
    }
}

typedef vint16m1_t ec_hvec EC_FIXED(1);
EC_INLINE ec_hvec ec_hset1(int x) { return __riscv_vmv_v_x_i16m1((int16_t)x, 2 * EC_VL); }
EC_INLINE ec_hvec ec_hload(const void *p) { return __riscv_vle16_v_i16m1(p, 2 * EC_VL); }
EC_INLINE void ec_hstore(void *p, ec_hvec v) { __riscv_vse16_v_i16m1(p, v, 2 * EC_VL); }
EC_INLINE ec_hvec ec_hadd(ec_hvec a, ec_hvec b) { return __riscv_vadd_vv_i16m1(a, b, 2 * EC_VL); }
EC_INLINE ec_hvec ec_hsub(ec_hvec a, ec_hvec b) { return __riscv_vsub_vv_i16m1(a, b, 2 * EC_VL); }
EC_INLINE ec_hvec ec_htimes(int factor, ec_hvec v) { return __riscv_vmul_vx_i16m1(v, (int16_t)factor, 2 * EC_VL); }
EC_INLINE ec_hvec ec_hload_s8(const int8_t *p, int n)
{
    return __riscv_vsext_vf2_i16m1(__riscv_vle8_v_i8mf2(p, (size_t)n), 2 * EC_VL);
}

#endif

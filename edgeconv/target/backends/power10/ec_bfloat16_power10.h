/* Multiply-adds on pairs of bfloat16 in the accumulators of POWER10's matrix unit.  Included after
   ec_isa_power10.h.

   A word holds a pair: an even channel in its lower half, the odd one behind it in the upper half.
   xvbf16ger2pp adds the two products of every element to a float32.  Inputs are rounded to bfloat16
   to nearest even, subnormal numbers like any others. */
#ifndef EC_BFLOAT16_H
#define EC_BFLOAT16_H

typedef ec_f32_sums ec_bf16_sums; /* and all but the products */
#define ec_bf16_init ec_f32_init
#define ec_bf16_read ec_f32_read
#define ec_bf16_save ec_f32_save
#define ec_bf16_load ec_f32_load

EC_INLINE void ec_bf16_operands(ec_mma_operands *loaded, const unsigned char *a, const unsigned char *b, int mr,
                             int nv)
{
    EC_UNROLL
    for (int p = 0; p < mr / 4; p++)
        loaded->x[p] = vec_xl(0, a + 16 * p);
    EC_UNROLL
    for (int j = 0; j < nv; j++)
        loaded->y[j] = vec_xl(0, b + j * EC_VL * 4);
}

EC_INLINE void ec_bf16_add(ec_bf16_sums *tile, ec_mma_operands *loaded, int mr, int nv)
{
#define EC_ADD(i) __builtin_mma_xvbf16ger2pp(&tile->acc[i], loaded->x[(i) / nv], loaded->y[(i) % nv])
    EC_EACH_ACC(mr / 4 * nv, EC_ADD);
#undef EC_ADD
    EC_IN_ORDER();
}

/* Operands are loaded some steps ahead, as in ec_f32_mac. */
EC_INLINE void ec_bf16_mac(ec_bf16_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                           const void *b, int depth, int mr, int nv)
{
    const int nr = nv * EC_VL * 4; /* bytes */
    const int stages = EC_MMA_STAGES * (mr / 4 + nv) <= 28 ? EC_MMA_STAGES : EC_MMA_STAGES - 1;
    const int alone = depth < 2 * stages - 1 ? depth : (depth - (stages - 1)) % stages;
    const unsigned char *x = a, *w = b;
    ec_mma_operands loaded[EC_MMA_STAGES];
    (void)a_row; /* packed */
    EC_NO_UNROLL
    for (int k = 0; k < alone; k++, x += a_k, w += nr) {
        ec_bf16_operands(&loaded[0], x, w, mr, nv);
        ec_bf16_add(tile, &loaded[0], mr, nv);
    }
    if (alone == depth)
        return;
    EC_UNROLL
    for (int i = 0; i < stages - 1; i++)
        ec_bf16_operands(&loaded[i], x + i * a_k, w + i * nr, mr, nv);
    EC_NO_UNROLL
    for (int k = depth - alone; k >= stages; k -= stages, x += stages * a_k, w += stages * nr) {
        EC_UNROLL
        for (int i = 0; i < stages; i++) {
            const int next = i + stages - 1;
            ec_bf16_operands(&loaded[next % stages], x + next * a_k, w + next * nr, mr, nv);
            ec_bf16_add(tile, &loaded[i], mr, nv);
        }
    }
    EC_UNROLL
    for (int i = 0; i < stages - 1; i++) {
        ec_bf16_operands(&loaded[i], x + i * a_k, w + i * nr, mr, nv);
        ec_bf16_add(tile, &loaded[i], mr, nv);
    }
}

/* The pairs of two channels of four pixels. */
EC_INLINE ec_vec ec_pairs_of(ec_vec even, ec_vec odd)
{
    const ec_vec_u32 low = vec_sr(ec_round_as(even, EC_F16, 0), vec_splats(16u));
    const ec_vec_u32 high = ec_round_as(odd, EC_F16, 0); /* whatever results are rounded by */
    return (ec_vec)vec_or(low, vec_and(high, vec_splats(0xffff0000u)));
}

#include "ec_bf16_pack.h"

#endif

/* The micro-kernel bf16_sme: outer products of pairs of bfloat16 by SME, sums of float32 in ZA.  Included
   after ec_isa_sme*.h.

   A word holds a pair: an even channel in its lower half, the odd one behind it in the upper half.  bfmopa
   rounds the sum of the two products to odd before it adds, and takes subnormal numbers as zero. */
#ifndef EC_BFLOAT16_H
#define EC_BFLOAT16_H

#include "ec_sme_jobs.h"

#define EC_PACKS_PAIRS /* ec_bf16_pack is there */
#define EC_SME_ADD_BF16(za, rows, columns, x, y)                                                   \
    "bfmopa " za ".s, " rows "/m, " columns "/m, " x ".h, " y ".h\n\t"

typedef ec_sme_jobs ec_bf16_sme_jobs;

EC_SHARED void ec_bf16_sme_play(ec_sme_jobs *jobs) { EC_SME_PLAY(jobs, EC_SME_ADD_BF16); }

EC_INLINE void ec_bf16_sme_dot(ec_sme_jobs *jobs, const ec_dot_job *job)
{
    if (ec_sme_is_full(jobs, job))
        ec_bf16_sme_play(jobs);
}

#define ec_bf16_sme_enter ec_sme_enter
EC_INLINE void ec_bf16_sme_leave(ec_sme_jobs *jobs)
{
    ec_bf16_sme_play(jobs);
    ec_sme_leave();
}

EC_INLINE ec_vec ec_bf16_sme_vector(const void *words) { return ec_load(words); }

/* The pairs of two channels of four pixels. */
EC_INLINE uint32x4_t ec_pairs_of(ec_vec even, ec_vec odd)
{
    /* whatever results are rounded by */
    return vsriq_n_u32(ec_round_as(odd, EC_F16, 0), ec_round_as(even, EC_F16, 0), 16);
}

/* Columns [lo, hi) of a row of the panel at `to`, `stride` elements apart in the input: the channels
   [0, n) from number `at` on, every EC_VL of them `next - at` from those before.  Columns whose
   numbers differ by `phases` are neighbours in the panel, `wide` of them. */
EC_INLINE void ec_bf16_pack(uint32_t *to, const void *in, int fmt, ptrdiff_t at, ptrdiff_t next,
                             ptrdiff_t stride, int n, int pairs, int lo, int hi, int phases, int wide)
{
    const ptrdiff_t apart = (ptrdiff_t)phases * wide;
    for (int c = 0; c < n; c += EC_VL) {
        const int few = ec_min_i(EC_VL, n - c);
        const ptrdiff_t from = at + c / EC_VL * (next - at);
        for (int phase = 0; phase < phases; phase++) {
            const int end = ec_ceil_div(hi - phase, phases);
            for (int i = ec_max_i(ec_ceil_div(lo - phase, phases), 0); i < end; i += EC_VL) {
                const int count = ec_min_i(EC_VL, end - i);
                uint32_t *const put = to + c / 2 * apart + (ptrdiff_t)phase * wide + i;
                ec_vec v[EC_VL];
                EC_UNROLL
                for (int j = 0; j < EC_VL; j++) {
                    const int column = (i + ec_min_i(j, count - 1)) * phases + phase;
                    v[j] = ec_load_as_n(ec_at(in, from + (column - lo) * stride, fmt), few, fmt);
                }
                ec_transpose(v);
                for (int pair = 0; pair < 2 && c / 2 + pair < pairs; pair++) {
                    const ec_vec words = vreinterpretq_f32_u32(ec_pairs_of(v[2 * pair], v[2 * pair + 1]));
                    ec_store_n((float *)(void *)(put + pair * apart), words, count);
                }
            }
        }
    }
}

#endif

/* The micro-kernel bf16_sme: outer products of pairs of bfloat16 by SME, sums of float32 in ZA.  Included
   after ec_isa_sme*.h.

   A word holds a pair: an even channel in its lower half, the odd one behind it in the upper half.  bfmopa
   rounds the sum of the two products to odd before it adds, and takes subnormal numbers as zero. */
#ifndef EC_BFLOAT16_H
#define EC_BFLOAT16_H

#include "ec_sme_jobs.h"

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
EC_INLINE ec_vec ec_pairs_of(ec_vec even, ec_vec odd)
{
    /* whatever results are rounded by */
    return vreinterpretq_f32_u32(vsriq_n_u32(ec_round_as(odd, EC_F16, 0), ec_round_as(even, EC_F16, 0), 16));
}

#include "ec_bf16_pack.h"

#endif

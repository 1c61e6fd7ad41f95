/* The micro-kernel s8_sme: outer products of int8 by SME, four channels of a word at a time, summed in
   int32 in ZA.  Included after ec_isa_sme*.h. */
#ifndef EC_INT8_SME_H
#define EC_INT8_SME_H

#include "ec_int8_neon_sums.h"
#include "ec_sme_jobs.h"

#define EC_SME_ADD_S8(za, rows, columns, x, y)                                                     \
    "smopa " za ".s, " rows "/m, " columns "/m, " x ".b, " y ".b\n\t"

typedef ec_sme_jobs ec_s8_sme_jobs;

EC_SHARED void ec_s8_sme_play(ec_sme_jobs *jobs) { EC_SME_PLAY(jobs, EC_SME_ADD_S8); }

EC_INLINE void ec_s8_sme_dot(ec_sme_jobs *jobs, const ec_dot_job *job)
{
    if (ec_sme_is_full(jobs, job))
        ec_s8_sme_play(jobs);
}

#define ec_s8_sme_enter ec_sme_enter
EC_INLINE void ec_s8_sme_leave(ec_sme_jobs *jobs)
{
    ec_s8_sme_play(jobs);
    ec_sme_leave();
}

EC_INLINE ec_vec ec_s8_sme_vector(const void *words) { return ec_ireal(ec_iload(words)); }

/* Sixteen channels of four pixels, `pixel` bytes from one to the next: words of theirs side by side, and
   the next four channels of all `columns` words behind. */
#define EC_PACKS_SIXTEENS
EC_INLINE void ec_s8_pack_sixteen(uint32_t *to, ptrdiff_t columns, const int8_t *in, ptrdiff_t pixel)
{
    ec_vec v[4];
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        v[i] = vreinterpretq_f32_s8(vld1q_s8(in + i * pixel));
    ec_transpose(v);
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        vst1q_u32(to + i * columns, vreinterpretq_u32_f32(v[i]));
}

#endif

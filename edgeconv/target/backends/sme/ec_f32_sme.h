/* The micro-kernel f32_sme: outer products of float32 by SME, sums in ZA.  Included after ec_isa_sme*.h. */
#ifndef EC_F32_SME_H
#define EC_F32_SME_H

#include "ec_sme_jobs.h"

#define EC_SME_ADD_F32(za, rows, columns, x, y)                                                    \
    "fmopa " za ".s, " rows "/m, " columns "/m, " x ".s, " y ".s\n\t"

typedef ec_sme_jobs ec_f32_sme_jobs;

EC_SHARED void ec_f32_sme_play(ec_sme_jobs *jobs) { EC_SME_PLAY(jobs, EC_SME_ADD_F32); }

EC_INLINE void ec_f32_sme_dot(ec_sme_jobs *jobs, const ec_dot_job *job)
{
    if (ec_sme_is_full(jobs, job))
        ec_f32_sme_play(jobs);
}

#define ec_f32_sme_enter ec_sme_enter
EC_INLINE void ec_f32_sme_leave(ec_sme_jobs *jobs)
{
    ec_f32_sme_play(jobs);
    ec_sme_leave();
}

EC_INLINE ec_vec ec_f32_sme_vector(const void *words) { return ec_load(words); }

#endif

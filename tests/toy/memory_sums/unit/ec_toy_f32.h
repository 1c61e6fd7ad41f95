/* The micro-kernel f32_toy, whose sums are memory. */
#ifndef EC_TOY_F32_H
#define EC_TOY_F32_H

#include "ec_toy_unit.h"

typedef ec_toy_state ec_f32_toy_jobs;
#define ec_f32_toy_enter ec_toy_enter
#define ec_f32_toy_leave ec_toy_leave

EC_INLINE ec_vec ec_f32_toy_vector(const void *words) { return ec_load(words); }

EC_INLINE void ec_f32_toy_dot(ec_toy_state *jobs, const ec_dot_job *job)
{
    const int nr = job->nv * EC_VL;
    const float *b = job->b;
    ec_toy_begin(jobs, job);
    for (int k = 0; k < job->depth; k++, b += nr)
        for (int i = 0; i < job->mr * nr; i++) {
            const char *const x = (const char *)job->a + i / nr * job->a_row + k * job->a_k;
            const float sum = ec_from_bits(ec_toy.sums[i]) + *(const float *)(const void *)x * b[i % nr];
            ec_toy.sums[i] = ec_bits(sum);
        }
    ec_toy_end(job);
}

#endif

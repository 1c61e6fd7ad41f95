/* The micro-kernel s16_toy, whose sums are memory.  Included behind vectors of integers. */
#ifndef EC_TOY_S16_H
#define EC_TOY_S16_H

#include "ec_toy_integers.h"

typedef ec_toy_state ec_s16_toy_jobs;
#define ec_s16_toy_enter ec_toy_enter
#define ec_s16_toy_leave ec_toy_leave

EC_INLINE ec_vec ec_s16_toy_vector(const void *words) { return ec_ireal(ec_iload(words)); }

EC_INLINE void ec_s16_toy_dot(ec_toy_state *jobs, const ec_dot_job *job)
{
    const int nr = job->nv * EC_VL;
    const int16_t *b = job->b;
    ec_toy_begin(jobs, job);
    for (int k = 0; k < job->depth; k++, b += 2 * nr)
        for (int i = 0; i < job->mr * nr; i++) {
            int16_t x[2];
            memcpy(x, (const char *)job->a + i / nr * job->a_row + k * job->a_k, sizeof x);
            for (int e = 0; e < 2; e++)
                ec_toy.sums[i] += (uint32_t)(x[e] * b[i % nr * 2 + e]);
        }
    ec_toy_end(job);
}

#endif

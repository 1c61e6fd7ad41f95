/* The micro-kernel s8_toy, whose sums are memory: steps of channels come in multiples of EC_TOY_MULTIPLE, and
   bytes of the rows are EC_TOY_SHIFT more.  Included behind vectors of integers. */
#ifndef EC_TOY_S8_H
#define EC_TOY_S8_H

#include "ec_toy_integers.h"

typedef ec_toy_state ec_s8_toy_jobs;
#define ec_s8_toy_enter ec_toy_enter
#define ec_s8_toy_leave ec_toy_leave

EC_INLINE ec_vec ec_s8_toy_vector(const void *words) { return ec_ireal(ec_iload(words)); }

EC_INLINE void ec_s8_toy_dot(ec_toy_state *jobs, const ec_dot_job *job)
{
    const int nr = job->nv * EC_VL;
    const int8_t *b = job->b;
    ec_toy_begin(jobs, job);
    ec_toy_must(job->depth % EC_TOY_MULTIPLE == 0);
    for (int k = 0; k < job->depth; k++, b += 4 * nr)
        for (int i = 0; i < job->mr * nr; i++) {
            const uint8_t *const x = (const uint8_t *)job->a + i / nr * job->a_row + k * job->a_k;
            for (int e = 0; e < 4; e++)
                ec_toy.sums[i] += (uint32_t)((EC_TOY_SHIFT ? x[e] : (int8_t)x[e]) * b[i % nr * 4 + e]);
        }
    ec_toy_end(job);
}

#endif

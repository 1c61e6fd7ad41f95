/* The micro-kernel bf16_toy, whose sums are memory, beside what POWER10 packs pairs with: steps of channels
   come in multiples of three. */
#ifndef EC_TOY_BF16_H
#define EC_TOY_BF16_H

#include "ec_bfloat16_power10.h"
#include "ec_toy_unit.h"

typedef ec_toy_state ec_bf16_toy_jobs;
#define ec_bf16_toy_enter ec_toy_enter
#define ec_bf16_toy_leave ec_toy_leave

EC_INLINE ec_vec ec_bf16_toy_vector(const void *words) { return ec_load(words); }

EC_INLINE float ec_toy_product(uint32_t x, uint32_t w)
{
    return ec_from_bits(x << 16) * ec_from_bits(w << 16) +
           ec_from_bits(x & 0xffff0000u) * ec_from_bits(w & 0xffff0000u);
}

EC_INLINE void ec_bf16_toy_dot(ec_toy_state *jobs, const ec_dot_job *job)
{
    const int nr = job->nv * EC_VL;
    const uint32_t *b = job->b;
    ec_toy_begin(jobs, job);
    ec_toy_must(job->depth % 3 == 0);
    for (int k = 0; k < job->depth; k++, b += nr)
        for (int i = 0; i < job->mr * nr; i++) {
            const char *const x = (const char *)job->a + i / nr * job->a_row + k * job->a_k;
            const float sum = ec_from_bits(ec_toy.sums[i]);
            ec_toy.sums[i] = ec_bits(sum + ec_toy_product(*(const uint32_t *)(const void *)x, b[i % nr]));
        }
    ec_toy_end(job);
}

#endif

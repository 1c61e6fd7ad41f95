/* Fully connected layers of int8 as those of ec_int8_dot.h, whose filters are joined in pairs as in ec_int8_joined.h: of
   every four come k-block by k-block two numbers of 16 bits of the first pair, 0 and 2, then 1 and 3, and those of the
   second.  Needs ec_int8_dot.h. */
#ifndef EC_INT8_DOT_JOINED_H
#define EC_INT8_DOT_JOINED_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_dot_joined.h"
#endif
#ifdef EC_INT8_THUMB_1
#include "ec_int8_thumb_1_dot.h"
#endif

/* The sums of products of n numbers with four filters: EC_INT8_THUMB_1 takes whole k-blocks. */
EC_INLINE void ec_int8_dot_joined_sums(const int8_t *in, int n, const int8_t *filters, int32_t sums[4])
{
    for (int i = 0; i < 4; i++)
        sums[i] = 0;
#ifdef EC_INT8_THUMB_1
    const int whole = n / 4 * 4;
    if (whole)
        ec_int8_dot_joined_thumb_1(in, in + whole, filters, sums);
    for (int i = 0; i < 4; i += 2)
        sums[i + 1] = (int32_t)((uint32_t)sums[i + 1] - (uint32_t)sums[i]) >> 8;
#else
    const int whole = 0;
#endif
    for (int k = whole; k < n; k++)
        for (int i = 0; i < 4; i += 2) {
            const int8_t *const both = filters + k / 4 * 16 + 4 * i + k % 2 * 4 + k / 2 % 2 * 2;
            sums[i] += in[k] * both[0];
            sums[i + 1] += in[k] * (both[1] + (both[0] < 0));
        }
}

EC_INLINE void ec_int8_dot_joined_c(ec_int8_result result, const int8_t *in, int n, const int8_t *filters,
                                    const int32_t *channels, int blocks, int8_t *out)
{
    const int k_blocks = ec_ceil_div(n, 4);
    for (int j = 0; j < blocks; j++, filters += 16 * k_blocks, channels += 4 * EC_INT8_WORDS) {
        int32_t sums[4];
        ec_int8_dot_joined_sums(in, n, filters, sums);
        for (int i = 0; i < 4; i++)
            out[4 * j + i] = ec_int8_of_sum(result, sums[i] + channels[i], channels + 4 + i, 4);
    }
}

EC_INLINE void ec_int8_dot_joined(ec_int8_result result, const int8_t *in, int n, const int8_t *filters,
                                  const int32_t *channels, int blocks, int8_t *out)
{
#ifdef EC_INT8_DSP
    if (n % 4 == 0 && EC_INT8_IN_ASSEMBLY(result)) {
        const int whole = EC_INT8_DOT_JOINED_K_BLOCKS, left_out = (whole - n / 4 % whole) % whole;
        const ec_int8_dot_joined_job job = {
            .in = in, .in_end = in + n, .channels = channels, .channels_end = channels + 4 * EC_INT8_WORDS * blocks,
            .offset = EC_INT8_OFFSET(result), .beside = EC_INT8_BESIDE_OFFSET(result), .skip = left_out * EC_INT8_DOT_JOINED_BYTES,
            .out = out, .left_out = 16 * left_out, .filters = filters};
        ec_int8_dot_joined_dsp(&job);
        ec_int8_bound(result, out, 4 * blocks);
        return;
    }
#endif
    ec_int8_dot_joined_c(result, in, n, filters, channels, blocks, out);
}

/* As ec_int8_dense. */
EC_SHARED void ec_int8_dense_joined(const ec_int8_result *result, const int8_t *in, int in_c, const int8_t *filters,
                                    const int32_t *channels, int out_c, int8_t *out, int rows)
{
    ec_int8_dense_by(ec_int8_dot_joined, result, in, in_c, filters, channels, out_c, out, rows);
}

#endif

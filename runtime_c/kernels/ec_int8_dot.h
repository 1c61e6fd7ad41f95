/* Fully connected layers of int8: four filters at a time, without a workspace.

   Filters lie in blocks of four, k-block by k-block: four numbers of each.  channels: of every four filters the starts,
   then their scalings (ec_int8_scaling.h).  Those beyond the last are filled with zeros.  For Armv7E-M the
   length is a multiple of four, or plain C computes it.

   Needs ec_int8_channels.h. */
#ifndef EC_INT8_DOT_H
#define EC_INT8_DOT_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_dot.h"
#endif

/* `blocks` of filters: out[filter] of one row of `n` numbers. */
EC_INLINE void ec_int8_dot_c(ec_int8_result result, const int8_t *in, int n, const int8_t *filters,
                             const int32_t *channels, int blocks, int8_t *out)
{
    const int k_blocks = ec_ceil_div(n, 4);
    for (int j = 0; j < blocks; j++, filters += 16 * k_blocks, channels += 4 * EC_INT8_WORDS) {
        int32_t sums[4] = {channels[0], channels[1], channels[2], channels[3]};
        ec_int8_add_products(in, n, filters, sums);
        for (int i = 0; i < 4; i++)
            out[4 * j + i] = ec_int8_of_sum(result, sums[i], channels + 4 + i, 4);
    }
}

EC_INLINE void ec_int8_dot(ec_int8_result result, const int8_t *in, int n, const int8_t *filters,
                           const int32_t *channels, int blocks, int8_t *out)
{
#ifdef EC_INT8_DSP
    if (n % 4 == 0 && EC_INT8_IN_ASSEMBLY(result)) {
        const int left_out = (EC_INT8_DOT_K_BLOCKS - n / 4 % EC_INT8_DOT_K_BLOCKS) % EC_INT8_DOT_K_BLOCKS;
        const ec_int8_dot_job job = {
            .in = in, .in_end = in + n, .channels = channels, .channels_end = channels + 4 * EC_INT8_WORDS * blocks,
            .offset = EC_INT8_OFFSET(result), .right = result.right, .skip = left_out * EC_INT8_DOT_BYTES, .out = out,
            .filters = filters};
        ec_int8_dot_dsp(&job);
        ec_int8_bound(result, out, 4 * blocks);
        return;
    }
#endif
    ec_int8_dot_c(result, in, n, filters, channels, blocks, out);
}

/* `blocks` of filters under one row. */
typedef void ec_int8_dots(ec_int8_result result, const int8_t *in, int n, const int8_t *filters, const int32_t *channels,
                          int blocks, int8_t *out);

/* `rows` of in_c numbers to as many of out_c. */
EC_INLINE void ec_int8_dense_by(ec_int8_dots *dot, const ec_int8_result *result, const int8_t *in, int in_c,
                                const int8_t *filters, const int32_t *channels, int out_c, int8_t *out, int rows)
{
    const int blocks = out_c / 4, rest = out_c % 4;
    for (int row = 0; row < rows; row++, in += in_c, out += out_c) {
        if (blocks)
            dot(*result, in, in_c, filters, channels, blocks, out);
        if (rest) {
            int8_t last[4];
            dot(*result, in, in_c, filters + blocks * ec_ceil_div(in_c, 4) * 16, channels + 4 * EC_INT8_WORDS * blocks, 1,
                last);
            for (int i = 0; i < rest; i++)
                out[4 * blocks + i] = last[i];
        }
    }
}
EC_SHARED void ec_int8_dense(const ec_int8_result *result, const int8_t *in, int in_c, const int8_t *filters,
                             const int32_t *channels, int out_c, int8_t *out, int rows)
{
    ec_int8_dense_by(ec_int8_dot, result, in, in_c, filters, channels, out_c, out, rows);
}

#endif

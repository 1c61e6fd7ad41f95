/* Fully connected layers of int8 whose filters have zero points: as ec_int8_dense, with these behind the words of all
   channels, negative.  Needs ec_int8_sums.h and ec_zero_points.h. */
#ifndef EC_INT8_DENSE_AROUND_H
#define EC_INT8_DENSE_AROUND_H

/* `rows` of in_c numbers to as many of out_c. */
EC_SHARED void ec_int8_dense_around(const ec_int8_result *result, const int8_t *in, int in_c, const int8_t *filters,
                                    const int32_t *channels, int out_c, int8_t *out, int rows)
{
    const int blocks = ec_ceil_div(out_c, 4), four = 16 * ec_ceil_div(in_c, 4);
    const int32_t *const by_sum = channels + 4 * EC_INT8_WORDS * blocks;
    for (int row = 0; row < rows; row++, in += in_c, out += out_c) {
        const int32_t sum = ec_sum_of_inputs(in, in_c);
        for (int j = 0; j < blocks; j++) {
            const int32_t *const own = channels + 4 * EC_INT8_WORDS * j;
            int32_t sums[4];
            ec_int8_dot_sums(in, in_c, filters + (ptrdiff_t)four * j, sums);
            for (int i = 0; i < ec_min_i(4, out_c - 4 * j); i++)
                out[4 * j + i] = ec_int8_of_sum(*result, own[i] + sums[i] + by_sum[4 * j + i] * sum, own + 4 + i, 4);
        }
    }
}

#endif

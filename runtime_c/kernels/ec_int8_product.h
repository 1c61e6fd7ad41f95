/* Products of two int8 tensors that are both computed at run time, on cores without vectors: a stack of

       out[m][n] = sum over k of (a[m][k] - zero of a) (b[k][n] - zero of b)

   b is packed to the workspace as the filters of a 1 x 1 convolution are, and its zero point lies where those of filters
   do; then rows of a are pixels.  Needs ec_nest.h and ec_int8_tile.h or ec_int8_1x4.h. */
#ifndef EC_INT8_PRODUCT_H
#define EC_INT8_PRODUCT_H

/* together, block: columns of b that lie side by side, and how many numbers of each.  behind: numbers behind those of a
   column, its zero point, by which sums of rows are multiplied in a panel; by_sum: the zero point, negative, where that is
   done apart.  words: of a column in `channels`, of which the first is what its sum starts with: `start`, less `zero_a` times the
   sum of the column's numbers less zero_b. */
typedef struct ec_int8_operand {
    int k, n, together, block, behind, zero_a, zero_b, words;
    ptrdiff_t row, column; /* from a number of b to the next of its column, and of its row */
    int32_t start, by_sum;
    int32_t scaling[3]; /* the other words */
} ec_int8_operand;

/* Column `b` of an operand, from `to` on, in blocks `apart` bytes from one to the next; the sum of its numbers. */
EC_INLINE int32_t ec_int8_pack_column(const ec_int8_operand *as, const int8_t *b, int8_t *to, ptrdiff_t apart)
{
    const int k_blocks = as->block / 4, k = as->k;
    int32_t sum = 0;
    for (int q = 0; q < ec_ceil_div(ec_ceil_div(k + as->behind, 4), k_blocks) * k_blocks; q++) {
        int8_t *const four = to + q / k_blocks * apart + q % k_blocks * 4;
        if (4 * q + 4 <= k) {
            const int8_t w = b[0], x = b[as->row], y = b[2 * as->row], z = b[3 * as->row];
            four[0] = w, four[1] = x, four[2] = y, four[3] = z;
            sum += w + x + y + z;
            b += 4 * as->row;
            continue;
        }
        for (int i = 0; i < 4; i++) {
            const int at = 4 * q + i;
            four[i] = (int8_t)(at < k + as->behind ? as->zero_b : 0);
            if (at < k)
                four[i] = *b, sum += *b, b += as->row;
        }
    }
    return sum;
}

/* All of an operand: filters, and the words of their channels. */
EC_SHARED void ec_int8_pack_operand(const ec_int8_operand *as, const int8_t *b, int8_t *filters, int32_t *channels)
{
    const int numbers = ec_ceil_div(as->k + as->behind, as->block) * as->block, whole = ec_ceil_div(as->n, as->together);
    for (int j = 0; j < whole; j++, channels += as->together * as->words)
        for (int i = 0; i < as->together; i++, filters += as->block) {
            int32_t sum = as->zero_b * as->k;
            if (j * as->together + i < as->n)
                sum = ec_int8_pack_column(as, b, filters, (ptrdiff_t)as->together * as->block);
            channels[i] = as->start - as->zero_a * (sum - as->zero_b * as->k);
            for (int w = 1; w < as->words; w++)
                channels[w * as->together + i] = as->scaling[w - 1];
            b += as->column;
            if (i == as->together - 1)
                filters += (ptrdiff_t)(numbers - as->block) * as->together;
        }
    for (int i = 0; as->by_sum && i < whole * as->together; i++)
        channels[i] = as->by_sum;
}

#endif

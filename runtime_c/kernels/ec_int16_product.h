/* Products of two tensors of int16, or of int16 and int8, that are both computed at run time: a stack of

       out[m][n] = sum over k of (a[m][k] - zero of a) (b[k][n] - zero of b)

   summed in 64 bits and rounded once.  Columns of b are packed to the workspace as int16, with their sums.
   Needs ec_nest.h and ec_int16_scaling.h. */
#ifndef EC_INT16_PRODUCT_H
#define EC_INT16_PRODUCT_H

#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#include <arm_acle.h>
#define EC_INT16_SMLALD
#endif
enum { EC_INT16_COLUMNS = 4 }; /* that a row is multiplied by at a time */

/* a: rows of k numbers side by side, `a_row` from one to the next.  b: from a number to the next of its column, and of its
   row.  numbers: k rounded up to pairs.  words: of ec_int16_of_sum.  least, most: all other sums become these first. */
typedef struct ec_int16_product {
    int m, k, n, numbers, a_bytes, b_bytes;
    int32_t zero_a, zero_b;
    ptrdiff_t a_row, b_row, b_column, out_row;
    int64_t least, most;
    int32_t words[4];
    ec_int16_result result;
} ec_int16_product;

/* A sum of 64 bits as ec_int16_of_sum has one of 32. */
EC_INLINE int32_t ec_int16_of_long(const ec_int16_product *by, int64_t sum)
{
    const int64_t between = sum < by->least ? by->least : sum > by->most ? by->most : sum;
    const int64_t low = (uint32_t)between, high = between >> 32;
    const int32_t *const words = by->words;
    const uint64_t multiplier = ((uint64_t)(uint32_t)words[1] << 32) + (uint64_t)(int64_t)words[0];
    const uint64_t offset = (uint64_t)(uint32_t)words[3] << 32 | (uint32_t)words[2];
    const uint64_t p = (uint64_t)high * multiplier + (uint64_t)(low * words[1]) + (uint64_t)(low * words[0] >> 32);
    return ec_int16_rounded(by->result, (int64_t)(p + offset));
}

/* Columns of b, each with a 0 behind an odd number of them, and what zero points add to the sums of each but for those
   of the rows. */
EC_SHARED void ec_int16_pack_columns(const ec_int16_product *by, const void *b, ptrdiff_t first, int16_t *packed,
                                     int64_t *starts)
{
    for (int j = 0; j < by->n; j++, packed += by->numbers) {
        const ptrdiff_t column = first + j * by->b_column;
        int64_t sum = 0;
        for (int i = 0; i < by->numbers; i++) {
            packed[i] = (int16_t)(i < by->k ? ec_int16_get(b, by->b_bytes, column + i * by->b_row) : 0);
            sum += packed[i];
        }
        starts[j] = -(int64_t)by->zero_a * (sum - (int64_t)by->k * by->zero_b);
    }
}

/* Sums of a row of so many numbers, an even one, by four columns. */
EC_INLINE void ec_int16_row_by_columns(const int16_t *row, const int16_t *columns, int numbers, int64_t *sums)
{
    int64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    const int16_t *const c0 = columns, *const c1 = c0 + numbers, *const c2 = c1 + numbers, *const c3 = c2 + numbers;
    for (int k = 0; k < numbers; k += 2) {
#ifdef EC_INT16_SMLALD
        int32_t x, w;
        EC_COPY(&x, row + k, sizeof x);
        EC_COPY(&w, c0 + k, sizeof w);
        s0 = __smlald(x, w, s0);
        EC_COPY(&w, c1 + k, sizeof w);
        s1 = __smlald(x, w, s1);
        EC_COPY(&w, c2 + k, sizeof w);
        s2 = __smlald(x, w, s2);
        EC_COPY(&w, c3 + k, sizeof w);
        s3 = __smlald(x, w, s3);
#else
        for (int i = k; i < k + 2; i++) {
            s0 += (int32_t)row[i] * c0[i], s1 += (int32_t)row[i] * c1[i];
            s2 += (int32_t)row[i] * c2[i], s3 += (int32_t)row[i] * c3[i];
        }
#endif
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

/* A row as pairs of int16, and its sum times the zero point of b, negative. */
EC_INLINE int64_t ec_int16_copy_row(const ec_int16_product *by, const void *a, ptrdiff_t from, int16_t *row)
{
    int64_t sum = 0;
    for (int i = 0; i < by->numbers; i++) {
        row[i] = (int16_t)(i < by->k ? ec_int16_get(a, by->a_bytes, from + i) : 0);
        sum += row[i];
    }
    return -sum * by->zero_b;
}

/* One product.  packed, starts: of ec_int16_pack_columns, as many as whole fours of columns, the last ones of any
   numbers; row: room for a row. */
EC_INLINE void ec_int16_multiply(const ec_int16_product *by, const void *a, ptrdiff_t first, const int16_t *packed,
                                 const int64_t *starts, int16_t *row, void *out, ptrdiff_t to)
{
    for (int m = 0; m < by->m; m++) {
        const int64_t of_row = ec_int16_copy_row(by, a, first + m * by->a_row, row);
        for (int n = 0; n < by->n; n += EC_INT16_COLUMNS) {
            int64_t sums[EC_INT16_COLUMNS];
            ec_int16_row_by_columns(row, packed + (ptrdiff_t)n * by->numbers, by->numbers, sums);
            for (int j = 0; j < ec_min_i(EC_INT16_COLUMNS, by->n - n); j++)
                ec_int16_put(out, by->result.bytes, to + m * by->out_row + n + j,
                             ec_int16_of_long(by, sums[j] + starts[n + j] + of_row));
        }
    }
}

#endif

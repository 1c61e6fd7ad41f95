/* Contiguous runs of floats from one tensor into another. */
#ifndef EC_COPY_H
#define EC_COPY_H

/* `rows` runs of n floats; from one run to the next in_row floats further in, out_row out. */
EC_INLINE void ec_copy_rows(const float *in, ptrdiff_t in_row, float *out, ptrdiff_t out_row,
                            int rows, int n)
{
    for (int r = 0; r < rows; r++)
        memcpy(out + r * out_row, in + r * in_row, (size_t)n * sizeof *in);
}

#endif

/* Matrices transposed in registers, EC_VL x EC_VL at a time, so that reads and writes both stream. */
#ifndef EC_TRANSPOSE_H
#define EC_TRANSPOSE_H

/* At most EC_VL rows and columns: out[j * out_row + i] = in[i * in_row + j], zero for the rows up to
   `padded` that the input does not have. */
EC_INLINE void ec_transpose_tile(const float *in, ptrdiff_t in_row, int rows, int cols, float *out,
                                 ptrdiff_t out_row, int padded)
{
    ec_vec v[EC_VL];
    EC_UNROLL
    for (int k = 0; k < EC_VL; k++) {
        v[k] = ec_set1(0.0f);
        if (k < rows)
            v[k] = cols == EC_VL ? ec_load(in + k * in_row) : ec_load_n(in + k * in_row, cols);
    }
    ec_transpose(v);
    EC_UNROLL
    for (int k = 0; k < EC_VL; k++) {
        if (k >= cols)
            continue;
        if (padded == EC_VL)
            ec_store(out + k * out_row, v[k]);
        else
            ec_store_n(out + k * out_row, v[k], padded);
    }
}

enum { EC_TRANSPOSE_ROWS = 64 }; /* rows at a time, so that their cache lines are used whole */

/* A matrix of any size; `padded` >= rows. */
EC_SHARED void ec_transpose_matrix(const float *in, ptrdiff_t in_row, int rows, int cols,
                                   float *out, ptrdiff_t out_row, int padded)
{
    for (int i0 = 0; i0 < padded; i0 += EC_TRANSPOSE_ROWS)
        for (int j = 0; j < cols; j += EC_VL)
            for (int i = i0; i < ec_min_i(i0 + EC_TRANSPOSE_ROWS, padded); i += EC_VL) {
                const float *from = in + i * in_row + j;
                float *to = out + j * out_row + i;
                if (i + EC_VL <= rows && j + EC_VL <= cols)
                    ec_transpose_tile(from, in_row, EC_VL, EC_VL, to, out_row, EC_VL);
                else
                    ec_transpose_tile(from, in_row, ec_min_i(EC_VL, rows - i),
                                      ec_min_i(EC_VL, cols - j), to, out_row,
                                      ec_min_i(EC_VL, padded - i));
            }
}

#endif

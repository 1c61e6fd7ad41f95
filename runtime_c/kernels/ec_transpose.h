/* Matrices transposed in registers, EC_VL x EC_VL at a time, so that reads and writes both stream.
   Elements are stored as fmt in both.  Needs ec_lanes.h. */
#ifndef EC_TRANSPOSE_H
#define EC_TRANSPOSE_H

/* At most EC_VL rows and columns: out[j * out_row + i] = in[i * in_row + j], zero for the rows up to
   `padded` that the input does not have. */
EC_INLINE void ec_transpose_tile(const void *in, ptrdiff_t in_row, int rows, int cols, void *out,
                                 ptrdiff_t out_row, int padded, int fmt)
{
    ec_vec v[EC_VL];
    EC_UNROLL
    for (int k = 0; k < EC_VL; k++) {
        v[k] = ec_set1(0.0f);
        if (k < rows)
            v[k] = ec_read_as(in, k * in_row, cols, fmt);
    }
    ec_transpose(v);
    EC_UNROLL
    for (int k = 0; k < EC_VL; k++) {
        if (k >= cols)
            continue;
        ec_write_as(out, k * out_row, v[k], padded, fmt);
    }
}

enum { EC_TRANSPOSE_ROWS = 64 }; /* rows at a time, so that their cache lines are used whole */

/* A matrix of any size; `padded` >= rows. */
EC_INLINE void ec_transpose_any(const void *in, ptrdiff_t in_row, int rows, int cols, void *out,
                                ptrdiff_t out_row, int padded, int fmt)
{
    for (int i0 = 0; i0 < padded; i0 += EC_TRANSPOSE_ROWS)
        for (int j = 0; j < cols; j += EC_VL)
            for (int i = i0; i < ec_min_i(i0 + EC_TRANSPOSE_ROWS, padded); i += EC_VL) {
                const void *from = ec_at(in, i * in_row + j, fmt);
                void *to = ec_place(out, j * out_row + i, fmt);
                if (i + EC_VL <= rows && j + EC_VL <= cols)
                    ec_transpose_tile(from, in_row, EC_VL, EC_VL, to, out_row, EC_VL, fmt);
                else
                    ec_transpose_tile(from, in_row, ec_min_i(EC_VL, rows - i),
                                      ec_min_i(EC_VL, cols - j), to, out_row,
                                      ec_min_i(EC_VL, padded - i), fmt);
            }
}

EC_SHARED void ec_transpose_float32(const float *in, ptrdiff_t in_row, int rows, int cols,
                                    float *out, ptrdiff_t out_row, int padded)
{
    ec_transpose_any(in, in_row, rows, cols, out, out_row, padded, EC_F32);
}

/* Of elements of one byte, which move as they are: without vectors that is all there is to do. */
EC_INLINE void ec_transpose_bytes(const int8_t *in, ptrdiff_t in_row, int rows, int cols, int8_t *out,
                                  ptrdiff_t out_row)
{
    for (int j = 0; j < cols; j++)
        for (int i = 0; i < rows; i++)
            out[j * out_row + i] = in[i * in_row + j];
}

/* Transposes a matrix that is stored as fmt; of float32 there is one copy for all callers. */
EC_INLINE void ec_transpose_matrix(const void *in, ptrdiff_t in_row, int rows, int cols, void *out,
                                   ptrdiff_t out_row, int padded, int fmt)
{
    if (fmt == EC_F32)
        ec_transpose_float32((const float *)in, in_row, rows, cols, (float *)out, out_row, padded);
    else if (EC_VL == 1 && EC_STORED_BYTES(fmt) == 1 && padded == rows)
        ec_transpose_bytes((const int8_t *)in, in_row, rows, cols, (int8_t *)out, out_row);
    else
        ec_transpose_any(in, in_row, rows, cols, out, out_row, padded, fmt);
}

#endif

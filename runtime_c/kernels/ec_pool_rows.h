/* Pooling of NCHW: window columns are reduced first, over whole input rows, then the results along
   the row.  Needs ec_pool_op.h. */
#ifndef EC_POOL_ROWS_H
#define EC_POOL_ROWS_H

/* line[i] = reduction of input column i over the rows of the windows that `met` tells. */
EC_INLINE void ec_pool_line(const ec_pool spec, const void *in, float *line, const ec_rows met, int width)
{
    for (int i = 0; i < width; i += EC_VL) {
        const int n = ec_min_i(EC_VL, width - i);
        ec_vec result = ec_pool_start(spec.max);
        for (int kz = met.kz.from; kz < met.kz.to; kz++)
            for (int ky = met.ky.from; ky < met.ky.to; ky++) {
                const ptrdiff_t first = ec_row_in(spec.window, met, kz, ky) * spec.window.in_w + i;
                result = ec_pool_add(spec.max, result, ec_read_as(in, first, n, spec.in_as));
            }
        ec_write(line + i, result, n);
    }
}

/* The output rows [row0, row1) of NCHW, plane by plane.  workspace: the padded line, then for an average
   out_w factors. */
EC_INLINE void ec_pool_rows(const ec_pool spec, const ec_epilogue epilogue, const void *in,
                            const void *residual, void *out, float *workspace, int row0, int row1)
{
    const ec_window window = spec.window;
    const int length = (window.out_w - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1;
    const int width = ec_min_i(window.in_w, length - window.pad_w); /* input columns that any window reaches */
    const ptrdiff_t in_plane = ec_rows_held_in(window) * window.in_w;
    const ptrdiff_t out_plane = ec_rows_held_out(window); /* rows */
    const int rows = row1 - row0;
    float *const factor = workspace + length;

    for (int i = 0; i < length; i++)
        workspace[i] = spec.max ? ec_from_bits(0xff800000u) : 0.0f;
    for (int x = 0; x < window.out_w && !spec.max; x++)
        factor[x] = 1.0f / (float)ec_max_i(ec_pool_count_columns(spec, x), 1);
    for (int i = 0; i < spec.images * window.out_d * rows; i++) {
        const int y = row0 + i % rows, z = i / rows % window.out_d;
        const int plane = i / (rows * window.out_d);
        const ptrdiff_t row = plane * out_plane + ec_row_out(window, z, y);
        const ec_rows met = ec_rows_read(window, z, y);
        const ec_vec scale = ec_set1(1.0f / (float)ec_max_i(ec_pool_count_rows(spec, met), 1));
        ec_pool_line(spec, ec_at(in, plane * in_plane, spec.in_as), workspace + window.pad_w, met, width);
        for (int x = 0; x < window.out_w; x += EC_VL) {
            const int n = ec_min_i(EC_VL, window.out_w - x);
            ec_vec result = ec_pool_start(spec.max);
            for (int kx = 0; kx < window.kernel_w; kx++) {
                const float *const column = workspace + x * window.stride_w + kx * window.dilation_w;
                result = ec_pool_add(spec.max, result,
                                     window.stride_w == 1 ? ec_read(column, n)
                                                          : ec_load_strided(column, window.stride_w, n));
            }
            if (!spec.max)
                result = ec_mul(ec_mul(result, ec_read(factor + x, n)), scale);
            ec_finish(epilogue, result, residual, out, row * window.out_w + x, n);
        }
    }
}

#endif

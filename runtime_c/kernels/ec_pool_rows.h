/* Pooling of NCHW: window columns are reduced first, over whole input rows, then the results along
   the row.  Needs ec_pool_op.h. */
#ifndef EC_POOL_ROWS_H
#define EC_POOL_ROWS_H

/* line[i] = reduction of input column i over the window rows of output row (z, y). */
EC_INLINE void ec_pool_line(const ec_pool spec, const void *in, float *line, int z, int y, int width)
{
    const int iz = z * spec.stride_d - spec.pad_d, iy = y * spec.stride_h - spec.pad_h;
    const int kz0 = ec_pool_from(iz, spec.dilation_d, 0);
    const int ky0 = ec_pool_from(iy, spec.dilation_h, 0);
    const int kz1 = ec_pool_to(iz, spec.kernel_d, spec.dilation_d, spec.in_d);
    const int ky1 = ec_pool_to(iy, spec.kernel_h, spec.dilation_h, spec.in_h);
    for (int i = 0; i < width; i += EC_VL) {
        const int n = ec_min_i(EC_VL, width - i);
        ec_vec acc = ec_pool_start(spec.max);
        for (int kz = kz0; kz < kz1; kz++)
            for (int ky = ky0; ky < ky1; ky++) {
                const ptrdiff_t row =
                    (ptrdiff_t)(iz + kz * spec.dilation_d) * spec.in_h +
                    ec_ring(iy + ky * spec.dilation_h, spec.in_ring);
                acc = ec_pool_add(spec.max, acc, ec_read_as(in, row * spec.in_w + i, n, spec.in_as));
            }
        ec_write(line + i, acc, n);
    }
}

/* Output rows [row0, row1) of `planes` images of one channel.  workspace: the padded line, then for an average out_w factors. */
EC_INLINE void ec_pool_rows(const ec_pool spec, const ec_epilogue epilogue, const void *in,
                            const void *residual, void *out, float *workspace, int planes,
                            int row0, int row1)
{
    const int length = (spec.out_w - 1) * spec.stride_w + (spec.kernel_w - 1) * spec.dilation_w + 1;
    const int width = ec_min_i(spec.in_w, length - spec.pad_w); /* input columns that any window reaches */
    const ptrdiff_t in_stride = (ptrdiff_t)spec.in_d * ec_pool_held(spec.in_h, spec.in_ring) * spec.in_w;
    const int rows = row1 - row0;
    float *factor = workspace + length;

    for (int i = 0; i < length; i++)
        workspace[i] = spec.max ? ec_from_bits(0xff800000u) : 0.0f;
    for (int x = 0; x < spec.out_w && !spec.max; x++) {
        const int ix = x * spec.stride_w - spec.pad_w;
        const int count = ec_pool_count(ix, spec.kernel_w, spec.dilation_w, spec.first_w, spec.end_w);
        factor[x] = 1.0f / (float)ec_max_i(count, 1);
    }
    for (int i = 0; i < planes * spec.out_d * rows; i++) {
        const int y = row0 + i % rows, z = i / rows % spec.out_d;
        const ptrdiff_t row = (ptrdiff_t)(i / rows) * ec_pool_held(spec.out_h, spec.out_ring) +
                              ec_ring(y, spec.out_ring);
        const int iz = z * spec.stride_d - spec.pad_d, iy = y * spec.stride_h - spec.pad_h;
        const int count = ec_pool_count(iz, spec.kernel_d, spec.dilation_d, spec.first_d, spec.end_d) *
                          ec_pool_count(iy, spec.kernel_h, spec.dilation_h, spec.first_h, spec.end_h);
        const ec_vec scale = ec_set1(1.0f / (float)ec_max_i(count, 1));
        ec_pool_line(spec, ec_at(in, i / (rows * spec.out_d) * in_stride, spec.in_as), workspace + spec.pad_w,
                     z, y, width);
        for (int x = 0; x < spec.out_w; x += EC_VL) {
            const int n = ec_min_i(EC_VL, spec.out_w - x);
            ec_vec acc = ec_pool_start(spec.max);
            for (int kx = 0; kx < spec.kernel_w; kx++) {
                const float *a = workspace + x * spec.stride_w + kx * spec.dilation_w;
                acc = ec_pool_add(spec.max, acc, spec.stride_w == 1
                                                  ? ec_read(a, n)
                                                  : ec_load_strided(a, spec.stride_w, n));
            }
            if (!spec.max)
                acc = ec_mul(ec_mul(acc, ec_read(factor + x, n)), scale);
            ec_finish(epilogue, acc, residual, out, row * spec.out_w + x, n);
        }
    }
}

#endif

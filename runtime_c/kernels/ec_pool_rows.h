/* Pooling of NCHW: window columns are reduced first, over whole input rows, then the results along
   the row.  Needs ec_pool_op.h. */
#ifndef EC_POOL_ROWS_H
#define EC_POOL_ROWS_H

/* line[i] = reduction of input column i over the window rows of output row (z, y). */
EC_INLINE void ec_pool_line(const ec_pool s, const void *in, float *line, int z, int y, int width)
{
    const int iz = z * s.stride_d - s.pad_d, iy = y * s.stride_h - s.pad_h;
    const int kz0 = ec_pool_from(iz, s.dilation_d, 0), ky0 = ec_pool_from(iy, s.dilation_h, 0);
    const int kz1 = ec_pool_to(iz, s.kernel_d, s.dilation_d, s.in_d);
    const int ky1 = ec_pool_to(iy, s.kernel_h, s.dilation_h, s.in_h);
    for (int i = 0; i < width; i += EC_VL) {
        const int n = ec_min_i(EC_VL, width - i);
        ec_vec acc = ec_pool_start(s.max);
        for (int kz = kz0; kz < kz1; kz++)
            for (int ky = ky0; ky < ky1; ky++) {
                const ptrdiff_t row =
                    (ptrdiff_t)(iz + kz * s.dilation_d) * s.in_h +
                    ec_ring(iy + ky * s.dilation_h, s.in_ring);
                acc = ec_pool_add(s.max, acc, ec_read_as(in, row * s.in_w + i, n, s.in_as));
            }
        ec_write(line + i, acc, n);
    }
}

/* Output rows [row0, row1) of `planes` images of one channel.  workspace: the padded line, then for an average out_w factors. */
EC_INLINE void ec_pool_rows(const ec_pool s, const ec_epilogue e, const void *in,
                            const void *residual, void *out, float *workspace, int planes,
                            int row0, int row1)
{
    const int length = (s.out_w - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
    const int width = ec_min_i(s.in_w, length - s.pad_w); /* input columns that any window reaches */
    const ptrdiff_t in_step = (ptrdiff_t)s.in_d * ec_pool_held(s.in_h, s.in_ring) * s.in_w;
    const int rows = row1 - row0;
    float *factor = workspace + length;

    for (int i = 0; i < length; i++)
        workspace[i] = s.max ? ec_from_bits(0xff800000u) : 0.0f;
    for (int x = 0; x < s.out_w && !s.max; x++) {
        const int ix = x * s.stride_w - s.pad_w;
        const int count = ec_pool_count(ix, s.kernel_w, s.dilation_w, s.first_w, s.end_w);
        factor[x] = 1.0f / (float)ec_max_i(count, 1);
    }
    for (int i = 0; i < planes * s.out_d * rows; i++) {
        const int y = row0 + i % rows, z = i / rows % s.out_d;
        const ptrdiff_t row = (ptrdiff_t)(i / rows) * ec_pool_held(s.out_h, s.out_ring) +
                              ec_ring(y, s.out_ring);
        const int iz = z * s.stride_d - s.pad_d, iy = y * s.stride_h - s.pad_h;
        const int count = ec_pool_count(iz, s.kernel_d, s.dilation_d, s.first_d, s.end_d) *
                          ec_pool_count(iy, s.kernel_h, s.dilation_h, s.first_h, s.end_h);
        const ec_vec scale = ec_set1(1.0f / (float)ec_max_i(count, 1));
        ec_pool_line(s, ec_at(in, i / (rows * s.out_d) * in_step, s.in_as), workspace + s.pad_w,
                     z, y, width);
        for (int x = 0; x < s.out_w; x += EC_VL) {
            const int n = ec_min_i(EC_VL, s.out_w - x);
            ec_vec acc = ec_pool_start(s.max);
            for (int kx = 0; kx < s.kernel_w; kx++) {
                const float *a = workspace + x * s.stride_w + kx * s.dilation_w;
                acc = ec_pool_add(s.max, acc, s.stride_w == 1
                                                  ? ec_read(a, n)
                                                  : ec_load_strided(a, s.stride_w, n));
            }
            if (!s.max)
                acc = ec_mul(ec_mul(acc, ec_read(factor + x, n)), scale);
            ec_finish(e, acc, residual, out, row * s.out_w + x, n);
        }
    }
}

#endif

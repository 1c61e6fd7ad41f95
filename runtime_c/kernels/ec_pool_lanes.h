/* Pooling where channels lie side by side: NCHW[EC_VL]c and NHWC.  Needs ec_pool_op.h. */
#ifndef EC_POOL_LANES_H
#define EC_POOL_LANES_H

enum { EC_POOL_STRIP = 4 }; /* output pixels whose windows are reduced together */

/* Output pixels [column, column + mr) of row (z, y), n channels of `channels` side by side; the
   windows of all mr pixels keep their columns [kx0, kx1) inside the input.  `at` is the first pixel
   in out. */
EC_INLINE void ec_pool_strip(const ec_pool spec, const ec_epilogue epilogue, const void *in,
                             const void *residual, void *out, ptrdiff_t at, int channels, int z,
                             int y, int column, int mr, int kx0, int kx1, int n)
{
    const int iz = z * spec.stride_d - spec.pad_d, iy = y * spec.stride_h - spec.pad_h;
    const int ix = column * spec.stride_w - spec.pad_w;
    const int kz0 = ec_pool_from(iz, spec.dilation_d, 0);
    const int ky0 = ec_pool_from(iy, spec.dilation_h, 0);
    const int kz1 = ec_pool_to(iz, spec.kernel_d, spec.dilation_d, spec.in_d);
    const int ky1 = ec_pool_to(iy, spec.kernel_h, spec.dilation_h, spec.in_h);
    const ptrdiff_t stride = (ptrdiff_t)spec.stride_w * channels;
    ec_vec acc[EC_POOL_STRIP];

    EC_UNROLL
    for (int p = 0; p < mr; p++)
        acc[p] = ec_pool_start(spec.max);
    for (int kz = kz0; kz < kz1; kz++)
        for (int ky = ky0; ky < ky1; ky++) {
            const ptrdiff_t row =
                (ptrdiff_t)(iz + kz * spec.dilation_d) * spec.in_h +
                ec_ring(iy + ky * spec.dilation_h, spec.in_ring);
            for (int kx = kx0; kx < kx1; kx++) {
                const ptrdiff_t a = (row * spec.in_w + ix + kx * spec.dilation_w) * channels;
                EC_UNROLL
                for (int p = 0; p < mr; p++)
                    acc[p] = ec_pool_add(spec.max, acc[p], ec_read_as(in, a + p * stride, n, spec.in_as));
            }
        }
    if (!spec.max) {
        const int count = ec_pool_count(iz, spec.kernel_d, spec.dilation_d, spec.first_d, spec.end_d) *
                          ec_pool_count(iy, spec.kernel_h, spec.dilation_h, spec.first_h, spec.end_h) *
                          ec_pool_count(ix, spec.kernel_w, spec.dilation_w, spec.first_w, spec.end_w);
        const ec_vec scale = ec_set1(1.0f / (float)ec_max_i(count, 1));
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            acc[p] = ec_mul(acc[p], scale);
    }
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        ec_finish(epilogue, acc[p], residual, out, at + (ptrdiff_t)p * channels, n);
}

/* Some output pixels of one row, all channels. */
EC_INLINE void ec_pool_pixels(const ec_pool spec, const ec_epilogue epilogue, const void *in,
                              const void *residual, void *out, ptrdiff_t at, int channels, int z,
                              int y, int column, int mr, int kx0, int kx1)
{
    int c = 0;
    for (; c + EC_VL <= channels; c += EC_VL)
        ec_pool_strip(spec, epilogue, ec_at(in, c, spec.in_as), residual, out, at + c, channels, z, y, column,
                      mr, kx0, kx1, EC_VL);
    if (channels % EC_VL)
        ec_pool_strip(spec, epilogue, ec_at(in, c, spec.in_as), residual, out, at + c, channels, z, y, column,
                      mr, kx0, kx1, channels % EC_VL);
}

/* `images` times the output rows [row0, row1) of pixels of `channels`: NHWC, or, with an image per
   channel block, NCHW[EC_VL]c. */
EC_INLINE void ec_pool_lanes(const ec_pool spec, const ec_epilogue epilogue, const void *in,
                             const void *residual, void *out, int images, int channels, int row0,
                             int row1)
{
    /* the columns whose windows lie inside the input, and inside what an average counts */
    const int inner0 = ec_ceil_div(spec.pad_w, spec.stride_w);
    const int span = (spec.kernel_w - 1) * spec.dilation_w;
    const int inner1 =
        spec.in_w > span ? ec_min_i(spec.out_w, (spec.in_w - 1 - span + spec.pad_w) / spec.stride_w + 1) : 0;
    const ptrdiff_t in_stride =
        (ptrdiff_t)spec.in_d * ec_pool_held(spec.in_h, spec.in_ring) * spec.in_w * channels;
    const int rows = row1 - row0;

    for (int i = 0; i < images * spec.out_d * rows; i++) {
        const int y = row0 + i % rows, z = i / rows % spec.out_d;
        const void *image = ec_at(in, i / (rows * spec.out_d) * in_stride, spec.in_as);
        const ptrdiff_t row = (ptrdiff_t)(i / rows) * ec_pool_held(spec.out_h, spec.out_ring) +
                              ec_ring(y, spec.out_ring);
        for (int x = 0; x < spec.out_w;) {
            const ptrdiff_t at = (row * spec.out_w + x) * channels;
            if (x >= inner0 && x + EC_POOL_STRIP <= inner1) {
                ec_pool_pixels(spec, epilogue, image, residual, out, at, channels, z, y, x, EC_POOL_STRIP, 0,
                               spec.kernel_w);
                x += EC_POOL_STRIP;
            } else {
                const int ix = x * spec.stride_w - spec.pad_w;
                const int kx1 = ec_pool_to(ix, spec.kernel_w, spec.dilation_w, spec.in_w);
                ec_pool_pixels(spec, epilogue, image, residual, out, at, channels, z, y, x, 1,
                               ec_pool_from(ix, spec.dilation_w, 0), kx1);
                x += 1;
            }
        }
    }
}

#endif

/* Pooling where channels lie side by side: NCHW[EC_VL]c and NHWC.  Needs ec_pool_op.h. */
#ifndef EC_POOL_LANES_H
#define EC_POOL_LANES_H

enum { EC_POOL_STRIP = 4 }; /* output pixels whose windows are reduced together */

/* Output pixels [column, column + mr) of row (z, y), n channels of `channels` side by side; the
   windows of all mr pixels keep their columns [kx0, kx1) inside the input.  `at` is the first pixel
   in out. */
EC_INLINE void ec_pool_strip(const ec_pool s, const ec_epilogue e, const void *in,
                             const void *residual, void *out, ptrdiff_t at, int channels, int z,
                             int y, int column, int mr, int kx0, int kx1, int n)
{
    const int iz = z * s.stride_d - s.pad_d, iy = y * s.stride_h - s.pad_h;
    const int ix = column * s.stride_w - s.pad_w;
    const int kz0 = ec_pool_from(iz, s.dilation_d, 0), ky0 = ec_pool_from(iy, s.dilation_h, 0);
    const int kz1 = ec_pool_to(iz, s.kernel_d, s.dilation_d, s.in_d);
    const int ky1 = ec_pool_to(iy, s.kernel_h, s.dilation_h, s.in_h);
    const ptrdiff_t step = (ptrdiff_t)s.stride_w * channels;
    ec_vec acc[EC_POOL_STRIP];

    EC_UNROLL
    for (int p = 0; p < mr; p++)
        acc[p] = ec_pool_start(s.max);
    for (int kz = kz0; kz < kz1; kz++)
        for (int ky = ky0; ky < ky1; ky++) {
            const ptrdiff_t row =
                (ptrdiff_t)(iz + kz * s.dilation_d) * s.in_h +
                ec_ring(iy + ky * s.dilation_h, s.in_ring);
            for (int kx = kx0; kx < kx1; kx++) {
                const ptrdiff_t a = (row * s.in_w + ix + kx * s.dilation_w) * channels;
                EC_UNROLL
                for (int p = 0; p < mr; p++)
                    acc[p] = ec_pool_add(s.max, acc[p], ec_read_as(in, a + p * step, n, s.in_as));
            }
        }
    if (!s.max) {
        const int count = ec_pool_count(iz, s.kernel_d, s.dilation_d, s.first_d, s.end_d) *
                          ec_pool_count(iy, s.kernel_h, s.dilation_h, s.first_h, s.end_h) *
                          ec_pool_count(ix, s.kernel_w, s.dilation_w, s.first_w, s.end_w);
        const ec_vec scale = ec_set1(1.0f / (float)ec_max_i(count, 1));
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            acc[p] = ec_mul(acc[p], scale);
    }
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        ec_finish(e, acc[p], residual, out, at + (ptrdiff_t)p * channels, n);
}

/* Some output pixels of one row, all channels. */
EC_INLINE void ec_pool_pixels(const ec_pool s, const ec_epilogue e, const void *in,
                              const void *residual, void *out, ptrdiff_t at, int channels, int z,
                              int y, int column, int mr, int kx0, int kx1)
{
    int c = 0;
    for (; c + EC_VL <= channels; c += EC_VL)
        ec_pool_strip(s, e, ec_at(in, c, s.in_as), residual, out, at + c, channels, z, y, column,
                      mr, kx0, kx1, EC_VL);
    if (channels % EC_VL)
        ec_pool_strip(s, e, ec_at(in, c, s.in_as), residual, out, at + c, channels, z, y, column,
                      mr, kx0, kx1, channels % EC_VL);
}

/* `images` times the output rows [row0, row1) of pixels of `channels`: NHWC, or, with an image per
   channel block, NCHW[EC_VL]c. */
EC_INLINE void ec_pool_lanes(const ec_pool s, const ec_epilogue e, const void *in,
                             const void *residual, void *out, int images, int channels, int row0,
                             int row1)
{
    /* the columns whose windows lie inside the input, and inside what an average counts */
    const int inner0 = ec_ceil_div(s.pad_w, s.stride_w);
    const int span = (s.kernel_w - 1) * s.dilation_w;
    const int inner1 =
        s.in_w > span ? ec_min_i(s.out_w, (s.in_w - 1 - span + s.pad_w) / s.stride_w + 1) : 0;
    const ptrdiff_t in_step =
        (ptrdiff_t)s.in_d * ec_pool_held(s.in_h, s.in_ring) * s.in_w * channels;
    const int rows = row1 - row0;

    for (int i = 0; i < images * s.out_d * rows; i++) {
        const int y = row0 + i % rows, z = i / rows % s.out_d;
        const void *image = ec_at(in, i / (rows * s.out_d) * in_step, s.in_as);
        const ptrdiff_t row = (ptrdiff_t)(i / rows) * ec_pool_held(s.out_h, s.out_ring) +
                              ec_ring(y, s.out_ring);
        for (int x = 0; x < s.out_w;) {
            const ptrdiff_t at = (row * s.out_w + x) * channels;
            if (x >= inner0 && x + EC_POOL_STRIP <= inner1) {
                ec_pool_pixels(s, e, image, residual, out, at, channels, z, y, x, EC_POOL_STRIP, 0,
                               s.kernel_w);
                x += EC_POOL_STRIP;
            } else {
                const int ix = x * s.stride_w - s.pad_w;
                const int kx1 = ec_pool_to(ix, s.kernel_w, s.dilation_w, s.in_w);
                ec_pool_pixels(s, e, image, residual, out, at, channels, z, y, x, 1,
                               ec_pool_from(ix, s.dilation_w, 0), kx1);
                x += 1;
            }
        }
    }
}

#endif
